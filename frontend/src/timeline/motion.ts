/** How the view moves over time: animated steps, and continuous movement while a key is down. */

import type { HeldAction } from "./keys";
import { ANIMATION_MS, interpolateViews, pan, sameView, type View, zoom } from "./viewport";

/** One key press zooms by this factor, or moves by this share of the width. */
const TAP_ZOOM = 0.7;
const TAP_PAN = 0.12;
/** Shift multiplies the speed by this factor. */
const FAST = 3;
/** A key that is down longer than this (ms) is held. */
const HOLD_AFTER_MS = 140;
/** Held keys: zoom factor and share of the width per second. */
const HOLD_ZOOM = 0.1;
const HOLD_PAN = 0.9;

/** The view after one press. `x`: pixel that stays in place. */
export function viewAfterPress(view: View, action: HeldAction, fast: boolean, x: number, width: number): View {
  const times = fast ? FAST : 1;
  if (action === "zoomIn") return zoom(view, TAP_ZOOM ** times, x);
  if (action === "zoomOut") return zoom(view, TAP_ZOOM ** -times, x);
  return pan(view, (action === "panLeft" ? -1 : 1) * TAP_PAN * times * width);
}

/** The view after a key was held for another `ms`. */
function viewWhileHeld(view: View, action: HeldAction, fast: boolean, x: number, width: number, ms: number): View {
  const seconds = (ms / 1000) * (fast ? FAST : 1);
  if (action === "zoomIn") return zoom(view, HOLD_ZOOM ** seconds, x);
  if (action === "zoomOut") return zoom(view, HOLD_ZOOM ** -seconds, x);
  return pan(view, (action === "panLeft" ? -1 : 1) * HOLD_PAN * seconds * width);
}

interface Held {
  since: number;
  last: number;
}

export class Motion {
  private animation: { from: View; aim: View; began: number } | null = null;
  private readonly held = new Map<HeldAction, Held>();
  fast = false;

  /** Moves to `aim`, without animation if `ms` is 0. Returns the view to show now. */
  go(view: View, aim: View, now: number, ms = ANIMATION_MS): View {
    this.animation = ms > 0 ? { from: view, aim, began: now } : null;
    return ms > 0 ? view : aim;
  }

  /** The target of the animation, else the current view. */
  target(view: View): View {
    return this.animation?.aim ?? view;
  }

  press(action: HeldAction, now: number): void {
    if (!this.held.has(action)) this.held.set(action, { since: now, last: now });
  }

  release(action: HeldAction): void {
    this.held.delete(action);
  }

  stop(): void {
    this.held.clear();
    this.animation = null;
  }

  get moving(): boolean {
    return this.animation !== null || this.held.size > 0;
  }

  /** The view at `now`. */
  step(view: View, now: number, x: number, width: number): View {
    let next = view;
    if (this.animation) {
      const { from, aim, began } = this.animation;
      const progress = (now - began) / ANIMATION_MS;
      next = interpolateViews(from, aim, progress, width);
      if (progress >= 1) this.animation = null;
    }
    for (const [action, held] of this.held) {
      if (now - held.since < HOLD_AFTER_MS) continue;
      const ms = Math.min(now - Math.max(held.last, held.since + HOLD_AFTER_MS), 100);
      held.last = now;
      if (ms <= 0) continue;
      next = this.animation?.aim ?? next;
      this.animation = null;
      next = viewWhileHeld(next, action, this.fast, x, width, ms);
    }
    return next;
  }
}

const MOST = 100;
/** Changes within this time (ms) are one step. */
const TOGETHER_MS = 600;

/** Views to go back to with Backspace. */
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
}
