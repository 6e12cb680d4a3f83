import type { DiffLedgerJson, EntryTimeJson, WaterfallRowJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import type { Unit } from "../../base/format";
import { linear, type Tick, ticks } from "../../widgets/scale";

/** A pair of captures by their letters, as in "AB". */
export const pairsOf = (names: readonly string[]): string[] =>
  names.flatMap((one, at) => names.slice(at + 1).map((other) => one + other));

/** Numbers of the captures of a pair. */
export const numbersOf = (names: readonly string[], pair: string): [number, number] => [
  names.indexOf(pair[0] ?? ""),
  names.indexOf(pair[1] ?? ""),
];

/** An entry of the step with its bar, as shares of the axis. */
export interface BarRow {
  row: WaterfallRowJson;
  difference: number;
  running: number;
  /** 0..1 */
  left: number;
  width: number;
}

export interface Waterfall {
  rows: BarRow[];
  ticks: Tick[];
  /** Place of a time on the axis, 0..1. */
  place: (ns: number) => number;
}

/** Most ticks of the axis, and the room left and right of the bars as a share of their range. */
const MOST_TICKS = 5;
const ROOM = 0.12;

/** Bars between the running sums. The axis does not start at zero: it shows what changed. */
export function waterfallOf(data: DiffLedgerJson, [before, after]: readonly [number, number], unit: Unit): Waterfall {
  const entries = data.rows.filter((row) => !row.is_beside);
  const first = data.steps[before] ?? 0;
  const sums = [first, ...data.waterfall.map((one) => one.running_ns), data.steps[after] ?? 0];
  const [least, most] = [Math.min(...sums), Math.max(...sums)];
  const room = Math.max((most - least) * ROOM, unit.scale * 0.01);
  const [from, to] = [Math.max(0, least - room), most + room];
  const place = linear(from, to, 0, 1).pixel;
  const rows = data.waterfall.flatMap(({ difference_ns: difference, running_ns: running }, at) => {
    const row = entries[at];
    const left = place(Math.min(running, running - difference));
    return row
      ? [{ row, difference, running, left, width: place(Math.max(running, running - difference)) - left }]
      : [];
  });
  return { rows, ticks: ticks(from, to, unit, MOST_TICKS), place };
}

/** True if the time is bounded: its bounds differ. */
export const isBounded = (time: EntryTimeJson | null): boolean => time !== null && time.low_ns !== time.high_ns;

export function waterfallCsv(data: DiffLedgerJson, title: (row: WaterfallRowJson) => string): string {
  const entries = data.rows.filter((row) => !row.is_beside);
  const bounds = (time: EntryTimeJson | null) => [time?.ns ?? null, time?.low_ns ?? null, time?.high_ns ?? null];
  return csvText(
    [
      "entry",
      ...data.names.flatMap((name) => ["ns", "low_ns", "high_ns"].map((key) => `${name.toLowerCase()}_${key}`)),
      "difference_ns",
      "running_ns",
    ],
    data.rows.map((row) => {
      const step = data.waterfall[entries.indexOf(row)];
      return [title(row), ...row.times.flatMap(bounds), step?.difference_ns ?? null, step?.running_ns ?? null];
    }),
  );
}
