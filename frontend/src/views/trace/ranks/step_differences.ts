/** Steps of two runs compared, each rank with the same rank of the other run. */

import type { ReadonlySignal } from "@preact/signals";
import type { DeviceStepJson, TraceRankJson, TraceRanksJson } from "../../../api/types.gen";
import { signedDecimals, signedDuration } from "../../../base/format";
import { originOf } from "../../../timeline/decode";
import { pairSteps } from "./alignment";
import { isSameRank } from "./choice";
import type { PaintedStep } from "./strip_paint";

/** Smaller differences, as a share of the step of the open run, are not coloured. */
const LEAST_CHANGE = 0.01;

/** A step of a rank and that of the same rank of the other run. */
export interface StepPair {
  /** The rank of the other run. */
  line: TraceRankJson;
  own: DeviceStepJson;
  other: DeviceStepJson;
}

/** Steps without known times are left out. */
export function stepPairs(own: TraceRanksJson, other: TraceRanksJson): StepPair[] {
  return other.lines.flatMap((line) => {
    const pair = own.lines.find((one) => isSameRank(one, line));
    const isKnown = ([one, two]: DeviceStepJson[]) => one?.times.length && two?.times.length;
    const steps = pair ? pairSteps(pair.steps, line.steps).filter(isKnown) : [];
    return steps.map(([one, two]) => ({ line, own: one, other: two }));
  });
}

/** Time of a step, ns. */
export function stepTime({ times }: DeviceStepJson): number {
  return times.reduce((sum, time) => sum + time, 0);
}

export function changeOf(own: number, other: number, whole: number): PaintedStep["change"] {
  if (Math.abs(other - own) < whole * LEAST_CHANGE) return "muted";
  return other > own ? "worse" : "good";
}

/** Where the ranks of both runs are on the page. */
interface Places {
  base: string;
  ranks: {
    base: ReadonlySignal<string>;
    steps: ReadonlySignal<readonly StepPair[]>;
    shiftOf(span: string): number;
  };
}

/** Times of a step of the other run on the page. */
export function placeOf({ ranks, base }: Places, { line, other }: StepPair): { start: number; end: number } {
  const start = other.start + originOf(ranks.base.value, base) + ranks.shiftOf(line.span);
  return { start, end: start + stepTime(other) };
}

/** The compared steps of a rank, if it is of the other run. */
export function stepsOf(page: Places, span: string): PaintedStep[] {
  const pairs = page.ranks.steps.value.filter(({ line }) => line.span === span);
  return pairs.map((pair) => {
    const [own, other] = [stepTime(pair.own), stepTime(pair.other)];
    const share = own > 0 ? ` · ${signedDecimals(((other - own) / own) * 100, 1)} %` : "";
    const text = `${signedDuration(other - own)}${share}`;
    return { ...placeOf(page, pair), change: changeOf(own, other, own), text };
  });
}
