import { useRef } from "preact/hooks";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { linear, stepPath } from "../../widgets/scale";
import { useWidth } from "../../widgets/use_width";

interface Props {
  label: string;
  /** ns since the first sample, or batch numbers, ascending. */
  at: readonly (number | null)[];
  unit?: "time" | "batch";
  sizes: readonly (number | null)[];
  /** Capacity of the queue, if known. */
  top: number | null;
  average: number | null;
}

const HEIGHT = 120;
const LEFT = 40;
const BOTTOM = HEIGHT - 20;

/** Entries of a queue over time, with average and capacity. */
export function Samples({ label, at, unit = "time", sizes, top, average }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const times = at.map((time, index) => time ?? index);
  const most = Math.max(top ?? 0, 1, ...sizes.map((size) => size ?? 0));
  const last = times[times.length - 1] ?? 1;
  const x = linear(times[0] ?? 0, last, LEFT, Math.max(LEFT + 10, width - 8));
  const y = linear(0, most, BOTTOM, 8);
  return (
    <div ref={box} style={{ height: `${HEIGHT}px` }} role="img" aria-label={label}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true" class="data-chart">
          <line x1={LEFT} x2={width - 8} y1={BOTTOM} y2={BOTTOM} />
          <line x1={LEFT} x2={width - 8} y1={y.pixel(most)} y2={y.pixel(most)} />
          <text x={LEFT - 6} y={BOTTOM + 4} text-anchor="end">
            0
          </text>
          <text x={LEFT - 6} y={y.pixel(most) + 4} text-anchor="end">
            {format.integer(most)}
          </text>
          <text x={width - 8} y={HEIGHT - 4} text-anchor="end">
            {lastText(at, unit)}
          </text>
          {average !== null && (
            <line class="average" x1={LEFT} x2={width - 8} y1={y.pixel(average)} y2={y.pixel(average)} />
          )}
          <path d={stepPath(times, sizes, x, y)} />
        </svg>
      )}
    </div>
  );
}

/** Label of the axis end: a batch, a time, or the number of samples if no time is known. */
function lastText(at: Props["at"], unit: "time" | "batch"): string {
  const last = at[at.length - 1];
  if (unit === "batch") return t("data.batch", { number: format.integer(last ?? at.length) });
  return last == null ? format.integer(at.length) : format.duration(last);
}
