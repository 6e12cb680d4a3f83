/** Views to go back to with Backspace. */

import { sameView, type View } from "./viewport";

const MOST = 100;
/** Steps that follow each other faster are one step. */
const TOGETHER_MS = 600;

export class ViewHistory {
  private views: View[] = [];
  private last = Number.NEGATIVE_INFINITY;

  /** Remembers `view`, the one that is about to be left. A jump is a step of its own, however soon it follows. */
  push(view: View, now: number, isJump: boolean): void {
    const joined = !isJump && now - this.last < TOGETHER_MS;
    this.last = now;
    const top = this.views[this.views.length - 1];
    if (joined || (top && sameView(top, view))) return;
    this.views.push(view);
    if (this.views.length > MOST) this.views.shift();
  }

  /** The view before, or null. The step after it stands for itself. */
  pop(): View | null {
    this.last = Number.NEGATIVE_INFINITY;
    return this.views.pop() ?? null;
  }

  /** The origin of the times moved: `by` is to be added to each. */
  shift(by: number): void {
    this.views = this.views.map(({ start, scale }) => ({ start: start + by, scale }));
  }

  clear(): void {
    this.views = [];
    this.last = Number.NEGATIVE_INFINITY;
  }
}
