/** Entry point `cosearch/engine`: the engine contract, the embedded engine, tokenizers and renderers. */
export { type AddedPiece, type BpeTrainerOptions, type TokenizerFiles, trainBpe, writeTokenizer } from "./bpe-trainer.ts";
export { type ConformanceCheck, type ConformanceSubject, conformanceChecks } from "./conformance.ts";
export type { Architecture, ModelShape } from "./embedded/architecture.ts";
export { createEmbeddedEngine, EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded/embedded-engine.ts";
export { EndpointSampler, type EndpointSamplerOptions } from "./endpoint/endpoint-sampler.ts";
export { PieceRenderer } from "./endpoint/piece-renderer.ts";
export type {
  ForwardBackwardResult,
  GrammarState,
  Loss,
  OptimStepOptions,
  SampleRequest,
  Sampler,
  ScoredSequence,
  TokenGrammar,
  TrainableEngine,
  TrainingExample,
} from "./engine.ts";
export { checkVocabulary, HfRenderer, loadRenderer, type RendererFiles } from "./hf-renderer.ts";
export type { Message, Renderer, Segment } from "./renderer.ts";
export { type SamplerScript, type ScriptedOutput, ScriptedSampler, type ScriptedSamplerOptions } from "./scripted.ts";
