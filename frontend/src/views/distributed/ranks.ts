import type { DistributedJson, LinkJson, RankBudgetJson, RankStateJson } from "../../api/types.gen";

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

/** One part of a bar; `value` ns, null unknown. */
export interface Part {
  id: string;
  value: number | null;
}

/**
 * Where a step went on one rank: parts that do not contain each other. Receiving (bubble) is taken out of the
 * communication that nothing hides; preparing lies before the step's device time and stands at the end, apart.
 */
export function budgetParts(figures: Figures): Part[] {
  const { computing, overlapped, communication_not_overlapped: bare, free, bubble, preparing } = figures;
  const receiving = Math.min(bubble ?? 0, bare ?? 0);
  const parts: Part[] = [
    { id: "computing", value: computing === null ? null : computing - (overlapped ?? 0) },
    { id: "overlapped", value: overlapped },
    { id: "not_overlapped", value: bare === null ? null : bare - receiving },
  ];
  if (receiving > 0) parts.push({ id: "bubble", value: receiving });
  parts.push({ id: "free", value: free });
  if ((preparing ?? 0) > 0) parts.push({ id: "preparing", value: preparing });
  return parts;
}

/** The elapsed time of all communication operators: four parts that sum to it. */
export function communicationParts(figures: Figures): Part[] {
  return [
    { id: "transit", value: figures.transit },
    { id: "wait", value: figures.wait },
    { id: "synchronization", value: figures.synchronization },
    { id: "idle", value: figures.idle },
  ];
}

export function sumOf(parts: readonly Part[]): number | null {
  const known = parts.filter((part) => part.value !== null);
  return known.length === 0 ? null : known.reduce((sum, part) => sum + (part.value ?? 0), 0);
}

/** A rank that comes late does not wait: how long it waits, and the one of the others that waits least. */
export interface Awaited {
  line: RankLine;
  waited: number;
  others: number;
}

/** What ranks wait differently by less of their step does not stand out. */
const LEAST_DIFFERENCE = 0.1;

/**
 * The rank that all others wait for: each of them waits longer by a good part of its step. null where none stands out, and
 * where ranks receive from each other: the stages of a pipeline wait differently by nature.
 */
export function awaited(lines: readonly RankLine[]): Awaited | null {
  const known = lines.flatMap((line) => {
    const { wait = null, synchronization = null, bubble = null } = line.figures ?? {};
    if (line.figures === null || synchronization === null || (bubble ?? 0) > 0) return [];
    const step = sumOf(budgetParts({ ...line.figures, preparing: null })) ?? 0;
    return [{ line, waited: (wait ?? 0) + synchronization, step }];
  });
  const [first, second] = known.sort((a, b) => a.waited - b.waited);
  const longest = Math.max(...known.map(({ step }) => step));
  if (!first || !second || known.length < lines.length) return null;
  const isLess = second.waited - first.waited > LEAST_DIFFERENCE * longest;
  return isLess ? { line: first.line, waited: first.waited, others: second.waited } : null;
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

/** A rank's bar: its parts, and the sum of those that belong to it. */
export interface Bar {
  line: RankLine;
  parts: Part[];
  total: number | null;
}

/** Bars in the order of the ranks, or the longest first (ranks without one at the end). `outside`: a part drawn apart. */
export function barsOf(
  lines: readonly RankLine[],
  partsOf: (figures: Figures) => Part[],
  outside: string,
  isLongestFirst: boolean,
): Bar[] {
  const bars = lines.map((line) => {
    const parts = line.figures ? partsOf(line.figures) : [];
    return { line, parts, total: sumOf(parts.filter((part) => part.id !== outside)) };
  });
  return isLongestFirst ? bars.sort((a, b) => (b.total ?? -1) - (a.total ?? -1)) : bars;
}
