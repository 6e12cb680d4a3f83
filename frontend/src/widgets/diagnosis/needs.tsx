import type { LedgerEntryJson, LedgerJson } from "../../api/types.gen";
import { place } from "../../state/selection";
import { message } from "../parts";
import { withCode } from "./finding";

/** Smaller entries do not ask for data. */
const LEAST_SHARE = 0.01;

/** What would decide the entries that the data at hand leave open. */
export function Needs({ ledger: { entries, window_ns: window } }: { ledger: LedgerJson }) {
  const isGpu = place.value?.span.format === "kineto";
  const open = entries.filter(({ needs, ns, high_ns: high }) => needs && Math.max(ns, high) >= LEAST_SHARE * window);
  const lines = new Map(open.map((one) => needOf(one, isGpu)).map((line) => [line.join(), line]));
  if (lines.size === 0) return null;
  return (
    <table class="ledger needs">
      <thead>
        <tr>
          {(["decide", "missing", "how"] as const).map((column) => (
            <th key={column} scope="col">
              {message(`ledger.need.column.${column}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...lines].map(([key, [decide = "", missing = "", how = ""]]) => (
          <tr key={key}>
            <td>{decide}</td>
            <td>{withCode(missing)}</td>
            <td>{withCode(how)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** To decide, missing, how to record it. */
function needOf({ entry, needs, culprit }: LedgerEntryJson, isGpu: boolean): string[] {
  const rank = culprit === null ? message("ledger.some_rank") : `rank ${culprit}`;
  const isIdle = entry === "idle" || entry === "unexplained";
  if (needs === "kernels") {
    return [message("ledger.need.inside"), message("ledger.need.kernels"), message("ledger.need.kernels.how")];
  }
  const decide = message(isIdle ? "ledger.need.idle" : "ledger.need.waiting");
  if (needs === "rank") return [message("ledger.need.late", { rank }), rank, message("ledger.need.rank.how", { rank })];
  if (needs === "trace" && !isIdle && !isGpu) {
    return [decide, message("ledger.need.trace.waiting"), message("ledger.need.trace.how")];
  }
  if (isGpu && needs === "trace") return [decide, message("verdict.why.gpu"), message("ledger.need.gpu.how")];
  return [decide, message(`ledger.need.${needs}`), message(`ledger.need.${needs}.how`)];
}
