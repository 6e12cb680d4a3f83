import { type CauseTime, PARTS } from "../../api/types.gen";
import { t } from "../../i18n";
import type { BarPart } from "../../widgets";
import { partColor, partTitle } from "../../widgets/parts";

export type Cause = CauseTime["cause"];

export const causeColor = (cause: unknown): string => partColor("idle", isCause(cause) ? cause : "unknown");

const isCause = (cause: unknown): cause is Cause => typeof cause === "string" && cause in PARTS.idle;

/** Name of a cause; the id of one that this page does not know. */
export function causeName(cause: unknown): string {
  return isCause(cause) ? partTitle("idle", cause) : String(cause ?? "");
}

/** Idle time by cause, of all launches. */
export function partsOf(times: readonly CauseTime[]): BarPart[] {
  const sums = new Map<Cause, number>();
  for (const { cause, time_ns: time } of times) sums.set(cause, (sums.get(cause) ?? 0) + time);
  return [...sums].map(([cause, value]) => ({
    id: cause,
    label: causeName(cause),
    help: t(`idle.cause.${cause}.help`),
    value,
    color: causeColor(cause),
  }));
}

/** Idle time whose launch was late, in time or unknown, ns. */
export function launchSum(times: readonly CauseTime[], launch: CauseTime["launch"]): number {
  return times.reduce((sum, one) => sum + (one.launch === launch ? one.time_ns : 0), 0);
}
