/** Views to go back to with Backspace. */

import { sameView, type View } from "./viewport";

const MOST = 100;
/** Changes within this time (ms) are one step. */
const TOGETHER_MS = 600;

export class ViewHistory {
  private views: View[] = [];
  private last = Number.NEGATIVE_INFINITY;

  /** Remembers `view` before it changes. A jump is always a separate step. */
  push(view: View, now: number, isJump: boolean): void {
    const joined = !isJump && now - this.last < TOGETHER_MS;
    this.last = now;
    const top = this.views[this.views.length - 1];
    if (joined || (top && sameView(top, view))) return;
    this.views.push(view);
    if (this.views.length > MOST) this.views.shift();
  }

  /** The previous view, or null. The next change starts a new step. */
  pop(): View | null {
    this.last = Number.NEGATIVE_INFINITY;
    return this.views.pop() ?? null;
  }

  /** Adds `by` to all times after their origin moved. */
  shift(by: number): void {
    this.views = this.views.map(({ start, scale }) => ({ start: start + by, scale }));
  }

  clear(): void {
    this.views = [];
    this.last = Number.NEGATIVE_INFINITY;
  }
}
