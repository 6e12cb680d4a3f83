/** The search: its text, what was found, and where in it the user is. */

import { signal } from "@preact/signals";
import { Latest } from "../../base/async";
import { type Hit, searchSlices } from "./api";

export class SearchState {
  readonly text = signal("");
  readonly total = signal(0);
  readonly hits = signal<readonly Hit[]>([]);
  readonly names = signal<readonly string[]>([]);
  /** Index of the hit on show; -1: none yet. */
  readonly at = signal(-1);
  readonly busy = signal(false);
  readonly error = signal<unknown>(null);
  private readonly request = new Latest();

  constructor(private readonly span: string) {}

  async run(text: string): Promise<void> {
    this.text.value = text;
    this.error.value = null;
    if (text === "") {
      this.request.cancel();
      this.clear();
      return;
    }
    this.busy.value = true;
    try {
      const answer = await this.request.run((abort) => searchSlices(this.span, text, abort));
      if (!answer) return;
      this.total.value = answer.total;
      this.names.value = answer.names;
      this.hits.value = answer.hits;
      this.at.value = -1;
    } catch (error) {
      this.clear();
      this.error.value = error;
    }
    this.busy.value = false;
  }

  /** The next (1) or previous (-1) hit, around the ends; the first time the one at or after time `from`. */
  step(step: 1 | -1, from: number): Hit | null {
    const hits = this.hits.peek();
    if (hits.length === 0) return null;
    if (this.at.peek() < 0) {
      const next = hits.findIndex((hit) => hit[1] >= from);
      return this.open(step === 1 ? Math.max(next, 0) : (next <= 0 ? hits.length : next) - 1);
    }
    return this.open((this.at.peek() + step + hits.length) % hits.length);
  }

  open(index: number): Hit | null {
    const hit = this.hits.peek()[index] ?? null;
    if (hit) this.at.value = index;
    return hit;
  }

  stop(): void {
    this.request.cancel();
  }

  private clear(): void {
    this.total.value = 0;
    this.names.value = [];
    this.hits.value = [];
    this.at.value = -1;
    this.busy.value = false;
  }
}
