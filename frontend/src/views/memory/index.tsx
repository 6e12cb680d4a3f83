import type { ColumnJson, MemoryJson, MemoryPeakJson, TableJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { useAccepted, useView } from "../../state/use_view";
import {
  Card,
  DataTable,
  Empty,
  MissingList,
  pageColumn,
  pageTable,
  RangeChip,
  Segments,
  Select,
  ViewFrame,
  WITHIN,
} from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { Allocations } from "./allocations";
import type { Marker } from "./chart";
import { Curves } from "./curves";
import { momentOf, momentParam, setMoment } from "./live";
import css from "./memory.css?inline";
import { componentSeries, METRICS, type Metric, moduleSeries, operatorSeries, peakOf, timeRange } from "./series";
import { formatRange, parseRange, type Range, rangeWithin, useDetail } from "./zoom";

addStyle(css);

type Tab = "operators" | "components" | "modules";
const TABS: readonly Tab[] = ["operators", "components", "modules"];
/** Number of modules with a line; the table has all of them. */
const MODULE_LINES = 10;

/** Memory of the allocators, the components and the CANN modules over time. */
function MemoryView({ selection }: ViewProps) {
  const device = param("m.device");
  const within = param(WITHIN);
  const view = useView<MemoryJson>("memory", { span: selection.span, device, within });
  useAccepted(view, WITHIN, "m.device");
  return (
    <>
      <RangeChip view={view} about={t("range.memory")} />
      <ViewFrame view={view}>
        {(data, answer) => <Memory data={data} answer={answer} span={selection.span} device={device} within={within} />}
      </ViewFrame>
    </>
  );
}

interface Props {
  data: MemoryJson;
  answer: ViewJson;
  span: string;
  device: string;
  /** The chosen time range, see WITHIN. */
  within: string;
}

function Memory({ data, answer, span, device, within }: Props) {
  const usual = firstTab(data, answer);
  const tab = TABS.find((id) => id === param("m.tab")) ?? usual;
  const metric = METRICS.find((id) => id === param("m.metric")) ?? "reserved";
  const range = parseRange(momentParam("m.range", span)) ?? rangeWithin(within, answer.base_ns);
  const detail = useDetail(data, span, device, range);
  const peak = peakOf(data.peaks);
  const liveAt = momentOf(momentParam("m.live", span), peak?.at ?? null);
  const onMoment = (at: number) => setMoment(span, { "m.live": String(at), "m.tab": null });
  const words = { allocated: t("memory.allocated"), reserved: t("memory.reserved"), active: t("memory.active") };
  const lines = (of: MemoryJson) => {
    if (tab === "operators") return operatorSeries(of, words);
    return tab === "components" ? componentSeries(of, metric) : moduleSeries(of, MODULE_LINES);
  };
  const isLacking = answer.missing.length > 0;
  const whole = widen(timeRange(lines(data)) ?? [0, 0]);
  return (
    <div class="grid">
      <Curves
        title={t(`memory.tab.${tab}`)}
        file={`memory-${tab}`}
        tools={<Tools data={data} tab={tab} usual={usual} device={device} metric={metric} />}
        series={lines(detail)}
        whole={whole}
        range={range}
        markers={markersOf(tab, metric, peak, liveAt)}
        onRange={(next) => {
          if (!next) setParams({ [WITHIN]: null });
          setMoment(span, { "m.range": formatRange(next) });
        }}
        {...(tab === "operators" ? { onPick: onMoment } : {})}
      >
        {tab === "operators" && data.fragmentation_at_peak !== null && (
          <span class="muted" data-tip={t("memory.fragmentation.help")}>
            {t("memory.fragmentation")} <b>{format.percentOfRatio(data.fragmentation_at_peak)}</b>
          </span>
        )}
        {tab === "modules" && data.module_curves.length > MODULE_LINES && (
          <span class="muted">{t("memory.modules.some", { count: MODULE_LINES, all: data.module_curves.length })}</span>
        )}
      </Curves>
      {isLacking && (
        <Card title={t("memory.lacking")} subtitle={t("memory.lacking.sub")}>
          <MissingList missing={answer.missing} />
        </Card>
      )}
      {tab === "operators" && answer.tables.allocations && (answer.tables.allocations.total > 0 || !isLacking) && (
        <Allocations
          data={data}
          table={answer.tables.allocations}
          baseNs={answer.base_ns}
          span={span}
          device={device}
          within={within}
          peakAt={peak?.at ?? null}
          liveAt={liveAt}
        />
      )}
      {tab === "components" && <Peaks data={data} baseNs={answer.base_ns} onMoment={onMoment} />}
      {tab === "modules" && <Modules data={data} answer={answer} span={span} device={device} />}
    </div>
  );
}

/** The first tab with data. */
function firstTab(data: MemoryJson, answer: ViewJson): Tab {
  const { allocations, modules } = answer.tables;
  if (data.curves.length > 0 || (allocations?.total ?? 0) > 0) return "operators";
  return data.module_curves.length > 0 || (modules?.total ?? 0) > 0 ? "modules" : "operators";
}

/** Margin around a single time: 1 ms. */
function widen([from, to]: Range): Range {
  return to - from > 1 ? [from, to] : [from - 500_000, to + 500_000];
}

function markersOf(tab: Tab, metric: Metric, peak: ReturnType<typeof peakOf>, liveAt: number | null): Marker[] {
  const markers: Marker[] = [];
  const hasAllocated = tab === "operators" || (tab === "components" && metric === "allocated");
  if (peak && hasAllocated) {
    const text = t("memory.peak", { size: format.bytes(peak.bytes), time: format.duration(peak.at) });
    markers.push({ at: peak.at, text, kind: "peak" });
  }
  if (liveAt !== null && liveAt !== peak?.at && tab === "operators") {
    markers.push({ at: liveAt, text: t("memory.live.at", { time: format.duration(liveAt) }), kind: "live" });
  }
  return markers;
}

interface ToolsProps {
  data: MemoryJson;
  tab: Tab;
  /** The default. */
  usual: Tab;
  device: string;
  metric: Metric;
}

function Tools({ data, tab, usual, device, metric }: ToolsProps) {
  const devices = data.devices.map((id) => ({ id, label: id }));
  return (
    <>
      <Segments
        label={t("memory.title")}
        options={TABS.map((id) => ({ id, label: t(`memory.tab.${id}`), tip: t(`memory.tab.${id}.tip`) }))}
        value={tab}
        onChange={(id) => setParams({ "m.tab": id === usual ? null : id })}
      />
      {data.devices.length > 0 && (
        <Select
          label={t("memory.device")}
          options={[{ id: "", label: t("memory.device.all") }, ...devices]}
          value={device || (data.devices.length === 1 ? (data.devices[0] ?? "") : "")}
          onChange={(id) => setParams({ "m.device": id })}
        />
      )}
      {tab === "components" && (
        <Segments
          label={t("memory.figure")}
          options={METRICS.map((id) => ({ id, label: t(`memory.${id}`), tip: t(`memory.${id}.help`) }))}
          value={metric}
          onChange={(id) => setParams({ "m.metric": id === "reserved" ? null : id })}
        />
      )}
    </>
  );
}

function Modules({ data, answer, span, device }: Omit<Props, "within">) {
  const table = answer.tables.modules;
  if (!table) return null;
  const keys = table.columns.map((column) => column.key);
  return (
    <Card title={t("memory.tab.modules")} help={t("memory.modules.help")}>
      {table.total === 0 ? (
        <Empty text={t("memory.modules.none")} />
      ) : (
        <DataTable
          table={table}
          query={{ span, device }}
          baseNs={answer.base_ns}
          columns={data.devices.length > 1 ? keys : keys.filter((key) => key !== "device")}
          bar={{ column: "peak_bytes" }}
        />
      )}
    </Card>
  );
}

export const view: ViewModule = { Component: MemoryView };

interface PeaksProps {
  data: MemoryJson;
  baseNs: string;
  /** Moves the chart's marker to the time and lists the live allocations. */
  onMoment: (at: number) => void;
}

/** The peak of each component and its time. */
function Peaks({ data, baseNs, onMoment }: PeaksProps) {
  const table = peaksTable(data.peaks);
  return (
    <Card title={t("memory.peaks")} help={t("memory.peaks.help")}>
      <DataTable
        table={table}
        query={{}}
        baseNs={baseNs}
        isLocal
        {...(data.devices.length > 1 ? {} : { columns: table.columns.map((column) => column.key).filter(isNoDevice) })}
        onOpen={(row) => {
          const at = row.get("allocated_at") ?? row.get("reserved_at") ?? row.get("active_at");
          if (typeof at === "number") onMoment(at);
        }}
      />
    </Card>
  );
}

const isNoDevice = (key: string) => key !== "device";

/** The peaks as a table, for sorting and export. */
function peaksTable(peaks: readonly MemoryPeakJson[]): TableJson {
  const columns: ColumnJson[] = [
    pageColumn("component", "text", t("memory.component")),
    pageColumn("device", "text", t("memory.device")),
  ];
  for (const metric of METRICS) {
    const doc = t(`memory.${metric}.help`);
    const title = t(`memory.${metric}`);
    columns.push(pageColumn(`${metric}_bytes`, "bytes", title, doc));
    columns.push(pageColumn(`${metric}_at`, "time", t("memory.when"), t("memory.when.help")));
  }
  const data = Object.fromEntries(
    columns.map(({ key }) => [key, peaks.map((peak) => peak[key as keyof MemoryPeakJson])]),
  );
  return pageTable("memory.peaks", columns, data, peaks.length);
}
