import { useRef } from "preact/hooks";
import type { Device, Roofline, RooflinePoint } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Button, Card, formatPick } from "../../widgets";
import { useWidth } from "../../widgets/use_width";
import { type Axes, axesOf, type Dot, decadesOf, dotsOf, figureOf, roofPath, round } from "./roof";

const HEIGHT = 260;
const FRAME = { left: 60, top: 26, bottom: HEIGHT - 40 };
const TERA = 12;
/** Colour of a point by its bound. */
const COLORS: Readonly<Record<string, string>> = {
  Cube: "var(--c-compute)",
  Vector: "var(--c-vec)",
  MTE2: "var(--c-comm)",
  MTE3: "var(--c-comm)",
  MTE1: "var(--c-mix)",
  FixPipe: "var(--c-pink)",
  Scalar: "var(--c-prep)",
  "No bound": "var(--c-wait)",
};
const OTHER = "var(--c-over)";
const UNKNOWN = "var(--c-free)";

const colorOf = (bound: string | null) => (bound === null ? UNKNOWN : (COLORS[bound] ?? OTHER));

/** The matrix kernels by FLOPs per byte and FLOPs per second, below what the device could do. */
export function RooflineCard({ roofline, period }: { roofline: Roofline; period: Period }) {
  const dots = dotsOf(roofline.points);
  if (dots.length === 0) return null;
  return (
    <Card
      class="span-12"
      title={t("kernel.roofline")}
      help={t("kernel.roofline.help")}
      subtitle={summary(roofline, period)}
      actions={<Peaks device={roofline.device} />}
      chart={{ name: "kernel-roofline", csv: () => pointsCsv(dots) }}
    >
      <Plot dots={dots} device={roofline.device} />
      <Legend dots={dots} />
    </Card>
  );
}

/** "MFU 14.9 %, of the step 0.3 %; FLOPs are known for 31.6 % of computing time". */
function summary({ mfu, steps, known_share: share }: Roofline, period: Period): string {
  const known = steps.filter((step) => step.mfu !== null);
  const mean = known.reduce((sum, step) => sum + (step.mfu ?? 0), 0) / known.length;
  const parts = [];
  if (mfu !== null) parts.push(t("kernel.roofline.mfu", { share: format.percentOfRatio(mfu) }));
  if (known.length > 0) parts.push(tOf(period, "kernel.roofline.step_mfu", { share: format.percentOfRatio(mean) }));
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
  name: "peak" | "bandwidth";
  unit: string;
  value: number | null;
  scale: number;
  origin: Device["peak_origin"];
}

function Peak({ name, unit, value, scale, origin }: PeakProps) {
  const key = `kernel.${name}`;
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
        onChange={(event) => setParams({ [key]: figureOf(event.currentTarget.value) })}
      />{" "}
      {unit} {origin && <span class="muted">{t(`kernel.roofline.${origin}`)}</span>}
      {param(key) !== "" && (
        <Button look="control plain" name={t("kernel.roofline.reset")} onClick={() => setParams({ [key]: null })}>
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
  const header = [
    "name",
    "type",
    "input_shapes",
    "bound",
    "calls",
    "total_ns",
    "gflops",
    "least_bytes",
    "mfu",
  ] as const;
  return csvText(
    [...header, "flops_per_byte", "flops_per_second"],
    dots.map(({ point, intensity, rate }) => [...header.map((key) => point[key]), intensity, rate]),
  );
}
