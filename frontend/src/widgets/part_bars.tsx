import * as format from "../base/format";
import { t } from "../i18n";
import { largestParts, type Part } from "./donut_parts";
import { HBar } from "./hbar";
import { Empty } from "./states";

interface Props {
  parts: readonly Part[];
  /** Size and number of parts that are not in the list. */
  unlisted: { value: number; count: number };
  /** Number of separate bars; the rest is "other". */
  most: number;
  selected: string | null;
  /** A click on a bar; null if it was selected. "Other" cannot be chosen. */
  onSelect: (id: string | null) => void;
}

/** The largest parts as bars: more parts than a ring can show. */
export function PartBars({ parts, unlisted, most, selected, onSelect }: Props) {
  const drawn = largestParts(parts, most, unlisted);
  if (drawn.length === 0) return <Empty text={t("chart.none")} />;
  const largest = Math.max(...drawn.map((part) => part.value));
  const unit = format.columnUnit(format.TIME_UNITS, [largest]);
  return (
    <div class="part-bars">
      {drawn.map((part) => {
        const name = part.count > 0 ? t("chart.other", { count: part.count }) : part.label;
        return (
          <button
            type="button"
            key={part.id}
            disabled={part.isFixed}
            aria-pressed={part.id === selected}
            onClick={() => onSelect(part.id === selected ? null : part.id)}
          >
            <span class="ellipsis" data-tip-cut>
              {name}
            </span>
            <span class="part-bar">
              <HBar ratio={part.value / largest} color={part.count > 0 ? part.color : "var(--c-compute)"} />
            </span>
            <span class="mono" data-tip={format.exactDuration(part.value)}>
              {format.fixedDecimals(part.value / unit.scale, unit.scale === 1 ? 0 : 3)} {unit.name}
            </span>
            <span class="mono">{format.percentOfRatio(part.share)}</span>
          </button>
        );
      })}
    </div>
  );
}
