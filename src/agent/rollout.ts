/** The ReAct loop (Section 3.2): thought, search, observation, until an answer. One call is one trajectory; many run at once and share batches. */
import type { Sampler } from "../engine/engine.ts";
import { InfrastructureError, PromptTooLongError } from "../errors.ts";
import type { Search } from "../retrieval/search.ts";
import type { Question, StopReason, Trajectory, Turn } from "../types.ts";
import type { AgentProtocol } from "./protocol.ts";

/** How far a trajectory may go. */
export interface RolloutLimits {
  /** Most searches in a trajectory; a further request ends it with `search_limit`. */
  readonly maxSearches: number;
  /** Most tokens in one assistant turn. */
  readonly maxTurnTokens: number;
  /** Most tokens after the first prompt, observations included. */
  readonly maxResponseTokens: number;
}

/** One trajectory to be rolled out. */
export interface RolloutRequest {
  readonly question: Question;
  /** Which trajectory of the question's group this is, from 0. */
  readonly index: number;
  readonly protocol: AgentProtocol;
  readonly sampler: Sampler;
  readonly search: Search;
  readonly limits: RolloutLimits;
  /** 0 = greedy. */
  readonly temperature: number;
  readonly topP: number;
  /** The stream of a turn; the search of that turn derives its own from it. */
  readonly seed: (turn: number) => number;
  readonly signal?: AbortSignal;
}

/**
 * Rolls out one trajectory. A context that the model has no room for ends it with `length`; a failing service is recorded as `infra_error`; an abort and programmer errors reject.
 */
export async function rollout(request: RolloutRequest): Promise<Trajectory> {
  const { question, index, protocol, limits, signal } = request;
  const turns: Turn[] = [];
  const context: number[] = [];
  const finished = (stopReason: StopReason, extra: { answer?: string; error?: string } = {}): Trajectory => ({
    questionId: question.id,
    index,
    turns,
    ...extra,
    stopReason,
  });

  let added = protocol.promptTokens(question);
  const responseLimit = added.length + limits.maxResponseTokens;
  try {
    for (let turn = 0; ; turn++) {
      context.push(...added);
      const room = responseLimit - context.length;
      if (room <= 0) return finished("length");
      const seed = request.seed(turn);
      const [output] = await request.sampler.sample({
        promptTokenIds: context.slice(),
        maxTokens: Math.min(limits.maxTurnTokens, room),
        temperature: request.temperature,
        topP: request.topP,
        stop: protocol.stop,
        seed,
        ...(protocol.grammar ? { grammar: protocol.grammar } : {}),
        ...(signal ? { signal } : {}),
      });
      if (!output) throw new Error("the sampler returned no output for a request of one");
      context.push(...output.tokenIds);
      const written = { index: turn, promptTokenIds: added, output };

      if (output.finishReason === "length") {
        turns.push({ ...written, action: { kind: "malformed", reason: `the turn was cut at ${output.tokenIds.length} tokens` } });
        return finished("length");
      }
      const action = protocol.parse(output.text);
      if (action.kind !== "search") {
        turns.push({ ...written, action });
        return action.kind === "answer" ? finished("answered", { answer: action.answer }) : finished("malformed");
      }
      if (turn >= limits.maxSearches) {
        turns.push({ ...written, action });
        return finished("search_limit");
      }
      const search = await request.search({
        question,
        trajectoryIndex: index,
        turnIndex: turn,
        query: action.query,
        seed,
        ...(signal ? { signal } : {}),
      });
      turns.push({ ...written, action, search });
      added = protocol.observationTokens(search.observation, output.tokenIds.at(-1));
    }
  } catch (error) {
    if (error instanceof PromptTooLongError) return finished("length");
    if (error instanceof InfrastructureError) return finished("infra_error", { error: error.message });
    throw error;
  }
}
