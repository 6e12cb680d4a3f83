/** The panel below the rows, or beside them: details of a slice, statistics of a range, hits of the search, marks. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { KindHitsJson, PARTS, TableJson } from "../../api/types.gen";
import { integer } from "../../base/format";
import { type Period, t, textOf, tOf } from "../../i18n";
import { useRequest } from "../../state/use_request";
import { Button, DataTable, Empty, type PageColumn, pageTable, Segments } from "../../widgets";
import { partTitle } from "../../widgets/parts";
import { messageOf } from "./format";
import { MarksPanel } from "./marks/marks_panel";
import { AreaPanel, AreaTitle } from "./range/area_panel";
import { PartPanel } from "./ranks/part_panel";
import { inRanks, unsearchedTip } from "./ranks/placement";
import type { RanksState } from "./ranks/ranks_state";
import { changeOf, placeOf, type StepPair, stepTime } from "./ranks/step_differences";
import { SlicePanel } from "./selection/slice_panel";
import type { TraceSession } from "./session";
import { CsvDownload, CsvLink, SliceList, SomeRows } from "./slice_list";
import { Splitter, useStoredSize } from "./splitter";
import type { PanelId } from "./timeline_port";

const HEIGHT = 190;
const LEAST = 96;
const WIDTH = 360;
const LEAST_WIDTH = 260;

/** `isBeside`: at the right of the rows. */
export function Panel({ session, isBeside }: { session: TraceSession; isBeside: boolean }) {
  const [height, setHeight] = useStoredSize("trace.panel", HEIGHT);
  const [width, setWidth] = useStoredSize("trace.panel.width", WIDTH);
  const isOpen = session.panelOpen.value;
  const tabs = tabsOf(session);
  const shown = tabs.some((tab) => tab.id === session.panel.value) ? session.panel.value : "slice";
  // Without content, the hint needs one line only.
  const isHint = shown === "slice" && session.selection.selected.value === null;
  const toggle = () => (session.panelOpen.value = !isOpen);
  return (
    <section class="trace-panel card" style={isBeside ? { width: `${Math.min(width, mostWidth())}px` } : {}}>
      {isBeside && (
        <Splitter
          class="trace-handle beside"
          label={t("trace.panel.width")}
          size={width}
          least={LEAST_WIDTH}
          most={mostWidth()}
          grows="left"
          onResize={setWidth}
        />
      )}
      {isOpen && !isBeside && !isHint && (
        <Splitter
          class="trace-handle"
          label={t("trace.panel.height")}
          size={height}
          least={LEAST}
          most={mostHeight()}
          grows="up"
          onResize={setHeight}
        />
      )}
      <div class="trace-panel-head">
        <Segments
          look="trace-tabs"
          label={t("trace.panel")}
          value={shown}
          options={tabs}
          onChange={(id) => session.openPanel(id)}
        />
        {shown === "area" && <AreaTitle session={session} />}
        <Button
          look="control plain"
          name={t(isOpen ? "trace.panel.hide" : "trace.panel.show")}
          expanded={isOpen}
          onClick={toggle}
        >
          {isBeside ? "▸" : isOpen ? "▾" : "▴"}
        </Button>
      </div>
      {isOpen && (
        <div
          class="trace-panel-body"
          role="tabpanel"
          aria-label={t(`trace.panel.${shown}`)}
          style={isBeside ? {} : { height: isHint ? "auto" : `${height}px` }}
        >
          {content(session, shown)}
        </div>
      )}
    </section>
  );
}

interface Tab {
  id: PanelId;
  label: ComponentChildren;
}

function tabsOf(session: TraceSession): Tab[] {
  const tabs = [tab("slice", null)];
  if (session.part.value) tabs.push(tab("rank", null));
  if (session.area.area.value) tabs.push(tab("area", session.area.stats.value?.slices ?? null));
  if (session.search.text.value) tabs.push(tab("hits", session.search.total.value));
  const marks = session.marks.all.value.length;
  if (marks > 0) tabs.push(tab("marks", marks));
  if (session.ranks.steps.value.length > 0) tabs.push(tab("steps", null, session.ranks.period));
  return tabs;
}

/** `count` null: unknown or hidden. */
function tab(id: PanelId, count: number | null, period: Period = "step"): Tab {
  const note = count !== null && <span class="muted"> {integer(count)}</span>;
  return {
    id,
    label: (
      <>
        {tOf(period, `trace.panel.${id}`)}
        {note}
      </>
    ),
  };
}

function content(session: TraceSession, shown: PanelId): ComponentChildren {
  if (shown === "rank") return <PartPanel session={session} />;
  if (shown === "area") return <AreaPanel session={session} />;
  if (shown === "hits") return <HitsPanel session={session} />;
  if (shown === "marks") return <MarksPanel session={session} />;
  if (shown === "steps") return <StepsPanel session={session} />;
  return <SlicePanel session={session} />;
}

/** Keeps some rows visible. */
function mostHeight(): number {
  return Math.max(LEAST, window.innerHeight - 260);
}

/** Keeps most of the width for the rows. */
function mostWidth(): number {
  return Math.max(LEAST_WIDTH, window.innerWidth / 2);
}

const COLUMNS = ["name", "start", "dur", "self", "row"];
/** The slowest first. */
const FIRST = { sort: "dur", desc: 1, limit: 200 };

/** All hits of the search in all ranks on the page, sorted by the server. */
function HitsPanel({ session }: { session: TraceSession }) {
  const { search, api } = session;
  const text = search.text.value;
  const total = search.total.value;
  const ranks = search.ranks.value;
  const columns = ranks.length > 1 ? ["name", "rank", ...COLUMNS.slice(1)] : COLUMNS;
  const kinds = search.kinds.value;
  const [wanted, setWanted] = useState<KindHitsJson["kind"] | null>(null);
  const kind = kinds.find((one) => one.kind === wanted)?.kind ?? (kinds.length > 1 ? (kinds[0]?.kind ?? null) : null);
  const ask = (signal: AbortSignal) => api.hits(text, kind, FIRST, signal);
  const isFound = total > 0 && !search.busy.value;
  const { value: found, error } = useRequest([text, kind, total, ranks, session.reading.value], isFound ? ask : null);
  if (search.error.value) return <Empty text={messageOf(search.error.value)} />;
  if (search.busy.value) return <Empty text={t("state.loading")} />;
  if (total === 0) return <Empty text={t("trace.search.none")} />;
  return (
    <div>
      <div class="trace-title">
        <h2>{text}</h2>
        <span class="muted" data-tip={unsearchedTip(ranks)}>
          {inRanks(t("trace.search.total", { total: integer(total) }), ranks)}
        </span>
        {kinds.length > 1 && (
          <Segments
            label={t("trace.search.kinds")}
            value={kind ?? ""}
            options={kinds.map((one) => ({
              id: one.kind,
              label: `${t(`trace.kind.${one.kind}`)} ${integer(one.total)}`,
            }))}
            onChange={(id) => setWanted(id as KindHitsJson["kind"])}
          />
        )}
        {found && kinds.length < 2 && <SomeRows rows={found.total} total={total} />}
        <span class="grow" />
        <CsvDownload url={api.hitsCsvUrl(text, kind)} tip="trace.area.members.csv" />
      </div>
      {error && <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />}
      {!found && !error && <Empty text={t("state.loading")} />}
      {found && (
        <SliceList
          session={session}
          name="found"
          table={found}
          columns={columns}
          compared={[["dur", "self"]]}
          fetchRows={(query, signal) => api.hits(text, kind, query, signal)}
          onOpen={(id) => search.openSlice(id)}
        />
      )}
    </div>
  );
}

/** The steps of two runs, each rank with the same rank of the other run. */
function StepsPanel({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const pairs = ranks.steps.value;
  const table = useMemo(() => tableOf(ranks), [pairs]);
  const coloured = table.columns.flatMap(({ key }) => (isDifference(key) ? [key] : []));
  const cell = Object.fromEntries(
    coloured.map((key) => [
      key,
      (row: { get: (key: string) => unknown }, text: string) => {
        const difference = Number(row.get(key));
        const change = changeOf(0, difference, Number(row.get("own")));
        return <span class={change === "muted" ? "" : change}>{difference > 0 ? `+${text}` : text}</span>;
      },
    ]),
  );
  return (
    <div>
      <div class="trace-title wraps">
        <span class="muted">{tOf(ranks.period, "trace.versus.about", { run: ranks.otherRun.value?.label ?? "" })}</span>
        <div class="trace-actions">
          <CsvLink table={table} name="steps" />
        </div>
      </div>
      <DataTable
        table={table}
        hasTools={false}
        name={tOf(ranks.period, "trace.panel.steps")}
        compared={[["own", "other", ...coloured]]}
        cell={cell}
        onOpen={(row) => {
          const found = pairs[Number(row.get("number")) - 1];
          if (found) session.engine?.goTo(placeOf(session, found), MARGIN);
        }}
        columns={table.columns.flatMap(({ key }) => (key === "number" ? [] : [key]))}
      />
    </div>
  );
}

/** Margin beside the step that is shown, as a share. */
const MARGIN = 0.05;

const isDifference = (key: string): boolean => key.startsWith("difference");

function tableOf({ steps, data, period }: RanksState): TableJson {
  const pairs = steps.value;
  const titleOf = (id: string) => partTitle("budget", id as keyof (typeof PARTS)["budget"]);
  const parts = (data.value?.parts ?? []).flatMap((id, part): PageColumn<StepPair>[] => {
    const timeOf = ({ times }: StepPair["own"]) => times[part] ?? 0;
    if (!pairs.some(({ own, other }) => timeOf(own) + timeOf(other) > 0)) return [];
    return [[`difference_${id}`, "duration", titleOf(id), "", ({ own, other }) => timeOf(other) - timeOf(own)]];
  });
  const rankOf = ({ line }: StepPair) => (line.rank === null ? line.worker : `rank ${line.rank}`);
  const stepOf = ({ own, other }: StepPair) => (own.step === other.step ? own.step : `${own.step} / ${other.step}`);
  const difference = ({ own, other }: StepPair) => stepTime(other) - stepTime(own);
  return pageTable("trace.steps", pairs, [
    ["number", "int", "", "", (_, at) => at + 1],
    ["rank", "text", t("trace.versus.column.rank"), "", rankOf],
    ["step", "text", tOf(period, "step.label"), "", stepOf],
    ["own", "duration", t("trace.versus.column.own"), "", ({ own }) => stepTime(own)],
    ["other", "duration", t("trace.versus.column.other"), "", ({ other }) => stepTime(other)],
    ["difference", "duration", t("trace.versus.column.difference"), "", difference],
    ...parts,
  ]);
}
