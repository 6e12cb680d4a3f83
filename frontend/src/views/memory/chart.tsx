import { type MutableRef, useEffect, useRef, useState } from "preact/hooks";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { linear, roundTop, type Scale, stepPath, ticks } from "../../widgets/scale";
import { useWidth } from "../../widgets/use_width";
import { largestWithin, neighbour, type Series, valueAt } from "./series";

/** A labelled vertical line at a time. */
export interface Marker {
  at: number;
  text: string;
  /** "peak": at the peak; "live": at the time chosen by the user. */
  kind: "peak" | "live";
}

interface Props {
  label: string;
  series: readonly Series[];
  /** Visible range, ns after base_ns. */
  range: readonly [number, number];
  markers: readonly Marker[];
  /** A range was dragged. */
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  /** A time was clicked. */
  onPick?: (at: number) => void;
}

const HEIGHT = 290;
const LEFT = 64;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = HEIGHT - 24;
/** Step curves of sizes over time. Drag zooms, double click resets, a click picks a time; arrow keys and Enter, too. */
export function StepChart({ label, series, range: [from, to], markers, ...actions }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const right = Math.max(LEFT + 10, width - RIGHT);
  const largest = largestWithin(series, from, to);
  const bytes = format.unitFor(format.BYTE_UNITS, largest);
  const x = linear(from, to, LEFT, right);
  const y = linear(0, roundTop(largest, bytes, 5), BOTTOM, TOP);
  const { at, from: dragged, handlers } = useChartInput(box, x, series, actions);
  const pixel = at === null ? null : x.pixel(at);
  return (
    <div
      ref={box}
      class="chart mem-chart"
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is operated with the keyboard
      tabIndex={0}
      style={{ height: `${HEIGHT}px` }}
      {...handlers}
    >
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <Axes x={x} y={y} bytes={bytes} right={right} />
          <Lines series={series} x={x} y={y} />
          {markers.map((marker) => (
            <MarkerLine key={marker.kind} marker={marker} x={x} />
          ))}
          {pixel !== null && dragged !== null && <Dragged from={x.pixel(dragged)} to={pixel} />}
          {pixel !== null && <line class="mem-cross" x1={pixel} x2={pixel} y1={TOP} y2={BOTTOM} />}
        </svg>
      )}
      {at !== null && pixel !== null && <Hover series={series} at={at} pixel={pixel} width={width} />}
    </div>
  );
}

function Dragged({ from, to }: { from: number; to: number }) {
  return <rect class="mem-drag" x={Math.min(from, to)} y={TOP} width={Math.abs(to - from)} height={BOTTOM - TOP} />;
}

interface AxesProps {
  x: Scale;
  y: Scale;
  bytes: format.Unit;
  right: number;
}

function Axes({ x, y, bytes, right }: AxesProps) {
  const time = format.unitFor(format.TIME_UNITS, Math.max(Math.abs(x.from), Math.abs(x.to)));
  const most = Math.max(2, Math.min(12, Math.floor((right - LEFT) / 110)));
  return (
    <g>
      {ticks(0, y.to, bytes, 5).map((tick, index, all) => (
        <g key={tick.value}>
          <line x1={LEFT} x2={right} y1={y.pixel(tick.value)} y2={y.pixel(tick.value)} />
          <text x={LEFT - 6} y={y.pixel(tick.value) + 4} text-anchor="end">
            {index === all.length - 1 ? `${tick.label} ${bytes.name}` : tick.label}
          </text>
        </g>
      ))}
      {ticks(x.from, x.to, time, most).map((tick) => {
        const pixel = x.pixel(tick.value);
        const isLast = pixel > right - RIGHT; // in the middle it would leave the picture
        return (
          <text
            key={tick.value}
            x={isLast ? right + RIGHT : pixel}
            y={BOTTOM + 16}
            text-anchor={isLast ? "end" : "middle"}
          >
            {`${tick.label} ${time.name}`}
          </text>
        );
      })}
    </g>
  );
}

function Lines({ series, x, y }: { series: readonly Series[]; x: Scale; y: Scale }) {
  return (
    <g>
      {series.map((one) => (
        <path
          key={one.id}
          d={stepPath(one.time, one.values, x, y)}
          style={{ stroke: one.color }}
          stroke-dasharray={one.isDashed ? "4 4" : undefined}
        />
      ))}
    </g>
  );
}

function MarkerLine({ marker, x }: { marker: Marker; x: Scale }) {
  if (marker.at < x.from || marker.at > x.to) return null;
  const pixel = x.pixel(marker.at);
  const isRight = pixel > x.pixel((x.from + x.to) / 2);
  const top = marker.kind === "peak" ? TOP : TOP + 16;
  return (
    <g class={`mem-marker ${marker.kind}`}>
      <line x1={pixel} x2={pixel} y1={TOP} y2={BOTTOM} />
      <text x={pixel + (isRight ? -5 : 5)} y={top + 9} text-anchor={isRight ? "end" : "start"}>
        {marker.text}
      </text>
    </g>
  );
}

/** All values at the time under the pointer. */
function Hover({ series, at, pixel, width }: { series: readonly Series[]; at: number; pixel: number; width: number }) {
  const side = pixel > width / 2 ? { right: `${width - pixel + 12}px` } : { left: `${pixel + 12}px` };
  return (
    <div class="mem-hover" style={side}>
      <div class="mono">{t("memory.at", { time: format.duration(at) })}</div>
      {series.map((one) => (
        <div key={one.id} class="row">
          <span class="swatch" style={{ background: one.color }} />
          <span class="ellipsis">{one.label}</span>
          <span class="grow" />
          <span class="mono">{format.bytes(valueAt(one, at))}</span>
        </div>
      ))}
    </div>
  );
}

/** Less movement than this (px) is a click. */
const CLICK_PX = 4;
/** A second click within this time (ms) makes a double click and voids the first one. */
const DOUBLE_MS = 250;

interface Actions {
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  onPick?: (at: number) => void;
}

/**
 * Mouse and keys of a chart: drag zooms, double click and Escape reset, click and Enter pick a time, arrow keys step
 * through the records, "+" zooms in. `at`: the hovered time, ns; `from`: start of the drag, null without one.
 */
function useChartInput(box: MutableRef<HTMLElement | null>, x: Scale, series: readonly Series[], actions: Actions) {
  const [at, setAt] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  const picking = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(picking.current), []);

  const clamp = (moment: number) => Math.round(Math.max(x.from, Math.min(x.to, moment)));
  const momentOf = (event: PointerEvent) =>
    clamp(x.value(event.clientX - (box.current?.getBoundingClientRect().left ?? 0)));
  const pick = (moment: number, delayMs: number) => {
    clearTimeout(picking.current);
    picking.current = setTimeout(() => actions.onPick?.(moment), delayMs);
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setFrom(momentOf(event));
    },
    onPointerMove: (event: PointerEvent) => setAt(momentOf(event)),
    onPointerUp: (event: PointerEvent) => {
      if (from === null) return;
      const to = momentOf(event);
      setFrom(null);
      if (Math.abs(x.pixel(to) - x.pixel(from)) < CLICK_PX) pick(to, DOUBLE_MS);
      else actions.onZoom(Math.min(from, to), Math.max(from, to));
    },
    onPointerCancel: () => setFrom(null),
    onPointerLeave: () => setAt(null),
    onDblClick: () => {
      clearTimeout(picking.current);
      actions.onReset();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const direction = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const here = at ?? clamp((x.from + x.to) / 2);
      if (direction !== 0) {
        event.preventDefault();
        setAt(clamp(neighbour(series, here, direction) ?? here));
      } else if (event.key === "Enter") pick(here, 0);
      else if (event.key === "Escape") actions.onReset();
      else if (event.key === "+") {
        const quarter = (x.to - x.from) / 4;
        actions.onZoom(clamp(here - quarter), clamp(here + quarter));
      }
    },
  };
  return { at, from, handlers };
}
