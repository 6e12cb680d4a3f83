/** What each shown rank did in the range. */

import { useEffect, useState } from "preact/hooks";
import { getJson } from "../../../api/client";
import type { ColumnJson, PARTS, RankRangeJson, RankRangesJson, TableJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import type { Area } from "../../../timeline/scene";
import { DataTable, Empty, pageColumn, pageTable } from "../../../widgets";
import { partTitle } from "../../../widgets/parts";
import { askOf } from "../ask";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { CsvLink } from "../slice_list";

/** Ranks of one request. */
const AT_ONCE = 64;
/** Time until ranks that are being read are requested again, ms. */
const READING_MS = 700;

export function RanksList({ session, area }: { session: TraceSession; area: Area }) {
  const [found, setFound] = useState<RankRangesJson | null>(null);
  const [error, setError] = useState("");
  const [round, setRound] = useState(0);
  const [shown, shifts] = [session.ranks.shown.value, session.ranks.shifts.value];
  useEffect(() => {
    setError("");
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    request(session, area, abort.signal).then(
      (ranges) => {
        setFound(ranges);
        if (ranges.ranks.some(({ state }) => state === "reading"))
          timer = setTimeout(() => setRound(round + 1), READING_MS);
      },
      (reason) => !abort.signal.aborted && setError(messageOf(reason)),
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [area, shown, shifts, round]);
  if (!found || error) return <Empty text={error ? t("trace.area.failed", { message: error }) : t("state.loading")} />;
  const table = tableOf(session, found);
  const unread = found.ranks.length - table.rows;
  return (
    <>
      <CsvLink table={table} name="ranks" />
      {unread > 0 && <span class="muted"> {t("trace.area.ranks.unread", { count: unread })}</span>}
      <DataTable
        table={table}
        query={{}}
        baseNs="0"
        hasTools={false}
        name={t("trace.area.by.ranks")}
        compared={[["p50", "p95"]]}
        columns={table.columns.map(({ key }) => key)}
        onOpen={(row) => {
          const place = session.ranks.shown.peek().find((one) => session.lanes.nameOf(one) === row.get("rank"));
          if (place) session.openRank(place);
        }}
      />
    </>
  );
}

async function request(session: TraceSession, { start, end }: Area, signal: AbortSignal): Promise<RankRangesJson> {
  const spans = session.ranks.shown.peek().map((place) => place.span);
  const chunks = Array.from({ length: Math.ceil(spans.length / AT_ONCE) }, (_, at) =>
    spans.slice(at * AT_ONCE, (at + 1) * AT_ONCE),
  );
  const answers = await Promise.all(
    chunks.map((chunk) =>
      getJson<RankRangesJson>(
        ...askOf(
          "ranks",
          chunk.map((span) => ({ span, zero: session.ranks.pageZeroOf(span, session.base) })),
          { t0: Math.floor(start), t1: Math.ceil(end) },
        ),
        signal,
      ),
    ),
  );
  return { parts: answers[0]?.parts ?? [], ranks: answers.flatMap(({ ranks }) => ranks) };
}

/** The ranks that are read; parts that no rank has are left out. */
function tableOf(session: TraceSession, { parts, ranks }: RankRangesJson): TableJson {
  const rows = ranks.filter(({ state }) => state === "ready");
  const places = new Map(session.ranks.all.peek().map((place) => [place.span, place]));
  const nameOf = ({ span }: RankRangeJson) => {
    const place = places.get(span);
    return place ? session.lanes.nameOf(place) : span;
  };
  const shown = parts.map((id, at) => ({ id, at })).filter(({ at }) => rows.some(({ times }) => times[at]));
  const titleOf = (id: string) => partTitle("budget", id as keyof (typeof PARTS)["budget"]);
  const afterParts: [ColumnJson, (row: RankRangeJson) => unknown][] = [
    [pageColumn("waits_for", "text", t("trace.area.waits_for"), t("trace.area.waits_for.tip")), lateRank],
    [pageColumn("kernels", "int", t("trace.area.kernels"), t("trace.area.kernels.tip")), ({ kernels }) => kernels],
    [pageColumn("p50", "duration", "p50", t("trace.area.p50.tip")), ({ p50 }) => p50],
    [pageColumn("p95", "duration", "p95", t("trace.area.p95.tip")), ({ p95 }) => p95],
    [pageColumn("longest", "text", t("trace.area.longest")), ({ longest }) => longest],
  ];
  return pageTable(
    "trace.ranks",
    [
      pageColumn("rank", "text", t("trace.versus.column.rank")),
      ...shown.map(({ id }) => pageColumn(id, "duration", titleOf(id))),
      ...afterParts.map(([one]) => one),
    ],
    {
      rank: rows.map(nameOf),
      ...Object.fromEntries(shown.map(({ id, at }) => [id, rows.map(({ times }) => times[at] ?? null)])),
      ...Object.fromEntries(afterParts.map(([{ key }, pick]) => [key, rows.map(pick)])),
    } as TableJson["data"],
    rows.length,
  );
}

const lateRank = ({ waits_for }: RankRangeJson): string | null =>
  waits_for === null ? null : t("trace.area.rank", { rank: waits_for });
