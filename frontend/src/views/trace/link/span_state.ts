/**
 * What belongs to one span (window, pins, marks, selection, range) is kept by span: it is in the address while the span is
 * on show, and comes back with it. It stays as long as the browser's tab.
 */

import type { TraceStepJson } from "../../../api/types.gen";
import { originOf } from "../../../timeline/decode";
import type { Range } from "../../../timeline/scene";
import { KEYS } from "./link";

type Params = Readonly<Record<string, string>>;

/** Parameters that mean nothing in another span. */
const OWN: readonly string[] = [
  KEYS.version,
  KEYS.range,
  KEYS.area,
  KEYS.slice,
  KEYS.closed,
  KEYS.folded,
  KEYS.pinned,
  KEYS.marks,
];
const STORE = "npu_profiler.trace.spans";
const MOST_SPANS = 50;

/** What an address holds of a span other than the one it opens. */
export interface ForeignState {
  span: string;
  params: Params;
}

/** The part of a span that is in sight, for another span to show the same. */
export interface SpanWindow {
  span: string;
  /** null: all of it. */
  range: Range | null;
  /** Epoch time (ns) that times count from. */
  base: string;
  steps: readonly TraceStepJson[];
}

const kept = new Map<string, Params>(restored());
/** The window of the span on show last. */
let lastWindow: SpanWindow | null = null;

/** Keeps what the address says of a span. `isWindowOwn` false: its window came from another span, and is not kept. */
export function keepSpan(span: string, params: Params, isWindowOwn: boolean): void {
  const own = ownParams(params);
  if (!isWindowOwn) delete own[KEYS.range];
  kept.delete(span);
  kept.set(span, own);
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_SPANS) break;
    kept.delete(oldest);
  }
  try {
    sessionStorage.setItem(STORE, JSON.stringify([...kept]));
  } catch {
    // forbidden or full: it is kept as long as the page
  }
}

/**
 * Parameters with which `span` opens: those of the address where they are its own, else what was kept of it. `foreign`:
 * what a link holds of another span, which nobody has seen on this page; it is kept for that span.
 */
export function enterSpan(span: string, params: Params): { params: Params; foreign: ForeignState | null } {
  const of = params[KEYS.of] ?? "";
  if (of === "" || of === span) return { params, foreign: null };
  const isLink = !kept.has(of);
  const theirs = ownParams(params);
  if (isLink) keepSpan(of, params, true);
  const rest = Object.fromEntries(Object.entries(params).filter(([key]) => !OWN.includes(key)));
  const foreign = isLink && Object.keys(theirs).length > 0 ? { span: of, params: theirs } : null;
  return { params: { ...rest, ...kept.get(span), [KEYS.of]: span }, foreign };
}

/** Changes of the address that make it hold `params`, of what belongs to a span. */
export function spanChanges(params: Params): Record<string, string | null> {
  return Object.fromEntries([...OWN, KEYS.of].map((key) => [key, params[key] ?? null]));
}

export function rememberWindow(window: SpanWindow): void {
  lastWindow = window;
}

/** The window of the span shown before, as a range of this one: see `migrateWindow`. */
export function carriedWindow(to: Omit<SpanWindow, "range">, whole: Range): Range | null {
  return lastWindow && lastWindow.span !== to.span ? migrateWindow(lastWindow, to, whole) : null;
}

/**
 * A window of one span in another one: the same time where that was recorded too, else the same place in the same step.
 * `whole`: all slices of the other span.
 */
export function migrateWindow(from: SpanWindow, to: Pick<SpanWindow, "base" | "steps">, whole: Range): Range | null {
  if (!from.range) return null;
  const { start, end } = from.range;
  const middle = (start + end) / 2;
  const shift = originOf(from.base, to.base);
  if (middle + shift >= whole.start && middle + shift <= whole.end) return { start: start + shift, end: end + shift };
  const step = from.steps.find((one) => one.start <= middle && middle < one.end);
  const same = step && to.steps.find((one) => one.step === step.step);
  return same ? { start: start + same.start - step.start, end: end + same.start - step.start } : null;
}

function ownParams(params: Params): Record<string, string> {
  return Object.fromEntries(Object.entries(params).filter(([key, value]) => OWN.includes(key) && value !== ""));
}

function restored(): [string, Params][] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(STORE) ?? "[]");
    return Array.isArray(found) ? (found as [string, Params][]) : [];
  } catch {
    return [];
  }
}
