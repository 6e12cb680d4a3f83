import type { DistributedJson, LateRank, Link, RankBudget, RankStateJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { NO_STEP } from "../../state/period";
import { type BarPart, wholeOf } from "../../widgets";
import { partIds } from "../../widgets/parts";

/** The shown step: one of the steps, or the sum over all steps. */
export const ALL_STEPS = "*";

/** Figures of a rank, ns; null is unknown. */
export type Figures = Pick<
  RankBudget,
  "elapse" | "waiting" | "before_transfer" | "transfer" | "small_packets" | "rest" | "waiting_for" | "parts"
>;

/** One rank as a line of the page. `figures` null: not read yet, or no data in this step. */
export interface RankLine {
  state: RankStateJson;
  /** Unique among the lines. */
  id: string;
  /** Device id if the rank recorded several; null: one device, or figures of no known device. */
  device: number | null;
  figures: Figures | null;
}

const NAMES = ["elapse", "waiting", "before_transfer", "transfer", "small_packets", "rest"] as const;

/** A step as an option and in the URL. */
const stepId = (step: string | null) => step ?? NO_STEP;

/** Whether there is a sum over several steps: not if only the first ones are here. */
const hasAllSteps = ({ steps, step_count }: DistributedJson) => steps.length > 1 && steps.length === step_count;

/** The chosen step if it exists, else the sum of all steps, or the first of many. */
export function shownStep(data: DistributedJson, wanted: string): string {
  const ids = data.steps.map(stepId);
  if (ids.includes(wanted)) return wanted;
  return hasAllSteps(data) ? ALL_STEPS : (ids[0] ?? NO_STEP);
}

export function isInStep(step: string | null, chosen: string): boolean {
  return chosen === ALL_STEPS || stepId(step) === chosen;
}

/** One line per rank of the run (not read ones, too), in rank order, and per device if a rank recorded several. */
export function rankLines(data: DistributedJson, step: string): RankLine[] {
  const bySpan = new Map<string, Map<number | null, RankBudget[]>>();
  for (const budget of data.budgets) {
    const devices = bySpan.get(budget.span) ?? new Map<number | null, RankBudget[]>();
    bySpan.set(budget.span, devices);
    const found = devices.get(budget.device_id) ?? [];
    devices.set(budget.device_id, found);
    if (isInStep(budget.step, step)) found.push(budget);
  }
  const order = (state: RankStateJson) => state.rank ?? Number.POSITIVE_INFINITY;
  return data.ranks
    .flatMap((state) =>
      [...(bySpan.get(state.span) ?? new Map([[null, []]]))].map(([device, budgets]) => ({
        state,
        device,
        id: device === null ? state.span : `${state.span} ${device}`,
        figures: sumUp(budgets),
      })),
    )
    .sort((a, b) => (order(a.state) === order(b.state) ? 0 : order(a.state) - order(b.state)));
}

/** Sums of all rows. */
function sumUp(budgets: readonly RankBudget[]): Figures | null {
  if (budgets.length === 0) return null;
  return {
    ...sumsOf(budgets, NAMES),
    parts: sumsOf(
      budgets.map((budget) => budget.parts),
      partIds("budget"),
    ),
    waiting_for: joinLateRanks(budgets.flatMap((budget) => budget.waiting_for)),
  };
}

/** By name: the sum of the known values; unknown if all rows lack the value. */
function sumsOf<Name extends string>(
  rows: readonly Readonly<Record<Name, number | null>>[],
  names: readonly Name[],
): Record<Name, number | null> {
  const sums = {} as Record<Name, number | null>;
  for (const name of names) {
    const known = rows.map((row) => row[name]).filter((value) => value !== null);
    sums[name] = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  }
  return sums;
}

/** One entry for each late rank, the longest wait first. */
function joinLateRanks(ranks: readonly LateRank[]): LateRank[] {
  const joined = new Map<string, LateRank>();
  for (const one of ranks) {
    const key = one.rank === null ? `${one.group} ${one.peer}` : String(one.rank);
    const sum = joined.get(key);
    const exposed = sum?.exposed == null || one.exposed === null ? null : sum.exposed + one.exposed;
    const both = sum && { time: sum.time + one.time, exposed, collectives: sum.collectives + one.collectives };
    joined.set(key, { ...one, ...both });
  }
  return [...joined.values()].sort((a, b) => b.time - a.time);
}

/** "rank 3", or the worker's name if the rank is unknown; with several devices "rank 3 · device 1". */
export function rankName({ state, device }: Pick<RankLine, "state" | "device">): string {
  const name = state.rank === null ? state.worker : `rank ${state.rank}`;
  return device === null ? name : `${name} · ${t("distributed.device", { device })}`;
}

/** True if links or communication times were recorded. */
export function hasCommunication(data: DistributedJson): boolean {
  return (
    data.links.length > 0 ||
    data.budgets.some(
      (budget) => (budget.elapse ?? budget.transit) !== null || (budget.communication_not_overlapped ?? 0) > 0,
    )
  );
}

/** Number of ranks in each state. */
export function countStates(ranks: readonly RankStateJson[]): Readonly<Record<RankStateJson["state"], number>> {
  const counts = { ready: 0, reading: 0, failed: 0, missing: 0 };
  for (const rank of ranks) counts[rank.state]++;
  return counts;
}

/** Links of the chosen step. */
export function linksOf(data: DistributedJson, step: string): Link[] {
  return data.links.filter((link) => isInStep(link.step, step));
}

/** The bar of a rank: its parts, and their total (null if unknown). */
export interface Bar {
  line: RankLine;
  parts: BarPart[];
  total: number | null;
}

/**
 * Bars in rank order, or the longest first (ranks without a bar at the end). Parts outside the total come last, so that
 * all bars start alike. On several devices, some figures belong to a device and some to the rank: a line without
 * figures of this chart is left out if another line of the rank has them.
 */
export function barsOf(
  lines: readonly RankLine[],
  partsOf: (figures: Figures) => BarPart[],
  isLongestFirst: boolean,
): Bar[] {
  const bars = lines.map((line) => {
    const parts = line.figures ? partsOf(line.figures) : [];
    const inside = parts.filter((part) => !part.outside);
    const total = inside.some((part) => part.value !== null) ? wholeOf(inside) : null;
    return { line, parts: [...inside, ...parts.filter((part) => part.outside)], total };
  });
  const withTotal = new Set(bars.filter((bar) => bar.total !== null).map((bar) => bar.line.state.span));
  const shown = bars.filter((bar) => bar.total !== null || !withTotal.has(bar.line.state.span));
  return isLongestFirst ? shown.sort((a, b) => (b.total ?? -1) - (a.total ?? -1)) : shown;
}
