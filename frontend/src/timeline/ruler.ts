/** Ticks of the time axis, and how times are written on it. */

import { fixedDecimals, TIME_UNITS, unitFor } from "../base/format";
import { timeAt, type View } from "./viewport";

export interface Tick {
  /** ns after the zero. */
  time: number;
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

/**
 * Visible ticks, counted from `zero`; labelled ones are at least `spacing` pixels apart, with four intervals between.
 */
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
    result.push({ time, x: (time - start) / view.scale, label: labelled ? tickLabel(time, step) : "" });
  }
  return result;
}
