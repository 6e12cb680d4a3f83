import type { CurveJson, MemoryJson, MemoryPeakJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import { firstIndex } from "../../base/search";

/** Figures of a component in a record. */
export type Metric = "allocated" | "reserved" | "active";
export const METRICS: readonly Metric[] = ["allocated", "reserved", "active"];

/** One line of the chart. A value holds until the next one; unknown values keep the previous one. */
export interface Series {
  id: string;
  label: string;
  /** CSS colour. */
  color: string;
  isDashed: boolean;
  /** ns after base_ns, ascending. */
  time: readonly number[];
  /** bytes. */
  values: readonly (number | null)[];
}

/** Components that represent all allocators, best first: both, the framework's, the graph engine's. */
const ALLOCATORS: readonly string[] = ["PTA+GE", "MindSpore+GE", "PTA", "MindSpore", "PyTorch", "GE"];

const METRIC_COLORS: Readonly<Record<Metric, string>> = {
  reserved: "var(--c-comm)",
  allocated: "var(--c-compute)",
  active: "var(--c-vec)",
};

const COMPONENT_COLORS: Readonly<Record<string, string>> = {
  APP: "var(--c-prep)",
  PTA: "var(--c-compute)",
  PyTorch: "var(--c-compute)",
  GE: "var(--c-vec)",
  "PTA+GE": "var(--c-comm)",
  MindSpore: "var(--c-compute)",
  "MindSpore+GE": "var(--c-comm)",
  WORKSPACE: "var(--c-mix)",
};

/** Colours of unknown modules and components, in order. */
const HUES = ["compute", "comm", "vec", "mix", "wait", "over", "prep", "pink"];
const PALETTE: readonly string[] = HUES.map((hue) => `var(--c-${hue})`);

function componentColor(component: string, index: number): string {
  return COMPONENT_COLORS[component] ?? PALETTE[index % PALETTE.length] ?? "var(--c-free)";
}

/** The component that represents all operators; "" if none was recorded. */
export function mainComponent(curves: readonly { component: string }[]): string {
  const found = new Set(curves.map((curve) => curve.component));
  return ALLOCATORS.find((name) => found.has(name)) ?? "";
}

/** Name of a line, with the device if there are several. */
function label(curve: CurveJson, text: string, devices: number): string {
  return devices > 1 && curve.device ? `${text} · ${curve.device}` : text;
}

function line(curve: CurveJson, metric: Metric, text: string, color: string, isDashed = false): Series | null {
  const values = curve[metric];
  if (values.every((value) => value === null)) return null;
  return { id: `${curve.component} ${curve.device} ${metric}`, label: text, color, isDashed, time: curve.time, values };
}

const isLine = (series: Series | null): series is Series => series !== null;

/** Memory of the operators: allocated, reserved and active of all allocators, and reserved of the process. */
export function operatorSeries(data: MemoryJson, words: Readonly<Record<Metric, string>>): Series[] {
  const main = mainComponent(data.curves);
  const devices = data.devices.length;
  const out: (Series | null)[] = [];
  for (const curve of data.curves.filter((item) => item.component === "APP")) {
    out.push(line(curve, "reserved", label(curve, `APP ${words.reserved}`, devices), "var(--c-prep)"));
  }
  for (const curve of data.curves.filter((item) => item.component === main)) {
    for (const [index, metric] of (["reserved", "allocated", "active"] as const).entries()) {
      const text = label(curve, `${main} ${words[metric]}`, devices);
      const place = Math.max(0, data.devices.indexOf(curve.device ?? ""));
      const color = place === 0 ? METRIC_COLORS[metric] : PALETTE[(3 * place + index) % PALETTE.length];
      out.push(line(curve, metric, text, color ?? METRIC_COLORS[metric], metric === "active"));
    }
  }
  return out.filter(isLine);
}

/** One line per component for one figure. */
export function componentSeries(data: MemoryJson, metric: Metric): Series[] {
  const devices = data.devices.length;
  return data.curves
    .map((curve, index) =>
      line(curve, metric, label(curve, curve.component, devices), componentColor(curve.component, index)),
    )
    .filter(isLine);
}

/** Lines of the `count` largest modules. */
export function moduleSeries(data: MemoryJson, count: number): Series[] {
  const largest = (curve: CurveJson) => Math.max(0, ...curve.reserved.map((value) => value ?? 0));
  return [...data.module_curves]
    .sort((a, b) => largest(b) - largest(a))
    .slice(0, count)
    .map((curve, index) =>
      line(
        curve,
        "reserved",
        label(curve, curve.component, data.devices.length),
        PALETTE[index % PALETTE.length] ?? "var(--c-free)",
        index >= PALETTE.length,
      ),
    )
    .filter(isLine);
}

/** Value at a time; null before the first record and after the last one. */
export function valueAt(series: Series, moment: number): number | null {
  const { time, values } = series;
  const last = time.at(-1);
  if (last === undefined || moment > last) return null;
  for (let at = upperBound(time, moment) - 1; at >= 0; at--) {
    const value = values[at];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

/** Number of entries at or before `moment`. */
function upperBound(time: readonly number[], moment: number): number {
  return firstIndex(time.length, (index) => (time[index] as number) <= moment);
}

/** Largest value within [from, to]. */
export function largestWithin(series: readonly Series[], from: number, to: number): number {
  let largest = 0;
  for (const one of series) {
    const first = Math.max(0, upperBound(one.time, from) - 1);
    for (let at = first; at < one.time.length && (one.time[at] as number) <= to; at++) {
      largest = Math.max(largest, one.values[at] ?? 0);
    }
  }
  return largest;
}

/** Time of the allocators' peak; null if nothing was recorded. */
export function peakOf(peaks: readonly MemoryPeakJson[]): { component: string; bytes: number; at: number } | null {
  const main = mainComponent(peaks);
  let found: { component: string; bytes: number; at: number } | null = null;
  for (const peak of peaks) {
    const { component, allocated_bytes: bytes, allocated_at: at } = peak;
    if (component !== main || bytes === null || at === null) continue;
    if (found === null || bytes > found.bytes) found = { component, bytes, at };
  }
  return found;
}

/** True if a curve was thinned: zooming in then needs a request. */
export function isThinned(data: MemoryJson): boolean {
  return [...data.curves, ...data.module_curves].some((curve) => curve.points > curve.time.length);
}

/** First and last record of all lines; null without one. */
export function timeRange(series: readonly Series[]): [number, number] | null {
  const ends = series.flatMap(({ time }) => [time[0], time.at(-1)]).filter((at) => at !== undefined);
  if (ends.length === 0) return null;
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  return [from, to > from ? to : from + 1];
}

/** The next record of any line after (or before) a time. */
export function neighbour(series: readonly Series[], at: number, direction: 1 | -1): number | null {
  let best: number | null = null;
  for (const { time } of series) {
    // Times are whole ns.
    const found = direction === 1 ? time[upperBound(time, at)] : time[upperBound(time, at - 1) - 1];
    if (found !== undefined && (best === null || (found - best) * direction < 0)) best = found;
  }
  return best;
}

/** Records of the lines as CSV: one row per record, time in ns after base_ns, size in bytes. */
export function curvesCsv(series: readonly Series[]): string {
  const rows = series.flatMap(({ label, time, values }) =>
    Array.from(time, (moment, at) => [label, moment, values[at] ?? null]),
  );
  return csvText(["curve", "time_ns", "bytes"], rows);
}
