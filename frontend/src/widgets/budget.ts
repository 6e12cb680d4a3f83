import type { StepJson } from "../api/types.gen";
import { type Key, t } from "../i18n";
import type { BarPart } from "./stacked_bar";

/** Parts of a step's budget in the order of the bar. */
export interface BudgetPart {
  id: "preparing" | "computing" | "overlapped" | "communication" | "bubble" | "copying" | "free";
  title: Key;
  help: Key;
  color: string;
  /** True for time before the step's first device task: drawn next to the bar, not part of the step time. */
  outside: boolean;
  value: (step: Figures) => number | null;
}

type Figures = Pick<
  StepJson,
  "computing" | "overlapped" | "communication_not_overlapped" | "copying" | "free" | "bubble" | "exposed_preparing"
>;

function differenceOrNull(a: number | null, b: number | null): number | null {
  return a === null ? null : Math.max(0, a - (b ?? 0));
}

/** The bubble, limited to the communication that contains it, so that the parts sum to the step. */
function bubbleOf({ bubble, communication_not_overlapped: bare }: Figures): number | null {
  return bubble === null ? null : Math.min(bubble, bare ?? 0);
}

/**
 * Exposed computing + overlapped + exposed communication + copying + free = step time. Receiving from another pipeline
 * stage (bubble) is shown separately from exposed communication, which contains it.
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
    id: "communication",
    title: "budget.communication",
    help: "budget.communication.help",
    color: "var(--c-comm)",
    outside: false,
    value: (step) => differenceOrNull(step.communication_not_overlapped, bubbleOf(step)),
  },
  {
    id: "bubble",
    title: "budget.bubble",
    help: "budget.bubble.help",
    color: "var(--c-wait)",
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
    label: t(part.id === "communication" && bubbleOf(step) ? "budget.communication.rest" : part.title),
    value: part.value(step),
    color: part.color,
    help: t(part.help),
    outside: part.outside,
  }));
}

/** Parts that the legend lists even if they are 0. */
const ALWAYS: ReadonlySet<string> = new Set(["computing", "overlapped", "communication", "free"]);
