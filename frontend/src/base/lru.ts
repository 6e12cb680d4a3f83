/** A map that keeps the most recently used entries within a budget (number of entries, or a sum by `cost`). */
export class Lru<K, V> {
  private readonly entries = new Map<K, V>();
  private total = 0;

  constructor(
    private readonly budget: number,
    private readonly cost: (value: V) => number = () => 1,
  ) {}

  get(key: K): V | undefined {
    const value = this.entries.get(key);
    if (value !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, value);
    }
    return value;
  }

  /** Adds or replaces; evicts the least recently used entries until the rest fits. The newest always stays. */
  set(key: K, value: V): void {
    this.delete(key);
    this.entries.set(key, value);
    this.total += this.cost(value);
    for (const oldest of this.entries.keys()) {
      if (this.total <= this.budget || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.entries.get(key);
    if (value === undefined) return;
    this.entries.delete(key);
    this.total -= this.cost(value);
  }

  clear(): void {
    this.entries.clear();
    this.total = 0;
  }

  get size(): number {
    return this.entries.size;
  }
}

/** Caches answers by id. A failed request is removed, so that the next `get` retries. */
export class AnswerCache<T> {
  private readonly answers: Lru<number, Promise<T>>;

  constructor(
    most: number,
    private readonly ask: (id: number) => Promise<T>,
  ) {
    this.answers = new Lru(most);
  }

  get(id: number): Promise<T> {
    const known = this.answers.get(id);
    if (known) return known;
    const answer = this.ask(id);
    this.answers.set(id, answer);
    answer.catch(() => this.answers.delete(id));
    return answer;
  }
}
