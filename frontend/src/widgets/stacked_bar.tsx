import { useRef } from "preact/hooks";
import * as format from "../base/format";
import { textWidth } from "../base/text_width";
import { useWidth } from "./use_width";

export interface BarPart {
  id: string;
  label: string;
  /** ns; null (unknown) has no width. */
  value: number | null;
  color: string;
  /** Texts inside the part, the longest first; default: `label`. */
  labels?: readonly string[];
  /** Hatched: unknown, or not certain to be this part. */
  isHatched?: boolean;
  /** Tooltip of the part. */
  help?: string;
  /** True if drawn outside the whole: it has no share. */
  outside?: boolean;
}

interface Props {
  parts: readonly BarPart[];
  /** Value of the full width; default: the sum of the parts. */
  whole?: number;
  thin?: boolean;
  onClick?: (id: string) => void;
}

/** Size of the labels, and the room beside them, px. */
const LABEL_SIZE = 11;
const LABEL_ROOM = 8;

/** A budget as one bar: each part as wide as its share, with a label if it fits. */
export function StackedBar({ parts, whole, thin = false, onClick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const sum = wholeOf(parts);
  const full = Math.max(
    whole ?? 0,
    parts.reduce((total, part) => total + (part.value ?? 0), 0),
  );
  const summary = (part: BarPart) =>
    [`${part.label}: ${format.duration(part.value)}`, part.outside ? "" : format.shareOf(part.value, sum)]
      .filter(Boolean)
      .join(", ");
  const drawn = parts.filter((part) => (part.value ?? 0) > 0);
  const labelOf = ({ label, labels = [label] }: BarPart, room: number) =>
    labels.find((text) => textWidth(text, "sans", LABEL_SIZE) + LABEL_ROOM <= room) ?? "";
  return (
    <div ref={box} class={`budget ${thin ? "thin" : ""}`} role="img" aria-label={drawn.map(summary).join("; ")}>
      {drawn.map((part) => {
        const ratio = (part.value ?? 0) / full;
        const tip = part.help ? `${summary(part)}\n${part.help}` : summary(part);
        const style = {
          width: `${ratio * 100}%`,
          backgroundColor: part.color,
          color: part.color.replace("--c-", "--on-"),
        };
        const text = thin ? "" : labelOf(part, ratio * width);
        const label = part.isHatched && text ? <span>{text}</span> : text;
        const hatch = part.isHatched ? "hatched" : "";
        return onClick ? (
          <button
            type="button"
            key={part.id}
            class={hatch}
            style={style}
            data-tip={tip}
            onClick={() => onClick(part.id)}
          >
            {label}
          </button>
        ) : (
          <span key={part.id} class={hatch} style={style} data-tip={tip}>
            {label}
          </span>
        );
      })}
    </div>
  );
}

/** Sum of the parts that have a share. */
export function wholeOf(parts: readonly BarPart[]): number {
  return parts.reduce((total, part) => total + (part.outside ? 0 : (part.value ?? 0)), 0);
}

/** Colours and names, with value and share of the sum where `hasValues`. One unit for all. */
export function Legend({ parts, hasValues = false }: { parts: readonly BarPart[]; hasValues?: boolean }) {
  const sum = wholeOf(parts);
  const unit = format.timeUnit(parts.map((part) => part.value));
  return (
    <div class="legend">
      {parts.map((part) => (
        <span key={part.id} data-tip={part.help}>
          <i class={`swatch ${part.isHatched ? "hatched" : ""}`} style={{ backgroundColor: part.color }} />
          {part.label}
          {hasValues && (
            <>
              <b data-tip={format.exactDuration(part.value)}>
                {part.value === null ? format.UNKNOWN : `${format.inUnit(part.value, unit)} ${unit.name}`}
              </b>
              {!part.outside && format.shareOf(part.value, sum)}
            </>
          )}
        </span>
      ))}
    </div>
  );
}

interface HBarProps {
  /** 0..1 of the largest value. */
  ratio: number;
  color?: string;
}

/** A bar in a table cell; neutral without a meaning. */
export function HBar({ ratio, color = "var(--n3)" }: HBarProps) {
  if (!(ratio > 0)) return null;
  const width = Math.max(0, Math.min(1, ratio)) * 100;
  return <span class="hbar" aria-hidden="true" style={{ width: `${width}%`, background: color }} />;
}
