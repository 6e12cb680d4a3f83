import { useRef } from "preact/hooks";
import type { Device, Roofline, RooflinePoint } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Button, Card, formatPick } from "../../widgets";
import { linear, type Scale } from "../../widgets/scale";
import { useWidth } from "../../widgets/use_width";
import { chooseFigure, type Figure, isTyped } from "./device";

const HEIGHT = 260;
const FRAME = { left: 60, top: 26, bottom: HEIGHT - 40 };
const TERA = 12;
/** Colour of a point by its bound. */
const COLORS: Readonly<Record<string, string>> = {
  Cube: "var(--c-compute)",
  Vector: "var(--c-vec)",
  MTE2: "var(--c-brown)",
  MTE3: "var(--c-brown)",
  MTE1: "var(--c-mix)",
  FixPipe: "var(--c-pink)",
  Scalar: "var(--c-prep)",
  "No bound": "var(--c-dim)",
};
const OTHER = "var(--c-plum)";
const UNKNOWN = "var(--c-free)";

const colorOf = (bound: string | null) => (bound === null ? UNKNOWN : (COLORS[bound] ?? OTHER));

/** The matrix kernels by FLOPs per byte and FLOPs per second, below what the device could do; without a roof, what it lacks. */
export function RooflineCard({ roofline, period }: { roofline: Roofline; period: Period }) {
  const dots = dotsOf(roofline.points);
  if (dots.length === 0) return null;
  const lacking = lackingOf(roofline.device);
  const head = { title: t("kernel.roofline"), help: t("kernel.roofline.help"), subtitle: summary(roofline, period) };
  if (lacking) {
    return (
      <Card class="span-12" {...head} actions={<Peaks device={roofline.device} />}>
        <p class="muted">{t(`kernel.roofline.lacks.${lacking}`)}</p>
      </Card>
    );
  }
  return (
    <Card
      class="span-12"
      {...head}
      actions={<Peaks device={roofline.device} />}
      chart={{ name: "kernel-roofline", csv: () => pointsCsv(dots) }}
    >
      <Plot dots={dots} device={roofline.device} />
      <Legend dots={dots} />
    </Card>
  );
}

/** What the roof lacks; null if there is one. */
export function lackingOf({ peak_flops: peak, bandwidth }: Device): "both" | "peak" | "bandwidth" | null {
  if (peak === null) return bandwidth === null ? "both" : "peak";
  return bandwidth === null ? "bandwidth" : null;
}

/** Kernels from this share of computing time on are all of it. */
const WHOLE = 0.9995;

/** "MFU 14.9 %, of the step ≥ 0.3 %; FLOPs are known for 31.6 % of computing time". */
export function summary({ mfu, steps, known_share: share }: Roofline, period: Period): string {
  const known = steps.filter((step) => step.mfu !== null);
  const mean = known.reduce((sum, step) => sum + (step.mfu ?? 0), 0) / known.length;
  const isPart = (share ?? 0) < WHOLE;
  const parts = [];
  if (mfu !== null) parts.push(t("kernel.roofline.mfu", { share: format.percentOfRatio(mfu) }));
  if (known.length > 0)
    parts.push(
      tOf(period, "kernel.roofline.step_mfu", { share: `${isPart ? "≥ " : ""}${format.percentOfRatio(mean)}` }),
    );
  parts.push(t("kernel.roofline.known", { share: format.percentOfRatio(share) }));
  return parts.join(" · ");
}

/** Fields for peak and bandwidth; empty: those of the device. */
function Peaks({ device }: { device: Device }) {
  return (
    <span class="roof-peaks">
      <Peak name="peak" unit="TFLOP/s" value={device.peak_flops} scale={1e12} origin={device.peak_origin} />
      <Peak name="bandwidth" unit="GB/s" value={device.bandwidth} scale={1e9} origin={device.bandwidth_origin} />
    </span>
  );
}

interface PeakProps {
  name: Figure;
  unit: string;
  value: number | null;
  scale: number;
  origin: Device["peak_origin"];
}

function Peak({ name, unit, value, scale, origin }: PeakProps) {
  const shown = value === null ? "" : String(Number((value / scale).toPrecision(6)));
  return (
    <label data-tip={t(`kernel.roofline.${name}.tip`)}>
      {t(`kernel.roofline.${name}`)}{" "}
      <input
        class="control"
        type="text"
        inputMode="decimal"
        key={shown}
        defaultValue={shown}
        placeholder={t("kernel.roofline.unknown")}
        onChange={(event) => chooseFigure(name, figureOf(event.currentTarget.value))}
      />{" "}
      {unit} {origin && <span class="muted">{t(`kernel.roofline.${origin}`)}</span>}
      {isTyped(name) && (
        <Button look="control plain" name={t("kernel.roofline.reset")} onClick={() => chooseFigure(name, null)}>
          ✕
        </Button>
      )}
    </label>
  );
}

function Plot({ dots, device }: { dots: readonly Dot[]; device: Device }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const axes = axesOf(dots, device, { ...FRAME, right: Math.max(FRAME.left + 10, width - 16) });
  return (
    <div ref={box} class="chart roof" style={{ height: `${HEIGHT}px` }}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={t("kernel.roofline")}>
          <Grid axes={axes} />
          <path class="roof-line" d={roofPath(axes, device)} />
          {[...dots].reverse().map((dot) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table selects by keyboard
            <circle
              key={keyOf(dot.point)}
              class={isSelected(dot.point) ? "on" : ""}
              cx={round(axes.x.pixel(Math.log10(dot.intensity)))}
              cy={round(axes.y.pixel(Math.log10(dot.rate)))}
              r={5}
              fill={colorOf(dot.point.bound)}
              data-tip={tipOf(dot)}
              onClick={() => select(dot.point)}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

const keyOf = (point: RooflinePoint) => `${point.name} ${point.input_shapes} ${point.input_types} ${point.gflops}`;

function isSelected(point: RooflinePoint): boolean {
  const pick = formatPick("input_shapes", point.input_shapes ?? "");
  return param("kernel.pick") === formatPick("name", point.name) && param("kernel.core") === pick;
}

/** Lists the kernels of a point in the table. */
function select(point: RooflinePoint): void {
  setParams({
    "kernel.tab": "all",
    "kernel.pick": formatPick("name", point.name),
    "kernel.core": formatPick("input_shapes", point.input_shapes ?? ""),
  });
}

function tipOf({ point, intensity, rate }: Dot): string {
  const mean = format.duration(point.total_ns / point.calls, 2);
  return [
    point.name,
    `${point.type ?? format.UNKNOWN} · ${point.bound ?? format.UNKNOWN}`,
    `${point.input_shapes ?? format.UNKNOWN} · ${point.input_types ?? format.UNKNOWN}`,
    `${format.integer(point.calls)} × ${mean}`,
    `${format.decimal(rate / 1e12, 2)} TFLOP/s · MFU ${format.percentOfRatio(point.mfu)}`,
    `${format.decimal(intensity, 1)} FLOP/B`,
  ].join("\n");
}

function Grid({ axes: { x, y } }: { axes: Axes }) {
  return (
    <g>
      {decadesOf(y).map((power) => (
        <g key={power}>
          <line x1={x.pixel(x.from)} x2={x.pixel(x.to)} y1={y.pixel(power)} y2={y.pixel(power)} />
          <text x={FRAME.left - 6} y={y.pixel(power) + 4} text-anchor="end">
            {powerText(power - TERA)}
          </text>
        </g>
      ))}
      {decadesOf(x).map((power) => (
        <g key={power}>
          <line x1={x.pixel(power)} x2={x.pixel(power)} y1={FRAME.top} y2={FRAME.bottom} />
          <text x={x.pixel(power)} y={FRAME.bottom + 15} text-anchor="middle">
            {powerText(power)}
          </text>
        </g>
      ))}
      <text x={x.pixel(x.to)} y={FRAME.bottom + 32} text-anchor="end">
        {t("kernel.roofline.x")}
      </text>
      <text x={FRAME.left - 6} y={FRAME.top - 14} text-anchor="end">
        TFLOP/s
      </text>
    </g>
  );
}

/** 10^2 as "100", 10^-2 as "0.01". */
const powerText = (power: number) => format.fixedDecimals(10 ** power, Math.max(0, -power));

function Legend({ dots }: { dots: readonly Dot[] }) {
  const found = [...new Set(dots.map((dot) => dot.point.bound))];
  return (
    <div class="legend">
      <span class="muted">{t("kernel.roofline.bound")}</span>
      {found.map((bound) => (
        <span key={bound}>
          <i class="swatch round" style={{ background: colorOf(bound) }} /> {bound ?? t("core.unknown")}
        </span>
      ))}
    </div>
  );
}

function pointsCsv(dots: readonly Dot[]): string {
  const names = ["name", "type", "input_shapes", "bound"] as const;
  const figures = ["calls", "total_ns", "gflops", "least_bytes", "mfu"] as const;
  const keys = [...names, ...figures];
  const rows = dots.map(({ point, intensity, rate }) => [...keys.map((key) => point[key]), intensity, rate]);
  return csvText([...keys, "flops_per_byte", "flops_per_second"], rows);
}

/** A point of the roofline plot. */
interface Dot {
  point: RooflinePoint;
  /** FLOPs per byte of the least traffic. */
  intensity: number;
  /** FLOPs per second. */
  rate: number;
}

/** The kernels of the plot; those without traffic are left out. */
export function dotsOf(points: readonly RooflinePoint[]): Dot[] {
  return points
    .filter((point) => point.least_bytes > 0 && point.total_ns > 0 && point.gflops > 0)
    .map((point) => ({
      point,
      intensity: (point.gflops * 1e9) / point.least_bytes,
      rate: (point.gflops * 1e18 * point.calls) / point.total_ns,
    }));
}

/** Both axes in decades: powers of ten. */
interface Axes {
  x: Scale;
  y: Scale;
}

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Axes that hold all points, the peak and the ridge, in whole decades. */
export function axesOf(dots: readonly Dot[], device: Device, frame: Frame): Axes {
  const { peak_flops: peak, bandwidth } = device;
  const ridge = peak !== null && bandwidth !== null ? [peak / bandwidth] : [];
  const [left, right] = decades([...dots.map((dot) => dot.intensity), ...ridge]);
  const [low, high] = decades([...dots.map((dot) => dot.rate), ...(peak === null ? [] : [peak])]);
  return { x: linear(left, right, frame.left, frame.right), y: linear(low, high, frame.bottom, frame.top) };
}

function decades(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const logs = values.map(Math.log10);
  const from = Math.floor(Math.min(...logs));
  return [from, Math.max(from + 1, Math.ceil(Math.max(...logs)))];
}

/** Exponents of the powers of ten on an axis. */
export function decadesOf({ from, to }: Scale): number[] {
  return Array.from({ length: Math.round(to - from) + 1 }, (_, index) => Math.round(from) + index);
}

/** The roof as an SVG path: along the bandwidth up to the ridge, then along the peak. Empty where one is unknown. */
export function roofPath({ x, y }: Axes, { peak_flops: peak, bandwidth }: Device): string {
  if (peak === null || bandwidth === null) return "";
  const top = y.pixel(Math.log10(peak));
  const right = `H${round(x.pixel(x.to))}`;
  const ridge = Math.log10(peak / bandwidth);
  // Where the bandwidth meets the left edge or the bottom.
  const start = Math.max(x.from, y.from - Math.log10(bandwidth));
  const begin = y.pixel(start + Math.log10(bandwidth));
  return `M${round(x.pixel(start))},${round(begin)}L${round(x.pixel(ridge))},${round(top)}${right}`;
}

const round = (pixel: number) => Math.round(pixel * 100) / 100;

/** A figure that the user typed, as a parameter: null if it is none. */
export function figureOf(text: string): string | null {
  const value = Number(text);
  return text.trim() !== "" && value > 0 && value < 1e9 ? String(value) : null;
}
