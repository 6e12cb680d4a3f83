import { FREE, PARTS } from "../base/color";
import { csvText } from "../base/csv";

/** A part of a whole, before it is drawn. */
export interface Part {
  id: string;
  label: string;
  value: number;
  /** A CSS colour; default: by order of size. */
  color?: string;
  /** True if no table can be filtered by it. */
  isFixed?: boolean;
}

/** A drawn part. `count`: number of combined parts, 0 for a single one. */
export interface DrawnPart {
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
    color: part.color ?? PARTS[index % PARTS.length] ?? FREE,
    share: part.value / whole,
    count: 0,
    isFixed: part.isFixed === true,
  }));
  const rest = sized.slice(keep);
  const count = rest.length + unlisted.count;
  if (count > 0) {
    const value = rest.reduce((sum, part) => sum + part.value, unlisted.value);
    drawn.push({ id: OTHER, label: "", value, color: FREE, share: value / whole, count, isFixed: true });
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
