/** What the selected slice led to: device tasks, nested slices. */

import { useState } from "preact/hooks";
import type { DescentJson, SliceDetailJson } from "../../../api/types.gen";
import { duration, exactDuration, integer } from "../../../base/format";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { Empty, TextButton } from "../../../widgets";
import type { CollectiveRank, CollectiveTasks } from "../ranks/placement";
import { useRanks } from "../ranks/use_ranks";
import type { TraceSession } from "../session";
import { CsvDownload, CsvLink, SliceSection } from "../slice_list";
import { idsOf } from "./selection";

const TASKS = ["name", "row", "start", "dur", "delay", "queue"];
const COLLECTIVE = ["name", "plane", "source", "target", "start", "dur", "size_bytes", "transport"];
const NESTED = ["name", "start", "dur", "self", "tasks", "device"];

interface Props {
  session: TraceSession;
  detail: SliceDetailJson;
  descent: DescentJson;
}

export function DescentLists({ session, detail, descent }: Props) {
  const { tasks, nested, is_collective: isCollective } = descent;
  const isOnAllRanks = isCollective && session.ranks.all.value.length > 1;
  return (
    <>
      {isOnAllRanks && <CollectiveList session={session} detail={detail} />}
      {tasks.total > 0 && !isOnAllRanks && (
        <SliceSection
          session={session}
          name={t(isCollective ? "trace.descent.collective" : "trace.descent.tasks")}
          notes={<Sum session={session} descent={descent} />}
          csv={<CsvDownload url={session.api.descentCsvUrl(detail.id)} tip="trace.descent.csv" />}
          table={tasks}
          columns={isCollective ? COLLECTIVE : TASKS}
          compared={isCollective ? [] : [["dur", "delay"]]}
          onOpen={() => session.selection.walk.begin(detail.id, idsOf(descent))}
        />
      )}
      {nested.total > 0 && (
        <SliceSection
          session={session}
          name={t("trace.descent.nested")}
          csv={<CsvLink table={nested} name="nested" />}
          table={nested}
          columns={NESTED}
          compared={[["dur", "self", "device"]]}
          isTree
        />
      )}
    </>
  );
}

/** "76 tasks · 5.544 ms device time · 141.164 ms from the first start to the last end". */
function Sum({ session, descent }: Pick<Props, "session" | "descent">) {
  const { tasks, device_ns: device, first, last } = descent;
  if (first === null || last === null) return null;
  const count = t("trace.descent.count", { count: integer(tasks.total) });
  return (
    <span class="muted" data-tip={`${exactDuration(device)}\n${session.shownTime(first)} – ${session.shownTime(last)}`}>
      {count} · {t("trace.descent.device", { time: duration(device) })} ·{" "}
      {t("trace.descent.span", { time: duration(last - first), start: session.shownTime(first) })}
    </span>
  );
}

const RANK_COLUMNS = ["rank", "name", "plane", "source", "target", "start", "dur", "size_bytes", "transport"];

/** The tasks of the selected collective on all ranks of its run. */
function CollectiveList({ session, detail }: Omit<Props, "descent">) {
  useRanks(session); // the offsets of all ranks
  // Again when a rank is loaded or moved.
  const asked = [session.api.collectiveCsvUrl(detail.id), String([...session.lanes.loaded.value.keys()])];
  const ask = (signal: AbortSignal) => session.api.collective(detail.id, signal);
  const { value: found, error } = useRequest(asked, ask, [detail.id]);
  if (error) return <Empty text={t("trace.descent.failed", { message: textOf(error, "message") })} />;
  if (!found) return <Empty text={t("state.loading")} />;
  const { ranks, tasks } = found;
  const ready = ranks.filter(({ state }) => state === "ready").length;
  const notes = (
    <span class="muted">
      {t("trace.collective.ranks", { ready, total: ranks.length })} ·{" "}
      {t("trace.descent.count", { count: integer(tasks.total) })}
    </span>
  );
  return (
    <SliceSection
      session={session}
      name={t("trace.collective.title")}
      notes={notes}
      csv={<CsvDownload url={session.api.collectiveCsvUrl(detail.id)} tip="trace.descent.csv" />}
      table={tasks}
      columns={RANK_COLUMNS}
      onOpen={() => session.selection.walk.begin(detail.id, (tasks.data.id ?? []).map(Number))}
    >
      <OtherRanks session={session} found={found} />
    </SliceSection>
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
