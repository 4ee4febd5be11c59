/** A look at models, protocols and budgets together, before anything is sampled. */
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import type { AgentProtocol } from "../agent/protocol.ts";
import { protocolTags } from "../agent/protocol-tags.ts";
import { type Config, hasRanker } from "../config.ts";
import type { Renderer } from "../engine/renderer.ts";
import { ConfigError } from "../errors.ts";
import { evenlySpaced } from "../evenly-spaced.ts";
import { rankerProtocolFor } from "../ranker/systems.ts";
import { passageText } from "../retrieval/passage-text.ts";
import type { Candidate, Question } from "../types.ts";
import type { PolicyWiring, Wiring } from "./wiring.ts";

/** Effective settings as name and value, for people to read. */
export type EffectiveSettings = readonly (readonly [name: string, value: string])[];

/** How many training questions are searched for, the longest one aside. */
const searchedQuestions = 8;

/** Fewest tokens of a passage with which a ranker can still tell what it is about. */
const leastPassageTokens = 12;

const sampleQuestion: Question = {
  id: "sample",
  question: "Which river flows through the capital of the country?",
  goldAnswers: ["the river"],
  dataset: "sample",
  split: "sample",
};

/** What is looked at: no engine is needed. */
export interface PreflightWiring extends Pick<Wiring, "retriever" | "trainQuestions"> {
  readonly main: Speaker;
  readonly ranker?: Speaker | undefined;
}

/** A model as far as its tokens go. */
type Speaker = Pick<PolicyWiring, "renderer" | "contextTokens">;

/** A question and what the first stage finds for it. */
interface Searched {
  readonly question: Question;
  readonly candidates: readonly Candidate[];
}

/**
 * Searches for a few questions, renders a turn, reads a sample reply back, looks for stop tokens, and adds up prompt and budgets.
 * @throws ConfigError listing everything that can't work, with the setting to change.
 */
export async function preflight(config: Config, wiring: PreflightWiring): Promise<EffectiveSettings> {
  const { main, ranker, retriever, trainQuestions } = wiring;
  const question = longest(trainQuestions);
  const questions = [...new Set([question, ...evenlySpaced(trainQuestions, searchedQuestions)])];
  const found = await retriever.search(
    questions.map((one) => one.question),
    config.retrieval.candidates,
  );
  const searches = questions.map((one, index): Searched => ({ question: one, candidates: found[index] ?? [] }));
  const agent = checkAgent(config, main, question, searches);
  const rankerSide = hasRanker(config.system) && ranker ? checkRanker(config, ranker, question, searches) : { problems: [], settings: [] };
  const problems = [...agent.problems, ...rankerSide.problems];
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  return [...agent.settings, ...rankerSide.settings];
}

interface Findings {
  readonly problems: readonly string[];
  readonly settings: EffectiveSettings;
}

function checkAgent(config: Config, { renderer, contextTokens }: Speaker, question: Question, searches: readonly Searched[]): Findings {
  const { agent, ranker } = config;
  const protocol = agentProtocolFor(config, renderer);
  const problems: string[] = [];
  if (protocol.stop.tokenIds.length === 0 && protocol.stop.strings.length === 0)
    problems.push("agent.model: no token ends a turn: its generation_config.json or tokenizer_config.json must name an eos token");
  problems.push(...replyProblems(protocol, renderer));
  const prompt = protocol.promptTokens(question).length;
  const observations = searches.map(({ candidates }) => {
    const shown = candidates.slice(0, ranker.topK).map(({ document }) => document);
    return { passages: shown.length, tokens: protocol.observationTokens(shown, renderer.stopTokenIds[0]).length };
  });
  const observation = observations.reduce((most, one) => (one.tokens > most.tokens ? one : most));
  if (observation.tokens >= agent.maxResponseTokens) {
    problems.push(
      `agent.maxResponseTokens is ${agent.maxResponseTokens}, but an observation of ${observation.passages} passages takes ${observation.tokens} tokens: raise it, or lower ranker.topK, agent.observationCharacters or, for folders of texts, retrieval.passageWords`,
    );
  }
  if (contextTokens !== undefined && prompt + agent.maxResponseTokens > contextTokens) {
    problems.push(
      `agent.maxResponseTokens is ${agent.maxResponseTokens}, and the prompt takes up to ${prompt} tokens, but the model's longest sequence is ${contextTokens}: lower agent.maxResponseTokens to ${Math.max(1, contextTokens - prompt)} or less`,
    );
  }
  const context = contextTokens === undefined ? "" : ` of ${contextTokens}`;
  return {
    problems,
    settings: [
      [
        "agent",
        `${protocol.name} protocol, ${agent.prompt} prompt, grammar ${agent.grammar ? "on" : "off"}, ${stopText(protocol.stop, renderer)}`,
      ],
      [
        "agent tokens",
        `prompt ${prompt}, at most ${agent.maxTurnTokens} a turn, ${agent.maxResponseTokens} in all${context}; an observation up to ${observation.tokens}`,
      ],
    ],
  };
}

/** A search and an answer as the protocol writes them, through the tokenizer and back. */
function replyProblems(protocol: AgentProtocol, renderer: Renderer): string[] {
  const { reason, search, answer } = protocolTags[protocol.name];
  const turn = (tags: readonly [string, string], text: string) => `${reason[0]}look it up${reason[1]}${tags[0]}${text}${tags[1]}`;
  return (["search", "answer"] as const).flatMap((kind) => {
    const written = turn(kind === "search" ? search : answer, "the river");
    const action = protocol.parse(renderer.decode(renderer.encodeMarkup(written)));
    const read = action.kind === "search" ? action.query : action.kind === "answer" ? action.answer : action.reason;
    if (action.kind === kind && read.toLowerCase() === "the river") return [];
    return [
      `agent.model: its tokenizer does not carry the ${protocol.name} protocol: ${JSON.stringify(written)} comes back as ${action.kind} ${JSON.stringify(read)}`,
    ];
  });
}

function checkRanker(config: Config, { renderer, contextTokens }: Speaker, question: Question, searches: readonly Searched[]): Findings {
  const { ranker, retrieval } = config;
  const protocol = rankerProtocolFor(config, renderer, contextTokens);
  const problems: string[] = [];
  if ((protocol.stop.tokenIds?.length ?? 0) === 0 && (protocol.stop.strings?.length ?? 0) === 0)
    problems.push("ranker.model: no token ends an output: its generation_config.json or tokenizer_config.json must name an eos token");
  const promptOf = (one: Question, shown: readonly Candidate[]) => protocol.prompt(one.question, one.question, shown);
  const blank = Array.from({ length: retrieval.candidates }, (_, index): Candidate => {
    return { document: { id: `${index}`, title: "", text: "" }, score: 0, rank: index + 1 };
  });
  const frame = promptOf(question, blank).tokenIds.length;
  const prompts = searches.map((one) => promptOf(one.question, one.candidates));
  const longestPrompt = Math.max(...prompts.map(({ tokenIds }) => tokenIds.length));
  const cutPassages = Math.max(...prompts.map((prompt) => prompt.cutPassages));
  if (contextTokens !== undefined) {
    const passages = searches.map(({ candidates }) => {
      const lengths = candidates.map(({ document }) => Math.min(leastPassageTokens, renderer.encodeData(passageText(document)).length));
      return lengths.reduce((sum, length) => sum + length, 0);
    });
    const least = frame + Math.max(...passages) + ranker.maxTokens;
    if (least > contextTokens) {
      problems.push(
        `ranker.maxTokens is ${ranker.maxTokens}, and a prompt of ${retrieval.candidates} candidates with ${leastPassageTokens} tokens each takes ${least - ranker.maxTokens}, but the model's longest sequence is ${contextTokens}: lower retrieval.candidates or ranker.maxTokens`,
      );
    }
  }
  const cut = cutPassages > 0 ? `, up to ${cutPassages} of ${retrieval.candidates} passages shortened to fit` : "";
  const context = contextTokens === undefined ? "" : ` of ${contextTokens}`;
  return {
    problems,
    settings: [
      [
        "ranker",
        `${ranker.topK} of ${retrieval.candidates}, ${ranker.prompt} prompt, grammar ${ranker.grammar ? "on" : "off"}, ${stopText(protocol.stop, renderer)}`,
      ],
      ["ranker tokens", `prompt up to ${longestPrompt} (${frame} without passages), at most ${ranker.maxTokens} written${context}${cut}`],
    ],
  };
}

function stopText(
  { tokenIds = [], strings = [] }: { readonly tokenIds?: readonly number[]; readonly strings?: readonly string[] },
  renderer: Renderer,
): string {
  const pieces = tokenIds.map((id) => {
    const text = renderer.stopTokenIds.includes(id) ? "" : renderer.decode([id]);
    return text === "" ? `token ${id}` : `${text} (${id})`;
  });
  return `ends at ${[...pieces, ...strings.map((text) => JSON.stringify(text))].join(", ")}`;
}

/** The longest question: what fits it fits all. */
function longest(questions: readonly Question[]): Question {
  return questions.reduce((most, question) => (question.question.length > most.question.length ? question : most), sampleQuestion);
}
