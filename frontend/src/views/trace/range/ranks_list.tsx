/** What each shown rank did in the range. */

import { useEffect, useState } from "preact/hooks";
import { getJson } from "../../../api/client";
import type { CountersJson, PARTS, RankRangeJson, RankRangesJson, TableJson } from "../../../api/types.gen";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { findTrack } from "../../../timeline/rows";
import type { Area, Range } from "../../../timeline/scene";
import { DataTable, Empty, type PageColumn, pageTable } from "../../../widgets";
import { partTitle } from "../../../widgets/parts";
import type { RankPlace } from "../ranks/choice";
import { askOf } from "../ranks/placement";
import type { TraceSession } from "../session";
import { CsvLink, rowNames } from "../slice_list";

/** Ranks of one request. */
const AT_ONCE = 64;
/** Time until ranks that are being read are requested again, ms. */
const READING_MS = 700;

export function RanksList({ session, area }: { session: TraceSession; area: Area }) {
  const [round, setRound] = useState(0);
  const { shifts } = session.ranks;
  const shown = placesIn(session, area);
  const ask = (signal: AbortSignal) => requestRanks(session, shown, area, signal);
  const { value, error } = useRequest([area, session.ranks.shown.value, shifts.value, round], ask, []);
  useEffect(() => {
    if (!value?.ranks.some(({ state }) => state === "reading")) return;
    const timer = setTimeout(() => setRound(round + 1), READING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  if (error) return <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />;
  if (!value) return <Empty text={t("state.loading")} />;
  const table = tableOf(session, value);
  const unread = value.ranks.length - table.rows;
  return (
    <>
      <CsvLink table={table} name="ranks" />
      {unread > 0 && <span class="muted"> {t("trace.area.ranks.unread", { count: unread })}</span>}
      <DataTable
        table={table}
        hasTools={false}
        name={t("trace.area.by.ranks")}
        compared={[["p50", "p95"]]}
        onOpen={(row) => {
          const place = shown.find((one) => session.lanes.nameOf(one) === row.get("rank"));
          if (place) session.openRank(place);
        }}
      />
    </>
  );
}

/** The shown ranks that a range covers. */
function placesIn({ ranks, lanes }: TraceSession, area: Area): RankPlace[] {
  return ranks.shown.value.filter(({ span }) => area.lanes?.includes(lanes.numberOf(span)) !== false);
}

/** What ranks did in a range. */
export async function requestRanks(
  session: TraceSession,
  places: readonly RankPlace[],
  { start, end }: Range,
  signal: AbortSignal,
): Promise<RankRangesJson> {
  const spans = places.map((place) => place.span);
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
  const titleOf = (id: string) => partTitle("budget", id as keyof (typeof PARTS)["budget"]);
  const times = parts.flatMap((id, part): PageColumn<RankRangeJson>[] => {
    if (!rows.some((row) => row.times[part])) return [];
    return [[id, "duration", titleOf(id), "", (row) => row.times[part] ?? null]];
  });
  return pageTable("trace.ranks", rows, [
    ["rank", "text", t("trace.versus.column.rank"), "", nameOf],
    ...times,
    ["waits_for", "text", t("trace.area.waits_for"), t("trace.area.waits_for.tip"), lateRank],
    ["kernels", "int", t("trace.area.kernels"), t("trace.area.kernels.tip")],
    ["p50", "duration", "p50", t("trace.area.p50.tip")],
    ["p95", "duration", "p95", t("trace.area.p95.tip")],
    ["longest", "text", t("trace.area.longest")],
  ]);
}

const lateRank = ({ waits_for }: RankRangeJson): string | null =>
  waits_for === null ? null : t("trace.area.rank", { rank: waits_for });

/** Least, mean and largest value of each counter in the range. */
export function CountersList({ session, area }: { session: TraceSession; area: Area }) {
  const ask = (signal: AbortSignal) => session.api.counters(area, signal);
  const { value, error } = useRequest([area, session.reading.value], ask);
  if (error) return <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />;
  if (!value) return <Empty text={t("state.loading")} />;
  const table = countersTable(session, value);
  if (table.rows === 0) return <Empty text={t("trace.area.counters.none")} />;
  return (
    <>
      <CsvLink table={table} name="counters" />
      <DataTable table={table} hasTools={false} name={t("trace.area.counters")} />
    </>
  );
}

/** Counters without a value in the range are left out. */
function countersTable(session: TraceSession, found: CountersJson): TableJson {
  const series = found.series.filter((one) => one.min !== null);
  const rows = rowNames(
    session,
    series.map((one) => one.track),
  );
  const unitOf = (track: number) => findTrack(session.data.processes, track)?.thread.unit ?? "";
  return pageTable("trace.range_counters", series, [
    ["row", "text", t("col.row"), "", (_, at) => rows[at]],
    ["series", "text", t("col.series"), t("trace.area.series.tip")],
    ["unit", "text", t("col.unit"), "", ({ track }) => unitOf(track)],
    ["min", "float", t("col.min")],
    ["mean", "float", t("col.mean"), t("trace.area.mean.tip")],
    ["max", "float", t("col.max")],
  ]);
}
