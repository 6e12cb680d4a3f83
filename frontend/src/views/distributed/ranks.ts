import type { DistributedJson, LinkJson, RankBudgetJson, RankStateJson } from "../../api/types.gen";
import { stagesOf } from "../../base/outlier";
import { type BarPart, budgetParts, wholeOf } from "../../widgets";

/** A step to look at: one of the steps, or the sum over all of them. */
export const ALL_STEPS = "*";

/** Figures of a rank, ns; null is unknown. */
export type Figures = Pick<
  RankBudgetJson,
  | "computing"
  | "overlapped"
  | "communication_not_overlapped"
  | "free"
  | "bubble"
  | "preparing"
  | "elapse"
  | "transit"
  | "wait"
  | "synchronization"
  | "idle"
  | "late"
>;

/** One rank as a line of the page. `figures` null: not read (yet), or nothing in this step. */
export interface RankLine {
  state: RankStateJson;
  /** Unique among the lines. */
  id: string;
  figures: Figures | null;
}

const NAMES: readonly (keyof Figures)[] = [
  "computing",
  "overlapped",
  "communication_not_overlapped",
  "free",
  "bubble",
  "preparing",
  "elapse",
  "transit",
  "wait",
  "synchronization",
  "idle",
  "late",
];

/** Stands for rows that belong to no step. */
export const NO_STEP = "-";

/** A step as an option and in the URL. */
export const stepId = (step: string | null) => step ?? NO_STEP;

/** The chosen step where it is there, else the first. */
export function chosenStep(data: DistributedJson, wanted: string): string {
  const ids = data.steps.map(stepId);
  if (wanted === ALL_STEPS && ids.length > 1) return ALL_STEPS;
  return ids.includes(wanted) ? wanted : (ids[0] ?? NO_STEP);
}

export function isInStep(step: string | null, chosen: string): boolean {
  return chosen === ALL_STEPS || stepId(step) === chosen;
}

/** One line per rank of the run, in the order of the ranks; those that are not read are among them. */
export function rankLines(data: DistributedJson, step: string): RankLine[] {
  const bySpan = new Map<string, RankBudgetJson[]>();
  for (const budget of data.budgets) {
    if (!isInStep(budget.step, step)) continue;
    const found = bySpan.get(budget.span);
    if (found) found.push(budget);
    else bySpan.set(budget.span, [budget]);
  }
  const order = (state: RankStateJson) => state.rank ?? Number.POSITIVE_INFINITY;
  return data.ranks
    .map((state) => ({ state, id: state.span, figures: sumUp(bySpan.get(state.span) ?? []) }))
    .sort((a, b) => (order(a.state) === order(b.state) ? 0 : order(a.state) - order(b.state)));
}

/** Sums of what is known; a figure that no row has stays unknown. */
function sumUp(budgets: readonly RankBudgetJson[]): Figures | null {
  if (budgets.length === 0) return null;
  const sums = {} as Record<keyof Figures, number | null>;
  for (const name of NAMES) {
    const known = budgets.map((budget) => budget[name]).filter((value) => value !== null);
    sums[name] = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  }
  return sums;
}

/**
 * A rank that comes late finds all others there: how long it communicates, the one of the others that does least, and the
 * longest that they waited for it at one collective of a step (null: unknown).
 */
export interface Awaited {
  line: RankLine;
  communicated: number;
  others: number;
  late: number | null;
}

/** What ranks communicate differently by less of their step does not stand out. */
const LEAST_DIFFERENCE = 0.1;
/**
 * Nor does a rank for which the others never wait longer at once: where launching takes the time, hosts that begin some 0.1 ms
 * apart are as far apart at each collective, so that the sum of the waits is many times what is lost. Healthy simulated runs
 * come to 3.2 %.
 */
const LEAST_LATE = 0.05;

/**
 * The rank that all others wait for: each of them communicates longer by a good part of its step, since all end together.
 * Stages of a pipeline wait differently by nature, so that ranks are compared with those of their own (stagesOf): one that
 * waits for a late stage receives longer, and so communicates as long as its peers. null where none stands out.
 */
export function awaited(lines: readonly RankLine[]): Awaited | null {
  const stages = stagesOf(
    lines.map((line) => line.state),
    lines.map((line) => line.figures?.bubble),
  );
  const longest = Math.max(...lines.map(({ figures }) => (figures ? wholeOf(budgetParts(figures)) : 0)));
  const found = [...new Set(stages)].flatMap((stage) => {
    const one = stage === null ? null : leastOf(lines.filter((_, at) => stages[at] === stage));
    return one ? [one] : [];
  });
  const [first] = found
    .filter((one) => one.others - one.communicated > LEAST_DIFFERENCE * longest)
    .filter((one) => one.late === null || one.late > LEAST_LATE * longest)
    .sort((a, b) => b.others - b.communicated - (a.others - a.communicated));
  return first ?? null;
}

/** Of ranks that can be compared, the one that communicates least; null where one of them is not known. */
function leastOf(lines: readonly RankLine[]): Awaited | null {
  const known = lines.flatMap((line) => {
    const { communication_not_overlapped: bare = null, overlapped = null, late = null } = line.figures ?? {};
    return bare === null ? [] : [{ line, communicated: bare + (overlapped ?? 0), late }];
  });
  const [first, second] = known.sort((a, b) => a.communicated - b.communicated);
  return first && second && known.length === lines.length ? { ...first, others: second.communicated } : null;
}

/** "rank 3", or the worker's name where the rank is not known. */
export function rankName(state: RankStateJson): string {
  return state.rank === null ? state.worker : `rank ${state.rank}`;
}

/** Whether there is anything that concerns more than one rank. */
export function hasCommunication(data: DistributedJson): boolean {
  return (
    data.links.length > 0 ||
    data.budgets.some(
      (budget) => (budget.elapse ?? budget.transit) !== null || (budget.communication_not_overlapped ?? 0) > 0,
    )
  );
}

/** How many of the ranks are in each state. */
export function countStates(ranks: readonly RankStateJson[]): Readonly<Record<RankStateJson["state"], number>> {
  const counts = { ready: 0, reading: 0, failed: 0, missing: 0 };
  for (const rank of ranks) counts[rank.state]++;
  return counts;
}

/** Links of the chosen step. */
export function linksOf(data: DistributedJson, step: string): LinkJson[] {
  return data.links.filter((link) => isInStep(link.step, step));
}

/** A rank's bar: its parts, and the sum of those that belong to it; null where none is known. */
export interface Bar {
  line: RankLine;
  parts: BarPart[];
  total: number | null;
}

/**
 * Bars in the order of the ranks, or the longest first (ranks without one at the end). All begin alike: what is no part of
 * the sum stands behind the rest.
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
  return isLongestFirst ? bars.sort((a, b) => (b.total ?? -1) - (a.total ?? -1)) : bars;
}
