import * as format from "../base/format";

export interface BarPart {
  id: string;
  label: string;
  /** ns; null (unknown) has no width. */
  value: number | null;
  color: string;
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

/** Parts narrower than this have no label. */
const LABEL_FROM = 0.08;

/** A budget as one bar: each part as wide as its share, with a label if it fits. */
export function StackedBar({ parts, whole, thin = false, onClick }: Props) {
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
  return (
    <div class={`budget ${thin ? "thin" : ""}`} role="img" aria-label={drawn.map(summary).join("; ")}>
      {drawn.map((part) => {
        const ratio = (part.value ?? 0) / full;
        const tip = part.help ? `${summary(part)}\n${part.help}` : summary(part);
        const style = { width: `${ratio * 100}%`, background: part.color, color: part.color.replace("--c-", "--on-") };
        const label = !thin && ratio >= LABEL_FROM ? part.label : "";
        return onClick ? (
          <button type="button" key={part.id} style={style} data-tip={tip} onClick={() => onClick(part.id)}>
            {label}
          </button>
        ) : (
          <span key={part.id} style={style} data-tip={tip}>
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
  const unit = format.columnUnit(
    format.TIME_UNITS,
    parts.map((part) => part.value),
  );
  return (
    <div class="legend">
      {parts.map((part) => (
        <span key={part.id} data-tip={part.help}>
          <i class="swatch" style={{ background: part.color }} />
          {part.label}
          {hasValues && (
            <>
              <b data-tip={format.exactDuration(part.value)}>
                {part.value === null
                  ? format.UNKNOWN
                  : `${format.fixedDecimals(part.value / unit.scale, unit.scale === 1 ? 0 : 2)} ${unit.name}`}
              </b>
              {!part.outside && format.shareOf(part.value, sum)}
            </>
          )}
        </span>
      ))}
    </div>
  );
}
