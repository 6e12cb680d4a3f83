import * as format from "../base/format";
import { t } from "../i18n";
import { catalog, places } from "../state/catalog";
import { ended, jobs } from "../state/progress";
import { shareDone, type Totals, totalsOf } from "../state/reading";
import { Popover } from "../widgets/popover";
import { JobList } from "../widgets/progress";

/** Reading progress; opens the list of all jobs. */
export function ReadingChip() {
  const found = catalog.value;
  if (!found) return null;
  const all = [...jobs.value, ...ended.value.values()];
  const totals = totalsOf(all);
  const isGoing = totals.count.reading + totals.count.waiting > 0;
  const isBad = !isGoing && totals.count.failed > 0;
  return (
    <>
      <Popover class={`chip reading-chip ${isBad ? "bad" : ""}`} label={chipText(totals, found.scanning)}>
        {() => (
          <div class="reading-list">
            {all.length === 0 ? <p class="muted">{t("progress.none")}</p> : <JobList jobs={all} />}
          </div>
        )}
      </Popover>
      <span class="sr-only" role="status">
        {phaseText(totals, isGoing)}
      </span>
    </>
  );
}

function chipText(totals: Totals, isScanning: boolean): string {
  const { count } = totals;
  if (count.reading + count.waiting > 0)
    return t("top.reading", { percent: format.percentOfRatio(shareDone(totals), 0) });
  if (count.failed > 0) return t("top.failed", { count: count.failed });
  if (count.cancelled > 0) return t("top.cancelled", { count: count.cancelled });
  if (isScanning) return t("top.scanning");
  const spans = [...places.value.values()].map((item) => item.span);
  const read = spans.filter((span) => span.state === "ready");
  if (read.length === 0) return t("top.new", { count: spans.length });
  const bytes = read.reduce((sum, span) => sum + span.bytes, 0);
  return `✓ ${t("top.ready", { count: read.length, bytes: format.bytes(bytes, 1) })}`;
}

/** Status for screen readers, which only changes with the phase. */
function phaseText({ count }: Totals, isGoing: boolean): string {
  if (isGoing) return t("progress.said.reading");
  if (count.failed > 0) return t("progress.said.failed");
  return t(count.cancelled > 0 ? "progress.said.cancelled" : "progress.said.idle");
}
