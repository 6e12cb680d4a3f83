import type { LateRank, StepJson } from "../api/types.gen";
import * as format from "../base/format";
import { type Key, t } from "../i18n";
import type { BarPart } from "./stacked_bar";

/** Parts of a step's budget in the order of the bar. */
export interface BudgetPart {
  id: "preparing" | "computing" | "overlapped" | "waiting" | "communication" | "bubble" | "copying" | "free";
  title: Key;
  help: Key;
  color: string;
  /** True for time before the step's first device task: drawn next to the bar, not part of the step time. */
  outside: boolean;
  value: (step: Figures) => number | null;
}

type Figures = Pick<
  StepJson,
  | "computing"
  | "overlapped"
  | "communication_not_overlapped"
  | "copying"
  | "free"
  | "bubble"
  | "exposed_preparing"
  | "exposed_waiting"
  | "waiting_for"
>;

function differenceOrNull(a: number | null, b: number | null): number | null {
  return a === null ? null : Math.max(0, a - (b ?? 0));
}

/** The bubble, limited to the communication that contains it, so that the parts sum to the step. */
function bubbleOf({ bubble, communication_not_overlapped: bare }: Figures): number | null {
  return bubble === null ? null : Math.min(bubble, bare ?? 0);
}

/** Waiting for late ranks, limited to the communication that contains it. */
function waitingOf(step: Figures): number | null {
  const { exposed_waiting: waiting, communication_not_overlapped: bare } = step;
  return waiting === null ? null : Math.min(waiting, (bare ?? 0) - (bubbleOf(step) ?? 0));
}

/**
 * Exposed computing + overlapped + exposed communication + copying + free = step time. Waiting for late ranks, and
 * receiving from another pipeline stage (bubble), are shown separately from exposed communication, which contains them.
 */
export const BUDGET: readonly BudgetPart[] = [
  {
    id: "preparing",
    title: "budget.preparing",
    help: "budget.preparing.help",
    color: "var(--c-prep)",
    outside: true,
    value: (step) => step.exposed_preparing,
  },
  {
    id: "computing",
    title: "budget.computing",
    help: "budget.computing.help",
    color: "var(--c-compute)",
    outside: false,
    value: (step) => differenceOrNull(step.computing, step.overlapped),
  },
  {
    id: "overlapped",
    title: "budget.overlapped",
    help: "budget.overlapped.help",
    color: "var(--c-over)",
    outside: false,
    value: (step) => step.overlapped,
  },
  {
    id: "waiting",
    title: "budget.waiting",
    help: "budget.waiting.help",
    color: "var(--c-wait)",
    outside: false,
    value: waitingOf,
  },
  {
    id: "communication",
    title: "budget.communication",
    help: "budget.communication.help",
    color: "var(--c-comm)",
    outside: false,
    value: (step) =>
      differenceOrNull(step.communication_not_overlapped, (bubbleOf(step) ?? 0) + (waitingOf(step) ?? 0)),
  },
  {
    id: "bubble",
    title: "budget.bubble",
    help: "budget.bubble.help",
    color: "var(--c-vec)",
    outside: false,
    value: bubbleOf,
  },
  {
    id: "copying",
    title: "budget.copying",
    help: "budget.copying.help",
    color: "var(--c-mix)",
    outside: false,
    value: (step) => step.copying,
  },
  {
    id: "free",
    title: "budget.free",
    help: "budget.free.help",
    color: "var(--c-free)",
    outside: false,
    value: (step) => step.free,
  },
];

/** Step time: computing + exposed communication + copying + free; null if one is unknown. Only GPUs record copying. */
export function stepTotal(step: Figures): number | null {
  const { computing, communication_not_overlapped: communication, copying, free } = step;
  if (computing === null || communication === null || free === null) return null;
  return computing + communication + (copying ?? 0) + free;
}

/** The bar parts of one step. */
export function budgetParts(step: Figures): BarPart[] {
  return BUDGET.filter((part) => (part.value(step) ?? 0) > 0 || ALWAYS.has(part.id)).map((part) => ({
    id: part.id,
    label: part.id === "communication" ? communicationTitle(step) : t(part.title),
    value: part.value(step),
    color: part.color,
    help: part.id === "waiting" ? waitingHelp(step.waiting_for) : t(part.help),
    outside: part.outside,
  }));
}

/** The same; waiting names the rank that (nearly) all of it is for. */
export function namedBudgetParts(step: Figures): BarPart[] {
  const first = step.waiting_for[0];
  const isMost = first && (first.exposed ?? 0) >= MOST * (step.exposed_waiting ?? 0);
  const name = isMost ? lateRankName(first) : "";
  return budgetParts(step).map((part) =>
    part.id === "waiting" && name ? { ...part, label: t("budget.waiting.rank", { rank: name }) } : part,
  );
}

/** Least share of the waiting of a rank that names all of it. */
const MOST = 0.9;

/** "rank 5"; "local 5" for a rank inside its group that is unknown in the job; "" if it is unknown. */
export function lateRankName({ rank, peer }: Pick<LateRank, "rank" | "peer">): string {
  if (rank !== null) return `rank ${rank}`;
  return peer === null ? "" : `local ${peer}`;
}

/** What is not waiting: all communication, or the rest of it. */
function communicationTitle(step: Figures): string {
  if (step.exposed_waiting !== null) return t("budget.communication.transfer");
  return t(bubbleOf(step) ? "budget.communication.rest" : "budget.communication");
}

/** Number of late ranks in the tooltip. */
const NAMED = 4;

/** The late ranks and the waiting for each. */
export function waitingHelp(ranks: readonly LateRank[]): string {
  const lines = ranks
    .slice(0, NAMED)
    .map((one) => `${lateRankName(one) || "–"}: ${format.duration(one.exposed ?? one.time)} (${one.collectives})`);
  return [t("budget.waiting.help"), ...lines].join("\n");
}

/** Parts that the legend lists even if they are 0. */
const ALWAYS: ReadonlySet<string> = new Set(["computing", "overlapped", "communication", "free"]);
