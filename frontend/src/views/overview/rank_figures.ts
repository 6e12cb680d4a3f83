import type { RankStepJson, StepJson, StepTimes } from "../../api/types.gen";
import { type Key, t } from "../../i18n";
import { stepTotal } from "../../widgets";
import { partTitle } from "../../widgets/parts";
import { findStep } from "./step_choice";

/** Figures of a rank's step. */
export interface RankLine {
  rank: RankStepJson;
  step: StepJson | undefined;
}

/** The same step of all ranks; undefined if a rank lacks it. `step` null: steps have no names. */
export function rankLines(ranks: readonly RankStepJson[], step: string | null, device: number | null): RankLine[] {
  return ranks.map((rank) => ({
    rank,
    step: findStep(rank.steps, step, device) ?? (step === null ? rank.steps[0] : undefined),
  }));
}

/** A column of times, ns; null is unknown. */
export interface Figure {
  id: string;
  title: () => string;
  help?: Key;
  value: (line: RankLine) => number | null;
}

const budget =
  (value: (step: StepJson) => number | null) =>
  ({ step }: RankLine) =>
    step ? value(step) : null;

/** Device time of the step by part. */
const BUDGET: readonly Figure[] = [
  {
    id: "computing",
    title: () => t("step.computing"),
    help: "step.computing.help",
    value: budget((step) => step.computing),
  },
  {
    id: "communication",
    title: () => partTitle("budget", "communication"),
    help: "budget.communication.help",
    value: budget((step) => step.communication_not_overlapped),
  },
  { id: "free", title: () => partTitle("budget", "free"), value: budget((step) => step.free) },
  { id: "total", title: () => t("step.time"), value: budget(stepTotal) },
];

const course =
  (key: Exclude<keyof StepTimes, "step">) =>
  ({ rank }: RankLine) =>
    rank.course?.[key] ?? null;

/** Points of each step, recorded by MindSpore up to 2.2 instead of device time. */
const COURSE: readonly Figure[] = [
  { id: "gap", title: () => t("steps.gap"), help: "steps.gap.points", value: course("gap_ns") },
  { id: "fp_bp", title: () => t("steps.fp_bp"), help: "steps.fp_bp.points", value: course("fp_bp_ns") },
  { id: "tail", title: () => t("steps.tail"), help: "steps.tail.points", value: course("tail_ns") },
  { id: "total", title: () => t("step.time"), value: course("total_ns") },
];

/** The columns with figures of any rank; [] if no rank is ready. */
export function figuresOf(lines: readonly RankLine[]): readonly Figure[] {
  if (lines.some((line) => line.step || line.rank.steps.length > 0)) return BUDGET;
  if (lines.some((line) => line.rank.course)) return COURSE;
  return lines.every((line) => line.rank.state === "ready") ? [] : BUDGET;
}

/** True if the figures are those of the mean step. */
export const isMean = (figures: readonly Figure[]) => figures === COURSE;
