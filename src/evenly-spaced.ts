/**
 * `count` items at equal distances, in their order, so that every kind stays represented; the same ones every time. All of them
 * when there are no more, or when `count` is null.
 */
export function evenlySpaced<Item>(items: readonly Item[], count: number | null): Item[] {
  if (count === null || count >= items.length) return items.slice();
  return Array.from({ length: count }, (_, index) => items[Math.floor((index * items.length) / count)] as Item);
}
