import type { MemoryJson, MemoryPeakJson, TableJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { choosePeriod, STEP, WITHIN } from "../../state/period";
import {
  type Answered,
  Card,
  DataTable,
  type DataTableProps,
  Empty,
  MissingList,
  type PageColumn,
  pageTable,
  Segments,
  Select,
  spanView,
} from "../../widgets";
import { Allocations, momentOf, momentParam, setMoment } from "./allocations";
import type { Marker } from "./chart";
import { asRange, Curves, formatRange, parseRange, type Range, useDetail } from "./curves";
import css from "./memory.css?inline";
import { componentSeries, METRICS, type Metric, moduleSeries, operatorSeries, peakOf, timeRange } from "./series";

type Tab = "operators" | "components" | "modules";
const TABS: readonly Tab[] = ["operators", "components", "modules"];
/** Number of modules with a line; the table has all of them. */
const MODULE_LINES = 10;

/** Memory of the allocators, the components and the CANN modules over time. */
export const view = spanView("memory", Memory, {
  css,
  obeys: [STEP, WITHIN],
  params: { device: "m.device" },
  ofRange: "range.memory",
});

function Memory({ data, answer, selection: { span } }: Answered<MemoryJson>) {
  const usual = firstTab(data, answer);
  const tab = TABS.find((id) => id === param("m.tab")) ?? usual;
  const metric = METRICS.find((id) => id === param("m.metric")) ?? "reserved";
  const range = parseRange(momentParam("m.range", span)) ?? asRange(data.chosen_ns);
  const detail = useDetail(data, span, param("m.device"), range);
  const peak = peakOf(data.peaks);
  const liveAt = momentOf(momentParam("m.live", span), peak?.at ?? null);
  const onMoment = (at: number) => setMoment(span, { "m.live": String(at), "m.tab": null });
  const words = { allocated: t("memory.allocated"), reserved: t("memory.reserved"), active: t("memory.active") };
  const lines = (of: MemoryJson) => {
    if (tab === "operators") return operatorSeries(of, words);
    return tab === "components" ? componentSeries(of, metric) : moduleSeries(of, MODULE_LINES);
  };
  const { allocations, modules } = answer.tables;
  const isLacking = answer.missing.length > 0;
  const whole = widen(timeRange(lines(data)) ?? [0, 0]);
  return (
    <div class="grid">
      <Curves
        title={t(`memory.tab.${tab}`)}
        file={`memory-${tab}`}
        tools={<Tools data={data} tab={tab} usual={usual} metric={metric} />}
        series={lines(detail)}
        whole={whole}
        range={range}
        markers={markersOf(tab, metric, peak, liveAt)}
        onRange={(next) => {
          if (!next) choosePeriod(STEP, null);
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
      {tab === "operators" && allocations && (allocations.total > 0 || !isLacking) && (
        <Allocations data={data} table={allocations} span={span} peakAt={peak?.at ?? null} liveAt={liveAt} />
      )}
      {tab === "components" && <Peaks data={data} onMoment={onMoment} />}
      {tab === "modules" && modules && <Modules data={data} table={modules} />}
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
  metric: Metric;
}

function Tools({ data, tab, usual, metric }: ToolsProps) {
  const device = param("m.device");
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

function Modules({ data, table }: { data: MemoryJson; table: TableJson }) {
  return (
    <Card title={t("memory.tab.modules")} help={t("memory.modules.help")}>
      {table.total === 0 ? (
        <Empty text={t("memory.modules.none")} />
      ) : (
        <DeviceTable data={data} table={table} bar={{ column: "peak_bytes" }} />
      )}
    </Card>
  );
}

/** The peak of each component and its time. `onMoment`: moves the chart's marker to a time and lists the live allocations. */
function Peaks({ data, onMoment }: { data: MemoryJson; onMoment: (at: number) => void }) {
  return (
    <Card title={t("memory.peaks")} help={t("memory.peaks.help")}>
      <DeviceTable
        data={data}
        table={peaksTable(data.peaks)}
        isLocal
        onOpen={(row) => {
          const at = row.get("allocated_at") ?? row.get("reserved_at") ?? row.get("active_at");
          if (typeof at === "number") onMoment(at);
        }}
      />
    </Card>
  );
}

/** The peaks as a table, for sorting and export. */
function peaksTable(peaks: readonly MemoryPeakJson[]): TableJson {
  return pageTable("memory.peaks", peaks, [
    ["component", "text", t("memory.component")],
    ["device", "text", t("memory.device")],
    ...METRICS.flatMap((metric): PageColumn<MemoryPeakJson>[] => [
      [`${metric}_bytes`, "bytes", t(`memory.${metric}`), t(`memory.${metric}.help`)],
      [`${metric}_at`, "time", t("memory.when"), t("memory.when.help")],
    ]),
  ]);
}

/** A table that shows the device where there are several. */
function DeviceTable({ data, ...table }: DataTableProps & { data: MemoryJson }) {
  const keys = table.table.columns.map(({ key }) => key);
  return <DataTable {...table} columns={keys.filter((key) => key !== "device" || data.devices.length > 1)} />;
}
