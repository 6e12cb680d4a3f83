/** The tasks of the selected collective on all ranks of its run. */

import { useState } from "preact/hooks";
import type { SliceDetailJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { Empty, TextButton } from "../../../widgets";
import { useRanks } from "../ranks/use_ranks";
import type { CollectiveRank, CollectiveTasks } from "../search/rank_hits";
import type { TraceSession } from "../session";
import { SliceList, SomeRows } from "../slice_list";

const COLUMNS = ["rank", "name", "plane", "source", "target", "start", "dur", "size_bytes", "transport"];

interface Props {
  session: TraceSession;
  detail: SliceDetailJson;
}

export function CollectiveList({ session, detail }: Props) {
  useRanks(session); // the offsets of all ranks
  // Again when a rank is loaded or moved.
  const asked = [session.api.collectiveCsvUrl(detail.id), String([...session.lanes.loaded.value.keys()])];
  const ask = (signal: AbortSignal) => session.api.collective(detail.id, signal);
  const { value: found, error } = useRequest(asked, ask, [detail.id]);
  if (error) return <Empty text={t("trace.descent.failed", { message: textOf(error, "message") })} />;
  if (!found) return <Empty text={t("state.loading")} />;
  const { ranks, tasks } = found;
  const title = t("trace.collective.title");
  const ready = ranks.filter(({ state }) => state === "ready").length;
  return (
    <section>
      <h3 class="trace-sub trace-list-title">
        {title}
        <span class="muted">
          {t("trace.collective.ranks", { ready, total: ranks.length })} ·{" "}
          {t("trace.descent.count", { count: integer(tasks.total) })}
        </span>
        <SomeRows table={tasks} />
        <a class="link" href={session.api.collectiveCsvUrl(detail.id)} download data-tip={t("trace.descent.csv")}>
          CSV ↓
        </a>
      </h3>
      <OtherRanks session={session} found={found} />
      <SliceList
        session={session}
        name={title}
        table={{ ...tasks, total: tasks.rows }}
        columns={COLUMNS}
        onOpen={() => session.selection.walk.begin(detail.id, (tasks.data.id ?? []).map(Number))}
      />
    </section>
  );
}

/** Why the list lacks ranks, and what reads them. */
function OtherRanks({ session, found: { ranks, isMatched } }: { session: TraceSession; found: CollectiveTasks }) {
  const { lanes } = session;
  const [failed, setFailed] = useState<ReadonlySet<number>>(new Set());
  if (!isMatched) return <p class="muted">{t("trace.collective.unmatched")}</p>;
  const loading = new Set([...lanes.loading.value].map((span) => lanes.numberOf(span)));
  const names = (chosen: readonly CollectiveRank[]) => chosen.map(({ lane }) => lanes.rankOf(lane)).join(", ");
  const of = (...states: CollectiveRank["state"][]) => ranks.filter(({ state }) => states.includes(state));
  const unread = of("unread", "stale").filter(({ lane }) => !failed.has(lane));
  const waiting = unread.filter(({ lane }) => !loading.has(lane));
  const read = async ({ lane }: CollectiveRank) => {
    if (!(await lanes.load(lane))) setFailed((before) => new Set([...before, lane]));
  };
  const lines = [
    { text: "trace.collective.unread", ranks: waiting },
    { text: "trace.collective.reading", ranks: unread.filter(({ lane }) => loading.has(lane)) },
    { text: "trace.collective.failed", ranks: ranks.filter(({ lane }) => failed.has(lane)) },
    { text: "trace.collective.absent", ranks: of("absent") },
    { text: "trace.collective.unasked", ranks: of("unasked") },
  ] as const;
  return (
    <>
      {lines.map(
        (line) =>
          line.ranks.length > 0 && (
            <p key={line.text} class="muted">
              {t(line.text, { ranks: names(line.ranks) })}{" "}
              {line.ranks === waiting && (
                <TextButton onClick={() => void Promise.all(waiting.map(read))}>
                  {t("trace.collective.read")}
                </TextButton>
              )}
            </p>
          ),
      )}
    </>
  );
}
