/** The protocol's pieces that are one token each in the tiny models' vocabulary, and the chat template that places them. */

/** Labels [1] ... that are one token each: as many as a ranker prompt has candidates. */
export const candidateCount = 10;

/** The pieces by what they mark. */
export const pieces = {
  padding: "<pad>",
  question: "<question>",
  reason: "<reason>",
  reasonEnd: "</reason>",
  search: '<tool_call>{"name":"search","arguments":{"query":"',
  searchEnd: '"}}</tool_call>',
  answer: "<answer>",
  answerEnd: "</answer>",
  observation: "<observation>",
  observationEnd: "</observation>",
  rerank: "<rerank>",
  rerankEnd: "</rerank>",
  query: "<query>",
  documents: "<documents>",
  better: " >",
  end: "<eos>",
} as const;

/** `[i]` */
export const label = (rank: number): string => `[${rank}]`;

/** All of them in the order of their token ids, the labels last. */
export const specialPieces: readonly string[] = [
  ...Object.values(pieces),
  ...Array.from({ length: candidateCount }, (_, index) => label(index + 1)),
];

/** Jinja: markers before a question and around an observation, everything else as it is. */
export const chatTemplate =
  "{% for message in messages %}" +
  "{% if message['role'] == 'user' %}<question>{{ message['content'] }}" +
  "{% elif message['role'] == 'tool' %}<observation>{{ message['content'] }}</observation>" +
  "{% else %}{{ message['content'] }}{% endif %}" +
  "{% endfor %}";
