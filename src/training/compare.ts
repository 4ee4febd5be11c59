/** Groups whose members' rewards are compared with one another, and the training examples that come of it. */
import { groupAdvantages } from "../grpo/advantages.ts";
import type { ExampleLabels, UnweightedExample } from "../grpo/examples.ts";
import type { Group } from "../types.ts";

/** A group with the advantage of every member. */
export interface ComparedGroup<Item> extends Group<Item> {
  readonly advantages: readonly number[];
}

/** Gives every member of a group its advantage (Eq. 3). */
export function compare<Item extends { readonly reward: { readonly total: number } }>(group: Group<Item>): ComparedGroup<Item> {
  return { ...group, advantages: groupAdvantages(group.members.map(({ reward }) => reward.total)) };
}

/** One example a member. */
export function examplesOf<Item>(
  { key, members, advantages }: ComparedGroup<Item>,
  example: (member: Item, labels: ExampleLabels) => UnweightedExample,
): UnweightedExample[] {
  return members.map((member, index) => example(member, { advantage: advantages[index] ?? 0, groupKey: key }));
}

/** Consecutive parts of at most `size` items. */
export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}
