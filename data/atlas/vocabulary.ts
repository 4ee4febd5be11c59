/** The protocol's pieces that are one token each in the tiny models' vocabulary, and the chat template that places them. */

export const candidateCount = 10;

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

export const specialPieces: readonly string[] = [
  ...Object.values(pieces),
  ...Array.from({ length: candidateCount }, (_, index) => label(index + 1)),
];

export const chatTemplate =
  "{% for message in messages %}" +
  "{% if message['role'] == 'user' %}<question>{{ message['content'] }}" +
  "{% elif message['role'] == 'tool' %}<observation>{{ message['content'] }}</observation>" +
  "{% else %}{{ message['content'] }}{% endif %}" +
  "{% endfor %}";
