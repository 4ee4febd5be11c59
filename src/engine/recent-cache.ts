/** A map that forgets what was not used for longest, once it holds more than `capacity` entries. */
export class RecentCache<Key, Value> {
  private readonly entries = new Map<Key, Value>();

  constructor(private readonly capacity: number) {}

  /** The cached value, or the one that `compute` makes, which is then kept. */
  get(key: Key, compute: () => Value): Value {
    let value = this.entries.get(key);
    if (value === undefined) value = compute();
    else this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.capacity) this.entries.delete(this.entries.keys().next().value as Key);
    return value;
  }
}
