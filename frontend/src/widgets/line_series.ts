import * as format from "../base/format";

/** One line. `x` rises; a value holds until the next point. null: unknown from here on. */
export interface Series {
  name: string;
  x: readonly number[];
  y: readonly (number | null)[];
  /** A CSS colour, variables allowed. */
  color: string;
}

/** Value in force at `x`: that of the last point not after it; null before the first and after the last. */
export function valueAt(series: Series, x: number): number | null {
  const { x: places, y } = series;
  const last = places.length - 1;
  if (last < 0 || x < (places[0] as number) || x > (places[last] as number)) return null;
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((places[middle] as number) <= x) low = middle;
    else high = middle - 1;
  }
  return y[low] ?? null;
}

/** First and last x of all lines; null where there is no point. */
export function extent(all: readonly Series[]): [number, number] | null {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const { x } of all) {
    if (x.length === 0) continue;
    least = Math.min(least, x[0] as number);
    most = Math.max(most, x[x.length - 1] as number);
  }
  return least <= most ? [least, most] : null;
}

/** Unit of an axis from its largest value. */
export function axisUnit(kind: "duration" | "bytes" | "float", largest: number): format.Unit {
  if (kind === "duration") return format.unitFor(format.TIME_UNITS, largest);
  if (kind === "bytes") return format.unitFor(format.BYTE_UNITS, largest);
  return { name: "", scale: 1 };
}

/** A step between ticks that reads well: 1, 2, 5 × 10^n (2^n for bytes) of the unit, about `count` in the range. */
export function tickStep(
  range: number,
  unit: format.Unit,
  count: number,
  kind: "duration" | "bytes" | "float",
): number {
  const rough = range / unit.scale / count;
  if (!(rough > 0)) return unit.scale;
  if (kind === "bytes" && rough >= 1) return 2 ** Math.ceil(Math.log2(rough)) * unit.scale;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return nice * power * unit.scale;
}
