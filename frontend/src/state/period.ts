/** The step or the time range that all views show. Without both, they show the whole capture, or its mean step. */

import { params, setParams } from "./params";

/** Parameters of the step, and of the range: "start,end", ns since 1970. Requests have the same names. */
export const STEP = "step";
export const WITHIN = "within";
/** The step of what belongs to no step. */
export const NO_STEP = "null";

export type PeriodKey = typeof STEP | typeof WITHIN;

export interface ChosenPeriod {
  key: PeriodKey;
  value: string;
}

/** What is chosen; null: nothing. A range goes before a step. Subscribes the calling component. */
export function chosenPeriod(): ChosenPeriod | null {
  const { [WITHIN]: range, [STEP]: step } = params.value;
  if (range) return { key: WITHIN, value: range };
  return step ? { key: STEP, value: step } : null;
}

/** The chosen step; "": none. */
export function chosenStep(): string {
  const chosen = chosenPeriod();
  return chosen?.key === STEP ? chosen.value : "";
}

/** Shows a step, or a range, in all views; null: the whole capture. */
export function choosePeriod(key: PeriodKey, value: string | null): void {
  setParams({ [STEP]: null, [WITHIN]: null, [key]: value }, true);
}
