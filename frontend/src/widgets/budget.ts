import type { LateRank, StepJson, StepParts } from "../api/types.gen";
import * as format from "../base/format";
import { t } from "../i18n";
import { message, partColor, partIds, partTitle } from "./parts";
import type { BarPart } from "./stacked_bar";

type PartId = keyof StepParts;
type Figures = Pick<StepJson, "parts" | "waiting_for">;

/** Parts before the step, which its bar shows beside it. */
const OUTSIDE: ReadonlySet<PartId> = new Set(["preparing"]);

/**
 * Step time: the sum of the parts; null if computing, communication or free is unknown. Only GPUs record copying. The server
 * makes the parts (analysis/steps/parts.py).
 */
export function stepTotal({ parts }: Figures): number | null {
  if (parts.computing === null || parts.communication === null || parts.free === null) return null;
  return partIds("budget").reduce((sum, id) => sum + (OUTSIDE.has(id) ? 0 : (parts[id] ?? 0)), 0);
}

/** The bar parts of one step. */
export function budgetParts(step: Figures): BarPart[] {
  const shown = partIds("budget").filter((id) => (step.parts[id] ?? 0) > 0 || ALWAYS.has(id));
  return shown.map((id) => ({
    id,
    label: id === "communication" ? communicationTitle(step) : partTitle("budget", id),
    value: step.parts[id],
    color: partColor("budget", id),
    help: id === "waiting" ? waitingHelp(step.waiting_for) : t(`budget.${id}.help`),
    outside: OUTSIDE.has(id),
  }));
}

/** The same; waiting names the rank that (nearly) all of it is for. */
export function namedBudgetParts(step: Figures): BarPart[] {
  const first = step.waiting_for[0];
  const isMost = first && (first.exposed ?? 0) >= MOST * (step.parts.waiting ?? 0);
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
  if (step.parts.waiting !== null) return message("part.budget.transfer");
  return step.parts.bubble ? message("part.budget.rest") : partTitle("budget", "communication");
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
