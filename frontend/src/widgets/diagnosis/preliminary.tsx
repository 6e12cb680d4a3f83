import { setReading } from "../../api/client";
import type { ProgressJson, RankStateJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, textOf } from "../../i18n";
import { places } from "../../state/catalog";
import { place } from "../../state/selection";
import { Button } from "../button";
import { RunProgress } from "../progress";

const isUnread = (rank: RankStateJson) => rank.texts.reason?.code === "reason.trace_unread";

/** True while ranks are read, or their traces are left unread. */
export const isPreliminary = (ranks: readonly RankStateJson[]) =>
  ranks.some((rank) => rank.state === "reading" || isUnread(rank));

/** "Still reading: 5 of 8 ranks."; "" once all are read. */
export function readingText(ranks: readonly RankStateJson[]): string {
  const open = ranks.filter(({ state }) => state === "reading").length;
  const count = Math.max(open, place.value?.run.workers.length ?? 0);
  return open > 0 ? t("diagnosis.still", { done: count - open, count }) : "";
}

/** Progress while findings may still change, and the offer to read large traces. */
export function Preliminary({ ranks, jobs }: { ranks: readonly RankStateJson[]; jobs: readonly ProgressJson[] }) {
  if (ranks.length === 0) return null;
  const unread = ranks.filter(isUnread).map((rank) => rank.span);
  const bytes = unread.reduce((sum, span) => sum + (places.value.get(span)?.span.bytes ?? 0), 0);
  const failed = ranks.filter((rank) => rank.state === "failed" || (rank.state === "missing" && rank.reason !== ""));
  const others = failed.filter((rank) => !unread.includes(rank.span));
  const partly = ranks.filter((rank) => rank.state === "ready");
  return (
    <div class="row small">
      {unread.length > 0 && (
        <>
          <strong>{t("diagnosis.preliminary", { count: unread.length })}</strong>
          <Button onClick={() => void setReading(unread, "trace", "read")}>
            {t("diagnosis.read", { size: format.bytes(bytes) })}
          </Button>
        </>
      )}
      {others.length > 0 && (
        <span data-tip={reasonsOf(others)}>{t("diagnosis.without", { count: others.length })}</span>
      )}
      {partly.length > 0 && <span data-tip={reasonsOf(partly)}>{t("diagnosis.partly", { count: partly.length })}</span>}
      <RunProgress jobs={jobs} />
    </div>
  );
}

function reasonsOf(ranks: readonly RankStateJson[]): string {
  return ranks.map((rank) => `${rank.worker}: ${textOf(rank, "reason")}`).join("\n");
}
