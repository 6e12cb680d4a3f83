import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { linear, roundTop, type Scale, stepPath, ticks } from "./scale";
import { largestWithin, type Series, upperBound, valueAt } from "./series";

/** A vertical line at a moment, with a word beside it. */
export interface Marker {
  at: number;
  text: string;
  /** "peak": where the most was held; "live": what the user asked for. */
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
  /** A moment was clicked. */
  onPick?: (at: number) => void;
}

const HEIGHT = 290;
const LEFT = 64;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 24;
/** Less movement than this (px) is a click. */
const CLICK_PX = 4;
/** A second click within this time is a double click, and the first one did not mean anything. */
const DOUBLE_MS = 250;

/** Step curves of sizes over time. Drag zooms, double click resets, a click picks a moment; arrows and Enter too. */
export function StepChart({ label, series, range, markers, onZoom, onReset, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [pointer, setPointer] = useState<number | null>(null);
  const [drag, setDrag] = useState<number | null>(null);
  const picking = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const read = () => setWidth(element.clientWidth);
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => () => clearTimeout(picking.current), []);

  const [from, to] = range;
  const right = Math.max(LEFT + 10, width - RIGHT);
  const bottom = HEIGHT - BOTTOM;
  const largest = largestWithin(series, from, to);
  const bytes = format.unitFor(format.BYTE_UNITS, largest);
  const x = linear(from, to, LEFT, right);
  const y = linear(0, roundTop(largest, bytes, 5), bottom, TOP);
  const clampX = (pixel: number) => Math.max(LEFT, Math.min(right, pixel));
  const pixelOf = (event: PointerEvent) => clampX(event.clientX - (box.current?.getBoundingClientRect().left ?? 0));

  const pickLater = (at: number) => {
    clearTimeout(picking.current);
    picking.current = setTimeout(() => onPick?.(at), DOUBLE_MS);
  };
  const onUp = (event: PointerEvent) => {
    if (drag === null) return;
    const end = pixelOf(event);
    setDrag(null);
    if (Math.abs(end - drag) < CLICK_PX) pickLater(Math.round(x.value(end)));
    else onZoom(Math.round(x.value(Math.min(drag, end))), Math.round(x.value(Math.max(drag, end))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      const at = pointer === null ? (from + to) / 2 : x.value(pointer);
      const next = neighbour(series, at, event.key === "ArrowRight" ? 1 : -1);
      if (next !== null) setPointer(clampX(x.pixel(next)));
    } else if (event.key === "Enter" && pointer !== null) {
      onPick?.(Math.round(x.value(pointer)));
    } else if (event.key === "Escape") {
      onReset();
    }
  };

  return (
    <div
      ref={box}
      class="chart mem-chart"
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is operated with the keyboard
      tabIndex={0}
      style={{ height: `${HEIGHT}px` }}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag(pixelOf(event));
      }}
      onPointerMove={(event) => setPointer(pixelOf(event))}
      onPointerUp={onUp}
      onPointerCancel={() => setDrag(null)}
      onPointerLeave={() => setPointer(null)}
      onDblClick={() => {
        clearTimeout(picking.current);
        onReset();
      }}
    >
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <Axes x={x} y={y} bytes={bytes} bottom={bottom} right={right} />
          <Lines series={series} x={x} y={y} />
          {markers.map((marker) => (
            <MarkerLine key={marker.kind} marker={marker} x={x} bottom={bottom} />
          ))}
          {drag !== null && pointer !== null && (
            <rect
              class="mem-drag"
              x={Math.min(drag, pointer)}
              y={TOP}
              width={Math.abs(pointer - drag)}
              height={bottom - TOP}
            />
          )}
          {pointer !== null && <line class="mem-cross" x1={pointer} x2={pointer} y1={TOP} y2={bottom} />}
        </svg>
      )}
      {pointer !== null && <Hover series={series} at={Math.round(x.value(pointer))} pixel={pointer} width={width} />}
    </div>
  );
}

/** The next record of any line after (or before) a moment. */
function neighbour(series: readonly Series[], at: number, direction: 1 | -1): number | null {
  let best: number | null = null;
  for (const { time } of series) {
    const after = upperBound(time, at);
    const found = direction === 1 ? time[after] : time[time[after - 1] === at ? after - 2 : after - 1];
    if (found === undefined) continue;
    if (best === null || (found - best) * direction < 0) best = found;
  }
  return best;
}

function Axes({
  x,
  y,
  bytes,
  bottom,
  right,
}: {
  x: Scale;
  y: Scale;
  bytes: format.Unit;
  bottom: number;
  right: number;
}) {
  const time = format.unitFor(format.TIME_UNITS, Math.max(Math.abs(x.from), Math.abs(x.to)));
  const most = Math.max(2, Math.min(12, Math.floor((right - LEFT) / 110)));
  return (
    <g class="mem-axes">
      {ticks(0, y.to, bytes, 5).map((tick, index, all) => (
        <g key={tick.value}>
          <line x1={LEFT} x2={right} y1={y.pixel(tick.value)} y2={y.pixel(tick.value)} />
          <text x={LEFT - 6} y={y.pixel(tick.value) + 4} text-anchor="end">
            {index === all.length - 1 ? `${tick.label} ${bytes.name}` : tick.label}
          </text>
        </g>
      ))}
      {ticks(x.from, x.to, time, most).map((tick) => (
        <text key={tick.value} x={x.pixel(tick.value)} y={bottom + 16} text-anchor="middle">
          {`${tick.label} ${time.name}`}
        </text>
      ))}
    </g>
  );
}

function Lines({ series, x, y }: { series: readonly Series[]; x: Scale; y: Scale }) {
  return (
    <g class="mem-lines">
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

function MarkerLine({ marker, x, bottom }: { marker: Marker; x: Scale; bottom: number }) {
  if (marker.at < x.from || marker.at > x.to) return null;
  const pixel = x.pixel(marker.at);
  const isRight = pixel > x.pixel((x.from + x.to) / 2);
  const top = marker.kind === "peak" ? TOP : TOP + 14;
  return (
    <g class={`mem-marker ${marker.kind}`}>
      <line x1={pixel} x2={pixel} y1={TOP} y2={bottom} />
      <text x={pixel + (isRight ? -5 : 5)} y={top + 9} text-anchor={isRight ? "end" : "start"}>
        {marker.text}
      </text>
    </g>
  );
}

/** All values at the moment under the pointer. */
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
