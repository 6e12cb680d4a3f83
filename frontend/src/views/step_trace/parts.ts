import type { Reduce, StepTimes, StepTraceJson } from "../../api/types.gen";

/** The three parts of a step, with their colours. */
export const PARTS = [
  { id: "gap", key: "gap_ns", color: "var(--c-free)" },
  { id: "fp_bp", key: "fp_bp_ns", color: "var(--c-compute)" },
  { id: "tail", key: "tail_ns", color: "var(--c-mix)" },
] as const;

/** In order of time: for recorded points the gap precedes the step, otherwise it is the wait for the next one. */
function partsInOrder(method: StepTraceJson["method"]): readonly (typeof PARTS)[number][] {
  const [gap, ...others] = PARTS;
  return method === "points" ? PARTS : [...others, gap];
}

/** The parts that are not 0 in all steps. */
export function partsThatVary({ method, steps, mean }: Pick<StepTraceJson, "method" | "steps" | "mean">) {
  return partsInOrder(method).filter(({ key }) => [mean, ...steps].some((step) => step[key]));
}

/** What Trend draws: a part, or the time of iterations, which have none. */
export type PartKey = (typeof PARTS)[number]["key"] | "total_ns";

/** The rest of the step if some parts are unknown; null: no rest. */
export function restOf(step: StepTimes): number | null {
  const values = PARTS.map(({ key }) => step[key]);
  if (step.total_ns === null || !values.includes(null)) return null;
  const rest = step.total_ns - values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return rest > 0 ? rest : null;
}

/** Communication of one stream, in order of time. */
export interface Lane {
  stream: number | null;
  reduces: Reduce[];
}

/** Operators by stream; those without a stream last. */
export function lanesOf(reduces: readonly Reduce[]): Lane[] {
  const lanes = new Map<number | null, Reduce[]>();
  for (const reduce of reduces) {
    const lane = lanes.get(reduce.stream_id);
    if (lane) lane.push(reduce);
    else lanes.set(reduce.stream_id, [reduce]);
  }
  const order = (stream: number | null) => stream ?? Number.POSITIVE_INFINITY;
  return [...lanes]
    .map(([stream, found]) => ({ stream, reduces: found.sort((a, b) => a.offset_ns - b.offset_ns) }))
    .sort((a, b) => (a.stream === b.stream ? 0 : order(a.stream) - order(b.stream)));
}

/** Relative difference of two figures; null if unknown. */
function differs(value: number | null, from: number | null | undefined): number | null {
  return value === null || !from ? null : value / from - 1;
}

/** The recorded average is shown if it differs from the computed mean by more than this. */
const TOLERANCE = 0.001;

/** True if the recorded averages cover other steps than the computed mean. */
export function isOtherAverage(mean: StepTimes, recorded: StepTimes | null): boolean {
  return PARTS.some(({ key }) => Math.abs(differs(recorded?.[key] ?? null, mean[key]) ?? 0) > TOLERANCE);
}
