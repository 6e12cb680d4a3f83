/** Statistics of the dragged range, from the raw slices. */

import { useMemo } from "preact/hooks";
import type { TableJson, ViewId } from "../../../api/types.gen";
import { absoluteNs, duration, exactDuration, integer } from "../../../base/format";
import { lang, t, textOf, viewTitle } from "../../../i18n";
import { choosePeriod, STEP, WITHIN } from "../../../state/period";
import { openView } from "../../../state/selection";
import { useRequest } from "../../../state/use_request";
import type { Area } from "../../../timeline/scene";
import { Cut, DataTable, Empty, Help, Segments, TextButton } from "../../../widgets";
import type { Grouping } from "../api";
import { zoomToArea } from "../help/keyboard";
import type { MembersOf } from "../ranks/placement";
import type { TraceSession } from "../session";
import { CsvDownload, rowColumns, rowNames, SliceList } from "../slice_list";
import { Explanation } from "./explanation";
import { CountersList, RanksList } from "./ranks_list";

const FIGURES = ["clipped_self", "share", "count", "total", "avg", "min", "p50", "p95", "max"];
const COLUMNS: Record<Grouping, string[]> = {
  name_row: ["name", ...FIGURES, "row"],
  name: ["name", ...FIGURES],
  row: ["row", ...FIGURES],
  rank: ["rank", ...FIGURES],
};
/** Views that can show a range alone. */
const VIEWS: readonly ViewId[] = ["kernel", "operator", "memory", "distributed"];
const SHOWN = ["name_row", "name", "row", "rank", "counters", "ranks"] as const;

export function AreaPanel({ session }: { session: TraceSession }) {
  const area = session.area.area.value;
  const stats = session.area.stats.value;
  const error = session.area.error.value;
  const by = session.area.by.value;
  const ranks = session.ranks.shown.value;
  const list = ranks.length === 0 && session.area.list.value === "ranks" ? "slices" : session.area.list.value;
  const members = session.area.members.value;
  const table = useMemo(() => stats && withRows(session, stats.table), [stats, lang.value]);
  if (!area) return <Empty text={t("trace.panel.none")} />;
  const strips = area.lanes && t("trace.area.of_ranks", { count: area.lanes.length });
  const rows = strips ?? (area.tracks ? t("trace.area.rows", { count: area.tracks.length }) : t("trace.area.all"));
  const { rows: named = 0, total = 0 } = stats?.table ?? {};
  // The server only returns the names with the largest totals.
  const some = named < total && t("trace.area.some", { shown: integer(named), total: integer(total) });
  const counted = stats?.parts.length ?? 1;
  const hasRows = session.api.statsKey(area) !== "";
  const isOffered = (id: (typeof SHOWN)[number]) =>
    !hasRows && area.lanes
      ? id === "ranks"
      : id === "rank"
        ? counted > 1 || by === "rank"
        : id !== "ranks" || ranks.length > 0;
  return (
    <div>
      <div class="trace-title wraps">
        <Cut class="muted">
          {rows}
          {counted > 1 && ` · ${t("trace.area.of_ranks", { count: counted })}`}
          {stats && ` · ${t("trace.area.slices", { count: integer(stats.slices) })}`}
          {some && ` · ${some}`}
        </Cut>
        <Help text={t("trace.area.about")} />
        <Segments
          label={t("trace.area.by")}
          value={list === "slices" ? by : list}
          options={SHOWN.filter(isOffered).map((id) => ({
            id,
            label: t(`trace.area.by.${id}`),
          }))}
          onChange={(id) => void session.area.show(id)}
        />
        <div class="trace-actions">
          {VIEWS.map((view) => (
            <TextButton
              key={view}
              tip={t("trace.area.use.tip")}
              onClick={() => openView(view, { [STEP]: null, [WITHIN]: epochRange(session, area) })}
            >
              {t("trace.area.use", { view: viewTitle(view) })}
            </TextButton>
          ))}
          <TextButton
            tip={t("trace.area.everywhere.tip")}
            onClick={() => choosePeriod(WITHIN, epochRange(session, area))}
          >
            {t("trace.area.everywhere")}
          </TextButton>
          {(area.tracks || area.lanes) && (
            <TextButton onClick={() => void session.setArea({ start: area.start, end: area.end, tracks: null })}>
              {t("trace.area.whole")}
            </TextButton>
          )}
          <TextButton onClick={() => zoomToArea(session)}>{t("trace.area.zoom")}</TextButton>
          <TextButton onClick={() => session.marks.markHere()}>{t("trace.area.mark")}</TextButton>
          <TextButton onClick={() => void session.setArea(null)}>{t("trace.area.clear")}</TextButton>
          {list === "slices" && <CsvDownload url={session.api.csvUrl(area, by)} tip="trace.area.csv" />}
        </div>
      </div>
      <Explanation session={session} area={area} />
      {error && <Empty text={t("trace.area.failed", { message: error })} />}
      {!stats && !error && list !== "ranks" && <Empty text={t("state.loading")} />}
      {members && <MembersList session={session} area={area} of={members} />}
      {table && !members && list === "slices" && (
        <DataTable
          table={table}
          hasTools={false}
          columns={COLUMNS[by]}
          compared={[["avg", "min", "p50", "p95", "max"]]}
          onOpen={(row) => {
            const [name, track, lane] = [row.get("name"), row.get("track"), row.get("part")];
            session.area.members.value = {
              name: String(name ?? ""),
              track: typeof track === "number" ? track : null,
              lane: typeof lane === "number" ? lane : null,
              count: Number(row.get("count")),
            };
          }}
        />
      )}
      {list === "counters" && <CountersList session={session} area={area} />}
      {list === "ranks" && <RanksList session={session} area={area} />}
    </div>
  );
}

/** Length and start of the range. */
export function AreaTitle({ session }: { session: TraceSession }) {
  const area = session.area.area.value;
  if (!area) return null;
  const length = area.end - area.start;
  const text = t("trace.area.title", { duration: duration(length), start: session.shownTime(area.start) });
  return (
    <h2 class="trace-panel-range ellipsis" data-tip={exactDuration(length)}>
      {text}
    </h2>
  );
}

/** A range as "start,end", whole ns since 1970. */
function epochRange(session: TraceSession, { start, end }: Area): string {
  return [Math.floor(start), Math.ceil(end)].map((time) => absoluteNs(session.base, time)).join(",");
}

/** With names of rows and ranks. */
function withRows(session: TraceSession, table: TableJson): TableJson {
  const { track = [], part = [] } = table.data;
  const rank = part.map((lane) => session.lanes.rankOf(Number(lane)));
  return {
    ...table,
    id: "trace.range",
    total: table.rows, // only loaded rows can be paged; the title says if there are more
    columns: [...table.columns, ...rowColumns()],
    data: { ...table.data, row: rowNames(session, track), rank },
  };
}

const SLICE_FIGURES = ["start", "dur", "self", "clipped"];
const FIRST = { sort: "dur", desc: 1, limit: 200 };

/** The slices behind a row of the statistics. */
function MembersList({ session, area, of }: { session: TraceSession; area: Area; of: MembersOf }) {
  const stats = session.area.stats.value;
  const isOfOneRank = of.track !== null || of.lane !== null || (stats?.parts.length ?? 1) === 1;
  const ask = (signal: AbortSignal) => session.api.members(area, of, FIRST, signal);
  const { value: found, error } = useRequest([area, of, stats], ask);
  const rank = of.lane === null || of.track !== null ? "" : session.lanes.rankOf(of.lane);
  const name = [of.name, rank, ...(of.track === null ? [] : rowNames(session, [of.track]))].filter(Boolean).join(" · ");
  const back = () => (session.area.members.value = null);
  return (
    <section>
      <h3 class="small strong trace-sub trace-list-title">
        <TextButton onClick={back}>‹ {t("trace.area.back")}</TextButton>
        {name}
        {found && (
          <span class="muted">
            {found.total < of.count
              ? t("trace.descent.some", { shown: integer(found.total), total: integer(of.count) })
              : t("trace.area.slices", { count: integer(of.count) })}
          </span>
        )}
        {of.name && (
          <TextButton onClick={() => void session.finder.find(of.name, true)}>{t("trace.slice.same")}</TextButton>
        )}
        <CsvDownload url={session.api.membersCsvUrl(area, of)} tip="trace.area.members.csv" />
      </h3>
      {error && <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />}
      {!found && !error && <Empty text={t("state.loading")} />}
      {found && (
        <SliceList
          session={session}
          name={name}
          table={found}
          columns={[
            ...(of.name && of.track === null ? [] : ["name"]),
            ...(of.track === null ? ["row"] : []),
            ...(isOfOneRank ? [] : ["rank"]),
            ...SLICE_FIGURES,
          ]}
          compared={[["dur", "self", "clipped"]]}
          fetchRows={(query, signal) => session.api.members(area, of, query, signal)}
        />
      )}
    </section>
  );
}
