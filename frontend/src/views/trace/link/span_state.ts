/**
 * Stores the state of each span (window, pins, marks, selection, range). The URL holds that of the current span; the
 * others are restored when their span is shown again. Kept until the browser tab is closed.
 */

import type { TraceStepJson } from "../../../api/types.gen";
import { originOf } from "../../../timeline/decode";
import type { Range } from "../../../timeline/scene";
import { KEYS } from "./link";

type Params = Readonly<Record<string, string>>;

/** Parameters that are void in another span. */
const OWN: readonly string[] = [
  KEYS.version,
  KEYS.range,
  KEYS.area,
  KEYS.slice,
  KEYS.part,
  KEYS.closed,
  KEYS.folded,
  KEYS.pinned,
  KEYS.marks,
];
const STORE = "npu_profiler.trace.spans";
const MOST_SPANS = 50;

/** State in a URL that belongs to another span than the URL opens. */
export interface ForeignState {
  span: string;
  params: Params;
}

/** The visible part of a span, to show the same part of another span. */
export interface SpanWindow {
  span: string;
  /** null: everything. */
  range: Range | null;
  /** Epoch time (ns) of time 0. */
  base: string;
  steps: readonly TraceStepJson[];
}

const kept = new Map<string, Params>(restoreSpans());
/** The window of the previous span. */
let lastWindow: SpanWindow | null = null;

/** Stores a span's state from the URL. `isWindowOwn` false: the window came from another span and is not stored. */
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
    // storage is forbidden or full: the state lasts as long as the page
  }
}

/**
 * The parameters with which `span` opens: those of the URL if they are its own, else the stored ones. `foreign`: state
 * of another span in a link that this page has not opened yet; it is stored for that span.
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

/** Changes that make the URL hold `params`, for the parameters of a span. */
export function spanChanges(params: Params): Record<string, string | null> {
  return Object.fromEntries([...OWN, KEYS.of].map((key) => [key, params[key] ?? null]));
}

export function rememberWindow(window: SpanWindow): void {
  lastWindow = window;
}

/** Makes `span` open with the window of the previous one, not with its own. `shift`: offset to add to its times, ns. */
export function carryWindow(span: string, shift: number): void {
  const { [KEYS.range]: _, ...own } = kept.get(span) ?? {};
  if (kept.has(span)) kept.set(span, own);
  const range = lastWindow?.range;
  if (lastWindow && range)
    lastWindow = { ...lastWindow, range: { start: range.start + shift, end: range.end + shift } };
}

/** The window of the previous span as a range of this one: see `migrateWindow`. */
export function inheritedWindow(to: Omit<SpanWindow, "range">, whole: Range): Range | null {
  return lastWindow && lastWindow.span !== to.span ? migrateWindow(lastWindow, to, whole) : null;
}

/**
 * Transfers a window from one span to another: the same time if both recorded it, else the same part of the same step.
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

function restoreSpans(): [string, Params][] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(STORE) ?? "[]");
    return Array.isArray(found) ? (found as [string, Params][]) : [];
  } catch {
    return [];
  }
}
