/** Texts of offsets. */

import { t, tOf } from "../../../i18n";
import { duration } from "../format";
import type { RanksState } from "./ranks_state";

/** "offset −8.120 µs ± 1.314 µs"; "" for a rank whose offset is 0 without an estimate. */
export function shiftText({ shifts, byHand, period }: RanksState, span: string): string {
  const shift = shifts.value.get(span);
  if (!shift) return "";
  if (shift.by === "unknown" && !byHand.value.get(span)) return t("trace.align.unknown");
  if (shift.by === "run") return tOf(period, "trace.versus.aligned");
  if (shift.error === null) return shift.ns === 0 ? "" : t("trace.align.offset", { offset: signed(shift.ns) });
  return t("trace.align.offset_error", { offset: signed(shift.ns), error: duration(shift.error) });
}

function signed(ns: number): string {
  return ns > 0 ? `+${duration(ns)}` : duration(ns);
}
