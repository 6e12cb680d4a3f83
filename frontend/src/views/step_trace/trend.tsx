import { useRef, useState } from "preact/hooks";
import type { StepTimes } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { Card } from "../../widgets";
import { linear, roundTop, type Scale, ticks } from "../../widgets/scale";
import { useWidth } from "../../widgets/use_width";
import type { PartKey } from "./parts";

interface Props {
  id: "gap" | "fp_bp" | "tail" | "total";
  keyName: PartKey;
  color: string;
  steps: readonly StepTimes[];
  mean: number | null;
  /** Index of the chosen step; -1: none. */
  chosen: number;
  onChoose: (index: number) => void;
}

/** Top of the axis if all values are 0, ns: gives whole ticks. */
const LEAST = 4;
const HEIGHT = 150;
const LEFT = 56;
const TOP = 10;
const BOTTOM = HEIGHT - 22;

/** One figure over the steps, with its mean; a click chooses a step. */
export function Trend({ id, keyName, color, steps, mean, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [over, setOver] = useState<number | null>(null);
  const values = steps.map((step) => step[keyName]);
  const largest = Math.max(LEAST, ...values.map((value) => value ?? 0));
  const unit = format.unitFor(format.TIME_UNITS, largest);
  const right = Math.max(LEFT + 10, width - 10);
  const x = linear(0, Math.max(1, steps.length - 1), LEFT, right);
  const y = linear(0, roundTop(largest, unit, 4), BOTTOM, TOP);
  const indexAt = (event: MouseEvent) => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    return Math.max(0, Math.min(steps.length - 1, Math.round(x.value(event.clientX - left))));
  };
  const shown = over ?? chosen;
  const label = t(`steps.${id}`);
  const current = steps[shown];
  return (
    <Card
      class="span-4"
      title={label}
      subtitle={
        current
          ? `${stepName(current, id === "total" ? "iteration" : "step")}: ${format.duration(current[keyName])}`
          : t("steps.mean.is", { time: format.duration(mean) })
      }
      chart={{
        name: `step-${id}`,
        csv: () =>
          csvText(
            ["step", "ns"],
            steps.map((step) => [step.step, step[keyName]]),
          ),
      }}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the steps can be chosen with the keyboard in the list above */}
      <div
        ref={box}
        class="chart steps-trend"
        role="img"
        aria-label={label}
        style={{ height: `${HEIGHT}px` }}
        onMouseMove={(event) => setOver(indexAt(event))}
        onMouseLeave={() => setOver(null)}
        onClick={(event) => onChoose(indexAt(event))}
      >
        {width > 0 && <Plot {...{ steps, values, x, y, unit, mean, shown, color, width }} />}
      </div>
    </Card>
  );
}

interface PlotProps {
  steps: readonly StepTimes[];
  values: readonly (number | null)[];
  x: Scale;
  y: Scale;
  unit: format.Unit;
  mean: number | null;
  /** Index of the hovered or chosen step, -1: none. */
  shown: number;
  color: string;
  width: number;
}

function Plot({ steps, values, x, y, unit, mean, shown, color, width }: PlotProps) {
  const right = x.pixel(x.to);
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks(0, y.to, unit, 4).map((tick, index, all) => (
        <g key={tick.value}>
          <line x1={LEFT} x2={right} y1={y.pixel(tick.value)} y2={y.pixel(tick.value)} />
          <text x={LEFT - 6} y={y.pixel(tick.value) + 4} text-anchor="end">
            {index === all.length - 1 ? `${tick.label} ${unit.name}` : tick.label}
          </text>
        </g>
      ))}
      <text x={LEFT} y={HEIGHT - 4}>
        {steps[0]?.step ?? ""}
      </text>
      {steps.length > 1 && (
        <text x={right} y={HEIGHT - 4} text-anchor="end">
          {steps[steps.length - 1]?.step ?? ""}
        </text>
      )}
      {mean !== null && <line class="mean" x1={LEFT} x2={right} y1={y.pixel(mean)} y2={y.pixel(mean)} />}
      {shown >= 0 && <line class="at" x1={x.pixel(shown)} x2={x.pixel(shown)} y1={TOP} y2={BOTTOM} />}
      <path d={linePath(values, x.pixel, y.pixel)} style={{ stroke: color }} />
      {steps.length < 60 &&
        values.map((value, index) =>
          value === null ? null : (
            <circle key={steps[index]?.step} cx={x.pixel(index)} cy={y.pixel(value)} r={2.5} style={{ fill: color }} />
          ),
        )}
    </svg>
  );
}

/** A line through the known values, broken at unknown ones. */
function linePath(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  const round = (pixel: number) => Math.round(pixel * 100) / 100;
  let isBroken = true;
  const parts = values.map((value, index) => {
    if (value === null) {
      isBroken = true;
      return "";
    }
    const part = `${isBroken ? "M" : "L"}${round(x(index))},${round(y(value))}`;
    isBroken = false;
    return part;
  });
  return parts.join("");
}

export function stepName(step: StepTimes, period: Period = "step"): string {
  return step.step === null ? t("step.none") : `${tOf(period, "step.label")} ${step.step}`;
}
