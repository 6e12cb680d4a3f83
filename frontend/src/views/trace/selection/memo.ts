import { Lru } from "../../../base/lru";

/** Caches answers by id. A failed request is removed, so that the next `get` retries. */
export class Memo<T> {
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
