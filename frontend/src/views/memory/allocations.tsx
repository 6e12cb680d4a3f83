import type { ComponentChildren } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";
import { getTable, type Query } from "../../api/client";
import type { MemoryJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { BYTE_UNITS } from "../../base/format";
import { lang, t, textOf } from "../../i18n";
import { param, setParams } from "../../state/params";
import { openSlice } from "../../state/selection";
import { type Requested, useRequest } from "../../state/use_request";
import { Button, Card, DataTable, Facts, Popover, type Row, Select, ViewSource, type Where } from "../../widgets";
import { filterRows } from "../../widgets/table/columnar";

interface Props {
  data: MemoryJson;
  /** All allocations of the view's answer. */
  table: TableJson;
  span: string;
  /** Time of the peak. */
  peakAt: number | null;
  /** Time of the listed allocations; null: all allocations. */
  liveAt: number | null;
}

const COLUMNS = ["name", "size_bytes", "alloc_ns", "release_ns", "dur_ns", "active_release_ns", "active_dur_ns"];
const COMPARED = [
  ["alloc_ns", "release_ns", "active_release_ns"],
  ["dur_ns", "active_dur_ns"],
];

/** Allocations not released when the recording ended. */
const NOT_RELEASED: readonly Where[] = [
  { column: "release_ns", value: null },
  { column: "active_release_ns", value: null },
];

/** All allocations, or those live at one time with their sum. */
export function Allocations({ data, table, span, peakAt, liveAt }: Props) {
  const { query } = useContext(ViewSource);
  const live = useLive(query, liveAt);
  const shown = liveAt === null ? table : (live.value ?? table);
  // Never show all allocations as the live ones: until those are loaded, rows come by pages.
  const isUnderWay = liveAt !== null && live.value === null;
  const limits = { least: limitOf(param("m.min")), most: limitOf(param("m.max")) };
  const moment = momentParam("m.live", span);
  const isPeak = moment === "peak";
  const isHeld = moment === "held";
  const held = useMemo(() => (isHeld ? heldText(table) : ""), [table, isHeld, lang.value]);
  const setLive = (live: string | null) => setMoment(span, { "m.live": live });
  const moments = [
    { id: "all", label: t("memory.live.all"), note: format.integer(table.total) },
    { id: "peak", label: t("memory.live.peak"), disabled: peakAt === null },
    { id: "held", label: t("memory.live.held"), tip: t("memory.live.held.tip") },
    ...(liveAt !== null && !isPeak
      ? [{ id: "moment", label: t("memory.live.at", { time: format.duration(liveAt) }) }]
      : []),
  ];
  const noLimits = () => setParams({ "m.min": null, "m.max": null });
  const filters = [
    ...(isHeld ? [{ label: t("memory.live.held"), clear: () => setLive(null) }] : []),
    ...(limits.least === null && limits.most === null
      ? []
      : [{ label: t("memory.size.label", { size: limitsText(limits) }), clear: noLimits }]),
  ];
  const chosen = isHeld ? "held" : liveAt === null ? "all" : isPeak ? "peak" : "moment";
  return (
    <Card title={t("memory.allocations")} help={t("memory.allocations.help")}>
      <DataTable
        table={shown}
        remote={isUnderWay}
        query={{ ...query, live_at: liveAt }}
        columns={COLUMNS}
        compared={COMPARED}
        bar={{ column: "size_bytes" }}
        where={isHeld ? [...NOT_RELEASED, ...sizeWhere(limits)] : sizeWhere(limits)}
        filters={filters}
        tools={
          <>
            <Select
              label={t("memory.live")}
              prefix
              options={moments}
              value={chosen}
              onChange={(id) => id !== "moment" && setLive(id === "all" ? null : id)}
            />
            {liveAt !== null && (
              <Chip
                text={liveText(liveAt, live.value, table.total)}
                tip={t("memory.live.tip")}
                onClear={() => setLive(null)}
              />
            )}
            {held && <Chip text={held} tip={t("memory.live.held.tip")} onClear={() => setLive(null)} />}
            {live.error && <span class="muted">{textOf(live.error, "message")}</span>}
          </>
        }
        moreTools={
          <SizeFilter
            limits={limits}
            bounds={data.size_range}
            onChange={({ least, most }) => setParams({ "m.min": String(least ?? ""), "m.max": String(most ?? "") })}
          />
        }
        cell={CELLS}
        details={(row) => <Details row={row} table={shown} onMoment={(at) => setLive(String(at))} />}
      />
    </Card>
  );
}

/** A figure that needs the release: unknown if the memory was still held when the recording ended. */
const ifReleased = (held: "memory.held" | "memory.held.short") => (row: Row, text: string) => {
  const isHeld = NOT_RELEASED.every(({ column }) => row.get(column) === null);
  return isHeld ? <span class="muted">{t(held)}</span> : text;
};

/** Explains a negative size: a release of memory allocated before the capture. */
function size(row: Row, text: string) {
  const bytes = row.get("size_bytes");
  return typeof bytes === "number" && bytes < 0 ? <span data-tip={t("memory.negative")}>{text}</span> : text;
}

const CELLS: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>> = {
  size_bytes: size,
  alloc_ns: (row, text) => (row.get("alloc_ns") === null ? <span class="muted">{t("memory.before")}</span> : text),
  release_ns: ifReleased("memory.held"),
  dur_ns: ifReleased("memory.held.short"),
  active_release_ns: ifReleased("memory.held"),
  active_dur_ns: ifReleased("memory.held.short"),
};

function liveText(at: number, table: TableJson | null, all: number): string {
  return t("memory.live.chip", {
    time: format.duration(at),
    count: format.integer(table?.total),
    all: format.integer(all),
    sum: format.bytes(table && sumOf(table)),
  });
}

/** "" unless all rows are loaded: then the table shows their number. */
function heldText(table: TableJson): string {
  const held = heldOf(table, NOT_RELEASED);
  if (!held) return "";
  const [count, all] = [format.integer(held.count), format.integer(table.total)];
  return t("memory.live.held.chip", { count, all, sum: format.bytes(held.bytes) });
}

function Chip({ text, tip, onClear }: { text: string; tip: string; onClear: () => void }) {
  return (
    <span class="mem-live" data-tip={tip}>
      {text}
      <Button look="" label={t("memory.live.clear")} onClick={onClear}>
        ✕
      </Button>
    </span>
  );
}

/** All figures of one allocation, and a button for the allocations live at the same time. */
function Details({ row, table, onMoment }: { row: Row; table: TableJson; onMoment: (at: number) => void }) {
  const { baseNs } = useContext(ViewSource);
  const at = row.get("alloc_ns");
  const name = row.get("name");
  const known = table.columns.filter((column) => column.kind === "bytes" && row.get(column.key) !== null);
  return (
    <div class="row" style={{ alignItems: "flex-start", gap: "24px" }}>
      <Facts
        class="figures"
        facts={known.map((column) => [textOf(column, "title"), format.bytes(row.get(column.key) as number)])}
      />
      {typeof at === "number" && <Button onClick={() => onMoment(at)}>{t("memory.live.then")}</Button>}
      {typeof at === "number" && typeof name === "string" && (
        <Button onClick={() => openSlice(name, baseNs, at, 0)}>{t("memory.trace")}</Button>
      )}
    </div>
  );
}

/** Largest table that the server sends in one answer, rows. */
const ROWS = 20_000;

/** The allocations of the view that are live at `at` (ns after base_ns), the previous ones until they arrive; null: none. */
function useLive(query: Query, at: number | null): Requested<TableJson> {
  const of = JSON.stringify(query);
  const ask = (signal: AbortSignal) => getTable("memory.allocations", { ...query, live_at: at, limit: ROWS }, signal);
  return useRequest([of, at], at === null ? null : ask, [of]);
}

/** Sum of the sizes; null unless all rows are loaded. */
export function sumOf(table: TableJson): number | null {
  if (table.rows < table.total) return null;
  return (table.data.size_bytes ?? []).reduce<number>((sum, size) => sum + (typeof size === "number" ? size : 0), 0);
}

/** Number of rows that meet the conditions, and the sum of their sizes; null unless all rows are loaded. */
export function heldOf(table: TableJson, where: readonly Where[]): { count: number; bytes: number } | null {
  if (table.rows < table.total) return null;
  const rows = [...filterRows(table, "", where)];
  const sizes = table.data.size_bytes ?? [];
  return { count: rows.length, bytes: rows.reduce((sum, row) => sum + Number(sizes[row] ?? 0), 0) };
}

/** A time from the URL: ns, or "peak". */
export function momentOf(text: string, peakAt: number | null): number | null {
  if (text === "peak") return peakAt;
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

/** Parameters that hold times of one capture and are void in another. */
type Moment = "m.range" | "m.live";

/** A time of this span from the URL; "" if absent or chosen in another span. */
export function momentParam(name: Moment, span: string): string {
  return param("m.of") === span ? param(name) : "";
}

/** Writes times of this span to the URL; removes those of another span. */
export function setMoment(span: string, changes: Partial<Record<Moment | "m.tab", string | null>>): void {
  const kept = param("m.of") === span ? {} : { "m.range": null, "m.live": null };
  setParams({ ...kept, ...changes, "m.of": span });
}

interface FilterProps {
  limits: SizeLimits;
  /** Smallest and largest allocation. */
  bounds: readonly number[] | null;
  onChange: (limits: SizeLimits) => void;
}

/** "Size: any": opens two fields for the smallest and the largest size. */
function SizeFilter({ limits, bounds, onChange }: FilterProps) {
  const { least, most } = limits;
  const isOpen = least === null && most === null;
  const text = isOpen ? t("memory.size.any") : limitsText(limits);
  return (
    <Popover class={isOpen ? "" : "on"} label={t("memory.size.label", { size: text })} arrow tip={t("memory.size.tip")}>
      {() => (
        <div class="mem-sizes">
          {(["least", "most"] as const).map((end) => (
            <Field
              key={end}
              label={t(`memory.size.${end}`)}
              value={limits[end]}
              onChange={(value) => onChange({ ...limits, [end]: value })}
            />
          ))}
          <p class="muted small">
            {t("memory.size.bounds", { least: format.bytes(bounds?.[0]), most: format.bytes(bounds?.[1]) })}
          </p>
          <Button onClick={() => onChange({ least: null, most: null })}>{t("memory.size.clear")}</Button>
        </div>
      )}
    </Popover>
  );
}

interface FieldProps {
  label: string;
  value: number | null;
  onChange: (value: number | null) => void;
}

function Field({ label, value, onChange }: FieldProps) {
  const [text, setText] = useState(sizeText(value));
  const parsed = parseSize(text);
  return (
    <label class="row">
      <span class="grow">{label}</span>
      <input
        class="field"
        type="text"
        placeholder={t("memory.size.any")}
        value={text}
        aria-invalid={parsed === undefined}
        onInput={(event) => {
          setText(event.currentTarget.value);
          const size = parseSize(event.currentTarget.value);
          if (size !== undefined) onChange(size);
        }}
      />
    </label>
  );
}

/** Limits of the size filter, bytes; null: no limit. */
interface SizeLimits {
  least: number | null;
  most: number | null;
}

const MIB = 1024 ** 2;

/** Bytes of "512 KiB", "1.5m", "64" (MiB without a unit); null for "", undefined for invalid text. */
export function parseSize(text: string): number | null | undefined {
  const found = /^\s*(\d+(?:[.,]\d+)?)\s*([bkmgt]?)(?:i?b)?\s*$/i.exec(text);
  if (text.trim() === "") return null;
  if (!found) return undefined;
  const unit = (found[2] ?? "").toUpperCase();
  const scale = unit === "" ? MIB : (BYTE_UNITS["BKMGT".indexOf(unit)]?.scale ?? MIB);
  return Math.round(Number((found[1] ?? "").replace(",", ".")) * scale);
}

/** A size that `parseSize` reads back: "512 KiB". */
export function sizeText(bytes: number | null): string {
  if (bytes === null) return "";
  const unit = format.unitFor(BYTE_UNITS, bytes);
  return `${format.decimal(bytes / unit.scale).replaceAll("\u202f", "")} ${unit.name}`;
}

/** "512 KiB … 2 GiB"; an open end is 0 or infinity. */
function limitsText({ least, most }: SizeLimits): string {
  return `${sizeText(least) || "0"} … ${sizeText(most) || "∞"}`;
}

/** From the URL: bytes as digits. */
export function limitOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** The limits as conditions of the table; none while both are open. */
export function sizeWhere({ least, most }: SizeLimits): Where[] {
  const out: Where[] = [];
  if (least !== null) out.push({ column: "size_bytes", op: "ge", value: least });
  if (most !== null) out.push({ column: "size_bytes", op: "le", value: most });
  return out;
}
