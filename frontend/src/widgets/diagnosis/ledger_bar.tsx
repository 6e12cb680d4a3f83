import type * as format from "../../base/format";
import { ticks } from "../scale";
import { StackedBar } from "../stacked_bar";
import { barParts, type NamedLedger, splitRows } from "./ledger";

interface Props {
  ledger: NamedLedger;
  unit: format.Unit;
}

/** Largest part of the width for the time before the first task; a longer time is cut. */
const MOST_BEFORE = 0.2;
/** A shorter time before the first task is not drawn. */
const LEAST_BEFORE = 0.003;
const MOST_TICKS = 8;
/** A tick closer to the end of the bar has no room. */
const LAST_TICK = 0.97;

/** The step of a rank as one bar with its scale. The time before its first task stands in front, on the same scale. */
export function LedgerBar({ ledger, unit }: Props) {
  const [rows, outside] = splitRows(ledger);
  const before = outside.find(({ kind }) => kind === "before");
  const share = before ? Math.min(MOST_BEFORE, before.ns / (before.ns + ledger.window_ns)) : 0;
  const flat = rows.flatMap((row) => (row.kind === "waiting" && row.parts.length > 0 ? row.parts : [row]));
  const marks = ticks(0, ledger.window_ns, unit, MOST_TICKS).filter(
    ({ value }) => value <= LAST_TICK * ledger.window_ns,
  );
  const isDrawn = before !== undefined && share >= LEAST_BEFORE;
  return (
    <div class="ledger-bar" style={isDrawn ? { gridTemplateColumns: `${share}fr ${1 - share}fr` } : undefined}>
      {isDrawn && <StackedBar parts={barParts([before], unit).map((part) => ({ ...part, outside: true }))} />}
      <div>
        <StackedBar parts={barParts(flat, unit)} />
        <div class="ledger-axis mono" aria-hidden="true">
          {marks.map(({ value, label }) => (
            <span key={label} style={{ left: `${(100 * value) / ledger.window_ns}%` }}>
              {value === 0 ? `${label} ${unit.name}` : label}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}
