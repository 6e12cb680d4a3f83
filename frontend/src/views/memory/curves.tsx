import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import * as format from "../../base/format";
import { saveCsv, savePng } from "../../base/save";
import { toggled } from "../../base/toggled";
import { t } from "../../i18n";
import { Button, Card, Empty } from "../../widgets";
import { type Marker, StepChart } from "./chart";
import { curvesCsv, type Series } from "./series";
import type { Range } from "./zoom";

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
