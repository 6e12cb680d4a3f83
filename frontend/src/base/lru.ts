/** A map that drops the entry used longest ago when it has more than `most`. */
export class Lru<K, V> extends Map<K, V> {
  constructor(private readonly most: number) {
    super();
  }

  override get(key: K): V | undefined {
    const value = super.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.keys();
    if (this.size > this.most) this.delete(oldest as K);
    return this;
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
