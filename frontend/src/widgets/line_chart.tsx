import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as format from "../base/format";
import { t } from "../i18n";
import { theme } from "../state/theme";
import { type AxisKind, draw, type Plot } from "./line_plot";
import { axisUnit, extent, type Series, valueAt } from "./line_series";
import { Empty } from "./states";

export type { Series } from "./line_series";

interface Props {
  /** Says what is drawn, for screen readers and the name of the PNG. */
  label: string;
  series: readonly Series[];
  /** x is ns after some origin; y of this kind. */
  yKind: AxisKind;
  height?: number;
  /** Visible part of the x axis; all when null. */
  range: readonly [number, number] | null;
  /** The user dragged over a part, or asked for all (null) by a double click. */
  onRange: (range: [number, number] | null) => void;
  /** A moment marked by a dashed line. */
  marker?: { x: number; label: string } | null;
  /** A click (not a drag) at a moment. */
  onClick?: (x: number) => void;
}

/** A drag shorter than this is a click. */
const DRAG_PX = 4;

/** Lines of steps over real time. Drag zooms, double click resets, hovering reads all lines at that moment. */
export function LineChart({ label, series, yKind, height = 300, range, onRange, marker = null, onClick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const [isReady, setReady] = useState(false);
  const [hover, setHover] = useState<number | null>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const whole = extent(series);
  const mode = theme.value;

  useEffect(() => {
    let isGone = false;
    void import("./echarts").then(({ init }) => {
      if (isGone || !box.current) return;
      plot.current = { chart: init(box.current, null, { renderer: "canvas" }), element: box.current };
      setReady(true);
    });
    return () => {
      isGone = true;
      plot.current?.chart.dispose();
      plot.current = null;
    };
  }, []);
  useLayoutEffect(() => {
    if (isReady && plot.current && whole) draw(plot.current, series, yKind, range ?? whole, marker);
  }, [isReady, series, yKind, range?.[0], range?.[1], marker?.x, marker?.label, mode]);
  useEffect(() => {
    if (!isReady || !box.current) return;
    const observer = new ResizeObserver(([entry]) => {
      // A hidden tab has no height: keep what was drawn.
      if (entry && entry.contentRect.height > 0 && entry.contentRect.width > 0) plot.current?.chart.resize();
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isReady]);

  if (!whole) return <Empty text={t("chart.none")} />;
  const [start, end] = range ?? whole;
  const xAt = (px: number) => {
    const x = Number(plot.current?.chart.convertFromPixel({ xAxisIndex: 0 }, px));
    return Number.isFinite(x) ? Math.max(start, Math.min(end, x)) : start;
  };
  const pxAt = (x: number) => Number(plot.current?.chart.convertToPixel({ xAxisIndex: 0 }, x) ?? 0);
  const offset = (event: PointerEvent | MouseEvent) => event.clientX - (box.current?.getBoundingClientRect().left ?? 0);
  const finish = (event: PointerEvent) => {
    if (!drag) return;
    setDrag(null);
    const from = xAt(Math.min(drag.from, offset(event)));
    const to = xAt(Math.max(drag.from, offset(event)));
    if (Math.abs(offset(event) - drag.from) < DRAG_PX) onClick?.(Math.round(from));
    else if (to > from) onRange([Math.round(from), Math.round(to)]);
  };
  return (
    <div
      class="chart"
      role="img"
      aria-label={label}
      style={{ height: `${height}px`, touchAction: "none" }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: offset(event), to: offset(event) });
      }}
      onPointerMove={(event) => {
        setHover(xAt(offset(event)));
        if (drag) setDrag({ ...drag, to: offset(event) });
      }}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(null)}
      onPointerLeave={() => setHover(null)}
      onDblClick={() => onRange(null)}
    >
      <div ref={box} style={{ position: "absolute", inset: 0 }} />
      {!isReady && <Empty text={t("chart.loading")} />}
      {drag && Math.abs(drag.to - drag.from) >= DRAG_PX && (
        <div
          class="chart-drag"
          style={{
            left: `${Math.min(drag.from, drag.to)}px`,
            width: `${Math.abs(drag.to - drag.from)}px`,
            top: "10px",
            bottom: "26px",
          }}
        />
      )}
      {isReady && hover !== null && !drag && (
        <Hover x={hover} px={pxAt(hover)} series={series} yKind={yKind} width={box.current?.clientWidth ?? 0} />
      )}
    </div>
  );
}

interface HoverProps {
  x: number;
  px: number;
  series: readonly Series[];
  yKind: AxisKind;
  width: number;
}

/** The values of all lines at one moment. */
function Hover({ x, px, series, yKind, width }: HoverProps) {
  const isRight = px > width / 2;
  const place = isRight ? { right: `${width - px + 8}px` } : { left: `${px + 8}px` };
  const text = (value: number | null) => {
    if (value === null) return format.UNKNOWN;
    if (yKind === "bytes") return format.bytes(value);
    return yKind === "duration" ? format.duration(value) : format.decimal(value);
  };
  const unit = axisUnit("duration", x);
  return (
    <>
      <div class="chart-hover" style={{ left: `${px}px`, top: "10px", bottom: "26px" }} />
      <div class="chart-values" style={{ top: "12px", ...place }}>
        <span class="muted mono">{`${format.fixed(x / unit.scale, 3)} ${unit.name}`}</span>
        {series.map((line) => (
          <div key={line.name}>
            <i class="swatch" style={{ background: line.color }} />
            <span>{line.name}</span>
            <span class="mono">{text(valueAt(line, x))}</span>
          </div>
        ))}
      </div>
    </>
  );
}
