import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { getView } from "../../api/client";
import type { CurveJson, MemoryJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { saveCsv, savePng } from "../../base/save";
import { toggled } from "../../base/search";
import { t } from "../../i18n";
import { useRequest } from "../../state/use_request";
import { Button, Card, Empty } from "../../widgets";
import { type Marker, StepChart } from "./chart";
import { curvesCsv, isThinned, type Series } from "./series";

interface Props {
  /** Label of the curves, for screen readers. */
  title: string;
  /** Name of the saved files. */
  file: string;
  /** Controls at the left of the title line. */
  tools: ComponentChildren;
  series: readonly Series[];
  whole: Range;
  range: Range | null;
  markers: readonly Marker[];
  onRange: (range: Range | null) => void;
  onPick?: (at: number) => void;
  /** Figures after the legend. */
  children?: ComponentChildren;
}

/** The chart with its legend (click hides a line) and export. */
export function Curves({ title, file, tools, series, whole, range, markers, onRange, onPick, children }: Props) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const visible = series.filter((one) => !hidden.has(one.id));
  return (
    <Card>
      <div class="row" style={{ marginBottom: "8px" }}>
        {tools}
        <span class="at-end">
          {series.length > 0 && <span class="muted small">{t(onPick ? "memory.hint" : "memory.hint.zoom")}</span>}
          {range && <Button onClick={() => onRange(null)}>{t("chart.reset")}</Button>}
          {series.length > 0 && <Saves box={box} label={file} visible={visible} />}
        </span>
      </div>
      {series.length === 0 ? (
        <Empty text={t("memory.none.curves")} />
      ) : (
        <div ref={box}>
          <StepChart
            label={title}
            series={visible}
            range={range ?? whole}
            markers={markers}
            onZoom={(from, to) => to > from && onRange([from, to])}
            onReset={() => onRange(null)}
            {...(onPick ? { onPick } : {})}
          />
        </div>
      )}
      <div class="legend mem-legend">
        {series.map((one) => (
          <Button
            key={one.id}
            look=""
            tip={t("memory.legend.tip")}
            pressed={!hidden.has(one.id)}
            onClick={() => setHidden(toggled(hidden, one.id))}
          >
            <i class="swatch" style={{ background: one.color }} />
            {one.label} <b>{format.bytes(largestOf(one))}</b>
          </Button>
        ))}
        {children}
      </div>
    </Card>
  );
}

interface SavesProps {
  /** The element with the drawing. */
  box: { readonly current: HTMLDivElement | null };
  label: string;
  visible: readonly Series[];
}

/** Saves the picture as PNG, its points as CSV. */
function Saves({ box, label, visible }: SavesProps) {
  return (
    <>
      <Button name={t("chart.png")} onClick={() => void savePng(box.current, label)}>
        PNG ↓
      </Button>
      <Button name={t("memory.csv")} onClick={() => saveCsv(curvesCsv(visible), label)}>
        CSV ↓
      </Button>
    </>
  );
}

function largestOf(series: Series): number | null {
  let largest: number | null = null;
  for (const value of series.values) if (value !== null && (largest === null || value > largest)) largest = value;
  return largest;
}

export type Range = readonly [number, number];

/**
 * The data with detailed curves of the visible range. The coarse curves stay until those arrive, if nothing was
 * thinned, and after a failed request.
 */
export function useDetail(data: MemoryJson, span: string, device: string, range: Range | null): MemoryJson {
  const isNeeded = range !== null && isThinned(data);
  const ask = (signal: AbortSignal) =>
    getView("memory", { span, device, t0: range?.[0], t1: range?.[1], points: DETAIL_POINTS }, signal);
  const { value } = useRequest([span, device, range?.[0], range?.[1]], isNeeded ? ask : null);
  if (value?.state !== "ready" || !value.data) return data;
  const { curves, module_curves } = value.data as unknown as MemoryJson;
  return { ...data, curves: merge(data.curves, curves), module_curves: merge(data.module_curves, module_curves) };
}

/** Largest number of points of a curve on screen: several per pixel. */
const DETAIL_POINTS = 8000;

/** Replaces coarse curves by detailed ones of the same component and device. */
function merge(coarse: readonly CurveJson[], fine: readonly CurveJson[]): CurveJson[] {
  const found = new Map(fine.map((curve) => [`${curve.component} ${curve.device}`, curve]));
  return coarse.map((curve) => found.get(`${curve.component} ${curve.device}`) ?? curve);
}

/** A range from the URL ("from_to" in ns); null if absent or malformed. */
export function parseRange(text: string): Range | null {
  const found = /^(-?\d+)_(-?\d+)$/.exec(text);
  if (!found) return null;
  const range: Range = [Number(found[1]), Number(found[2])];
  return range[1] > range[0] ? range : null;
}

/** The range of an answer. */
export const asRange = (found: readonly number[] | null): Range | null =>
  found ? [found[0] ?? 0, found[1] ?? 0] : null;

export function formatRange(range: Range | null): string | null {
  return range ? `${range[0]}_${range[1]}` : null;
}
