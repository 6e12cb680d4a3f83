import { useState } from "preact/hooks";
import { NAMES, OTHERS } from "../base/color";
import { csvText } from "../base/csv";
import * as format from "../base/format";
import { t } from "../i18n";
import { Button } from "./button";
import { HBar } from "./stacked_bar";
import { Empty } from "./states";
import { Cut, Time } from "./text";

interface Props {
  parts: readonly Part[];
  /** Number of separate parts, at most 7 (distinguishable shades); the rest is "other". */
  most?: number;
  /** Size and number of parts that are not in the list. */
  unlisted?: { value: number; count: number };
  /** Label of the sum in the middle. */
  under: string;
  /** Text if there is nothing to draw. */
  none?: string | undefined;
  /** Part selected as filter of a table. */
  selected?: string | null;
  /** A click on a part; null if it was selected. "Other" cannot be chosen. */
  onSelect?: (id: string | null) => void;
}

const MOST = 7;

/** Shares of a whole with a legend of values in one unit. */
export function Donut({ parts, most = MOST, unlisted, under, none, selected = null, onSelect }: Props) {
  const [hovered, setHovered] = useState<string | null>(null);
  const drawn = largestParts(parts, Math.min(most, MOST), unlisted);
  if (drawn.length === 0) return <Empty text={none ?? t("chart.none")} />;
  const whole = drawn.reduce((sum, part) => sum + part.value, 0);
  const valueText = inOneUnit(drawn);
  const wanted = hovered ?? selected;
  const focus = drawn.some((part) => part.id === wanted) ? wanted : null;
  const choose = (part: DrawnPart) => {
    if (onSelect && !part.isFixed) onSelect(part.id === selected ? null : part.id);
  };
  const labelled = drawn.map((part) => ({ ...part, label: nameOf(part) }));
  return (
    <div class="donut">
      <Ring
        parts={labelled}
        middle={format.duration(whole, 2)}
        under={under}
        focus={focus}
        valueText={valueText}
        onHover={setHovered}
        onChoose={choose}
      />
      <ul class="legend-table">
        {labelled.map((part) => {
          const canChoose = onSelect !== undefined && !part.isFixed;
          return (
            <li
              key={part.id}
              class={`${canChoose ? "can" : ""} ${focus !== null && focus !== part.id ? "off" : ""}`}
              onPointerEnter={() => setHovered(part.id)}
              onPointerLeave={() => setHovered(null)}
            >
              <span class="swatch" style={{ background: part.color }} />
              {canChoose ? (
                <button type="button" aria-pressed={part.id === selected} onClick={() => choose(part)}>
                  {part.label}
                </button>
              ) : (
                <span>{part.label}</span>
              )}
              <Time ns={part.value} text={valueText(part.value)} />
              <span class="mono">{format.percentOfRatio(part.share)}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Writes values in the unit of the largest. */
function inOneUnit(parts: readonly DrawnPart[]): (value: number) => string {
  const unit = format.timeUnit(parts.map(({ value }) => value));
  return (value) => `${format.inUnit(value, unit, 3)} ${unit.name}`;
}

function nameOf({ label, count }: DrawnPart): string {
  return count > 0 ? t("chart.other", { count }) : label;
}

interface RingProps {
  parts: readonly DrawnPart[];
  middle: string;
  under: string;
  focus: string | null;
  valueText: (value: number) => string;
  onHover: (id: string | null) => void;
  onChoose: (part: DrawnPart) => void;
}

function Ring({ parts, middle, under, focus, valueText, onHover, onChoose }: RingProps) {
  let turn = 0;
  const summary = (part: DrawnPart) =>
    t("chart.summary", { name: part.label, value: valueText(part.value), share: format.percentOfRatio(part.share) });
  return (
    <svg viewBox="-75 -75 150 150" role="img" aria-label={parts.map(summary).join("; ")}>
      {parts.map((part) => {
        const start = turn;
        turn += part.share;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the legend beside it does the same with keys
          <path
            key={part.id}
            class={`arc ${focus !== null && focus !== part.id ? "dim" : ""}`}
            d={arcPath(start, turn, 74, 47)}
            fill={part.color}
            data-tip={summary(part)}
            onPointerEnter={() => onHover(part.id)}
            onPointerLeave={() => onHover(null)}
            onClick={() => onChoose(part)}
          />
        );
      })}
      <text class="middle" text-anchor="middle" y="1">
        {middle}
      </text>
      <text class="under" text-anchor="middle" y="18">
        {under}
      </text>
    </svg>
  );
}

interface PartBarsProps {
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
export function PartBars({ parts, unlisted, most, selected, onSelect }: PartBarsProps) {
  const drawn = largestParts(parts, most, unlisted);
  if (drawn.length === 0) return <Empty text={t("chart.none")} />;
  const largest = Math.max(...drawn.map((part) => part.value));
  const valueText = inOneUnit(drawn);
  return (
    <div>
      {drawn.map((part) => {
        return (
          <Button
            key={part.id}
            look="bar-row part-bar"
            disabled={part.isFixed}
            pressed={part.id === selected}
            onClick={() => onSelect(part.id === selected ? null : part.id)}
          >
            <Cut>{nameOf(part)}</Cut>
            <span>
              <HBar ratio={part.value / largest} {...(part.count > 0 ? { color: part.color } : {})} />
            </span>
            <Time ns={part.value} text={valueText(part.value)} />
            <span class="mono">{format.percentOfRatio(part.share)}</span>
          </Button>
        );
      })}
    </div>
  );
}

/** A part of a whole, before it is drawn. */
export interface Part {
  id: string;
  label: string;
  value: number;
  /** The CSS colour of its meaning; default: neutral, by order of size. */
  color?: string;
  /** True if no table can be filtered by it. */
  isFixed?: boolean;
}

/** A drawn part. `count`: number of combined parts, 0 for a single one. */
interface DrawnPart {
  id: string;
  label: string;
  value: number;
  color: string;
  share: number;
  count: number;
  isFixed: boolean;
}

/** Id of the part that holds the rest. */
export const OTHER = "\u0000other";

/**
 * The largest parts, at most `most`, and one part with the rest; a rest of one part keeps its name. Skips parts of size
 * 0. `unlisted`: size and number of parts that are not in the list.
 */
export function largestParts(parts: readonly Part[], most: number, unlisted = { value: 0, count: 0 }): DrawnPart[] {
  const sized = parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
  const whole = sized.reduce((sum, part) => sum + part.value, unlisted.value);
  const keep = sized.length === most + 1 && unlisted.count === 0 ? most + 1 : most;
  const drawn: DrawnPart[] = sized.slice(0, keep).map((part, index) => ({
    id: part.id,
    label: part.label,
    value: part.value,
    color: part.color ?? NAMES[index] ?? OTHERS,
    share: part.value / whole,
    count: 0,
    isFixed: part.isFixed === true,
  }));
  const rest = sized.slice(keep);
  const count = rest.length + unlisted.count;
  if (count > 0) {
    const value = rest.reduce((sum, part) => sum + part.value, unlisted.value);
    drawn.push({ id: OTHER, label: "", value, color: OTHERS, share: value / whole, count, isFixed: true });
  }
  return drawn;
}

/** All parts, including those combined in the donut: name, ns and share. */
export function partsCsv(key: string, parts: readonly Part[], unlisted = { value: 0, count: 0 }): string {
  const whole = parts.reduce((sum, part) => sum + part.value, unlisted.value);
  const rows: [string, number, number][] = parts.map(({ label, value }) => [label, value, value / whole]);
  if (unlisted.count > 0) rows.push([`(${unlisted.count} more)`, unlisted.value, unlisted.value / whole]);
  return csvText(
    [key, "total_ns", "share"],
    rows.sort((a, b) => b[1] - a[1]),
  );
}

/** SVG path of a ring segment from `start` to `end` (0..1 of a turn, from the top, clockwise) around (0, 0). */
export function arcPath(start: number, end: number, outer: number, inner: number): string {
  // A full turn has equal ends, which SVG draws as nothing.
  const stop = Math.min(end, start + 0.99999);
  const point = (turn: number, radius: number) => {
    const angle = 2 * Math.PI * turn - Math.PI / 2;
    return `${(radius * Math.cos(angle)).toFixed(3)} ${(radius * Math.sin(angle)).toFixed(3)}`;
  };
  const large = stop - start > 0.5 ? 1 : 0;
  return (
    `M${point(start, outer)}A${outer} ${outer} 0 ${large} 1 ${point(stop, outer)}` +
    `L${point(stop, inner)}A${inner} ${inner} 0 ${large} 0 ${point(start, inner)}Z`
  );
}
