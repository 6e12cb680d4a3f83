import { fixedDecimals, type Unit } from "../base/format";

/** An axis: value to pixel and back. */
export interface Scale {
  from: number;
  to: number;
  pixel: (value: number) => number;
  value: (pixel: number) => number;
}

export function linear(from: number, to: number, left: number, right: number): Scale {
  const factor = to > from ? (right - left) / (to - from) : 0;
  return {
    from,
    to,
    pixel: (value) => left + (value - from) * factor,
    value: (pixel) => (factor === 0 ? from : from + (pixel - left) / factor),
  };
}

/** A round step (1, 2, 2.5 or 5 times a power of ten) that gives at most `most` intervals. */
export function roundStep(width: number, most: number): number {
  if (!(width > 0)) return 1;
  const rough = width / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return (([1, 2, 2.5, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10) as number) * power;
}

export interface Tick {
  value: number;
  label: string;
}

/** Round values of an axis within [from, to], in one unit, with enough decimals to distinguish them. */
export function ticks(from: number, to: number, unit: Unit, most: number): Tick[] {
  const step = roundStep((to - from) / unit.scale, most);
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (isQuarter(step) ? 1 : 0)));
  const out: Tick[] = [];
  const first = Math.ceil(from / unit.scale / step - 1e-9);
  for (let at = first; at * step * unit.scale <= to * (1 + 1e-12); at++) {
    out.push({ value: at * step * unit.scale, label: fixedDecimals(at * step, decimals) });
  }
  return out;
}

function isQuarter(step: number): boolean {
  const mantissa = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
  return Math.abs(mantissa - 2.5) < 1e-6;
}

/** Top of an axis that starts at 0: the next round value above the largest. */
export function roundTop(largest: number, unit: Unit, most: number): number {
  if (!(largest > 0)) return unit.scale;
  const step = roundStep(largest / unit.scale, most);
  return Math.ceil(largest / unit.scale / step - 1e-9) * step * unit.scale;
}

/**
 * SVG path of a step curve within the axes. It starts with the value at the left edge and ends at the last known
 * record. Unknown values are skipped.
 */
export function stepPath(time: readonly number[], values: readonly (number | null)[], x: Scale, y: Scale): string {
  const parts: string[] = [];
  let before: number | null = null;
  for (let at = 0; at < time.length; at++) {
    const moment = time[at] as number;
    const value = values[at] ?? null;
    if (value === null) continue;
    if (moment < x.from) {
      before = value;
      continue;
    }
    if (before !== null && parts.length === 0)
      parts.push(`M${roundPixel(x.pixel(x.from))},${roundPixel(y.pixel(before))}`);
    const right = roundPixel(x.pixel(Math.min(moment, x.to)));
    parts.push(parts.length === 0 ? `M${right},${roundPixel(y.pixel(value))}` : `H${right}`);
    if (moment > x.to) return parts.join("");
    if (parts.length > 1) parts.push(`V${roundPixel(y.pixel(value))}`);
  }
  // A single record gets a short dash, so that it is visible.
  return parts.length === 1 ? `${parts[0]}h${LONE_PX}` : parts.join("");
}

const LONE_PX = 4;

const roundPixel = (pixel: number) => Math.round(pixel * 100) / 100;
