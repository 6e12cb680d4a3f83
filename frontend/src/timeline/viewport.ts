import { fixedDecimals, TIME_UNITS, unitFor } from "../base/format";

/** The visible part of the time axis. Times are doubles in ns after the span's base, exact below 2^53. */

export interface View {
  /** Time at the left edge. */
  start: number;
  /** ns per CSS pixel. */
  scale: number;
}

/** A part of the time axis. */
export interface Range {
  start: number;
  end: number;
}

/** The closest zoom: 100 pixels per ns. */
export const MIN_SCALE = 0.01;
/** Margin at the first and last event when everything is shown, as a share. */
const MARGIN = 0.02;
export const ANIMATION_MS = 120;

export function endOfView(view: View, width: number): number {
  return view.start + view.scale * width;
}

export function timeAt(view: View, x: number): number {
  return view.start + x * view.scale;
}

export function xAt(view: View, time: number): number {
  return (time - view.start) / view.scale;
}

/** The view that shows everything. */
export function fit(limits: Range, width: number): View {
  return show(limits.start, limits.end, width, MARGIN);
}

/** The view that shows [start, end) with `margin` (share of its length) on both sides. */
export function show(start: number, end: number, width: number, margin = 0): View {
  const length = Math.max(end - start, 1);
  const scale = Math.max((length * (1 + 2 * margin)) / Math.max(width, 1), MIN_SCALE);
  const middle = (start + end) / 2;
  return { start: middle - (scale * width) / 2, scale };
}

/** Limits the zoom and keeps the view over the data. */
export function clamp(view: View, limits: Range, width: number): View {
  const all = fit(limits, width);
  if (view.scale >= all.scale) return all;
  const scale = Math.max(view.scale, MIN_SCALE);
  const low = all.start;
  const high = endOfView(all, width) - scale * width;
  return { start: Math.min(Math.max(view.start, low), high), scale };
}

/** Scales by `factor` (below 1 is closer) while the time at `x` stays where it is. */
export function zoom(view: View, factor: number, x: number): View {
  const scale = Math.max(view.scale * factor, MIN_SCALE);
  return { start: timeAt(view, x) - x * scale, scale };
}

export function pan(view: View, pixels: number): View {
  return { start: view.start + pixels * view.scale, scale: view.scale };
}

/** Moves the view as little as needed to show [start, end), zoom unchanged. */
export function reveal(view: View, start: number, end: number, width: number): View {
  const shown = view.scale * width;
  const pad = shown * 0.1;
  if (end <= view.start + pad || start >= view.start + shown - pad) {
    return { start: (start + Math.min(end, start + shown)) / 2 - shown / 2, scale: view.scale };
  }
  return view;
}

/** Compares views with a tolerance: zooming in and out leaves rounding errors. */
export function sameView(a: View, b: View): boolean {
  return Math.abs(a.start - b.start) < a.scale / 100 && Math.abs(a.scale - b.scale) < a.scale * 1e-9;
}

/** View at `progress` (0 to 1) of the animation; the zoom changes by equal factors, so it looks even. */
export function interpolateViews(from: View, to: View, progress: number, width: number): View {
  if (progress >= 1) return to;
  const eased = 1 - (1 - progress) ** 2;
  const scale = from.scale * (to.scale / from.scale) ** eased;
  const ratio = to.scale / from.scale;
  if (Math.abs(ratio - 1) < 1e-9) return { start: from.start + (to.start - from.start) * eased, scale };
  // One point of the axis stays fixed on the screen during a zoom; edges move in step with the scale.
  const part = (scale - from.scale) / (to.scale - from.scale);
  const left = from.start + (to.start - from.start) * part;
  return { start: width > 0 ? left : to.start, scale };
}

interface Tick {
  x: number;
  /** Empty on minor ticks. */
  label: string;
}

/** The smallest of 1, 2, 5 times a power of ten that is at least `least`, never below 1 ns. */
export function niceStep(least: number): number {
  if (least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const digit of [1, 2, 5]) {
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  }
  return 10 * power;
}

/** `time` with as many decimals as `step` needs, in the unit that fits `unitStep`. */
export function tickLabel(time: number, step: number, unitStep = step): string {
  const unit = unitFor(TIME_UNITS, unitStep);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit.scale) - 1e-9));
  return `${fixedDecimals(time / unit.scale, decimals)} ${unit.name}`;
}

/** Visible ticks, counted from `zero`. Labelled ticks are at least `spacing` pixels apart, with four unlabelled ones between. */
export function ticks(view: View, width: number, spacing: number, zero = 0): Tick[] {
  if (width <= 0) return [];
  const step = niceStep(view.scale * spacing);
  const minor = step >= 5 ? step / 5 : step;
  const start = view.start - zero;
  const last = timeAt(view, width) - zero;
  const result: Tick[] = [];
  for (let index = Math.floor(start / minor); index * minor <= last; index++) {
    const time = index * minor;
    const labelled = minor === step || index % 5 === 0;
    result.push({ x: (time - start) / view.scale, label: labelled ? tickLabel(time, step) : "" });
  }
  return result;
}
