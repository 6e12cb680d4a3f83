import type { DiagnosisJson, FindingJson, LedgerJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, textOf } from "../../i18n";
import { message } from "../parts";
import { EvidenceLinks, FindingFix, FindingText, Saving } from "./finding";
import { chainText, isUnknown, kindsText, type LedgerRow, placeFindings, rowBefore, timeText } from "./ledger";

interface Props {
  data: DiagnosisJson;
  /** null: only the findings. */
  ledger: LedgerJson | null;
  rows: readonly LedgerRow[];
  /** The findings that are shown. */
  shown: readonly FindingJson[];
  unit: format.Unit;
}

/** The entries of the step with the findings that would shorten them, then the other findings. */
export function LedgerTable(props: Props) {
  const { data, ledger, rows, shown, unit } = props;
  const before = ledger && rowBefore(ledger);
  const all = before ? [...rows, before] : rows;
  const placed = ledger ? placeFindings(shown, all, ledger) : new Map<LedgerRow | null, FindingJson[]>();
  const others = ledger ? (placed.get(null) ?? []) : shown;
  const lines = (row: LedgerRow) => (
    <RowLines key={row.title} {...props} row={row} findings={(one) => placed.get(one) ?? []} isChild={false} />
  );
  if (!ledger && others.length === 0) return null;
  return (
    <table class={`ledger ${ledger ? "" : "findings"}`}>
      <Head unit={unit} hasLedger={ledger !== null} />
      <tbody>
        {rows.map(lines)}
        {ledger && <SumLine data={data} ledger={ledger} unit={unit} />}
        {before && lines(before)}
        {ledger && others.length > 0 && (
          <tr class="group">
            <th colSpan={7} scope="colgroup">
              {t("diagnosis.others")}
            </th>
          </tr>
        )}
        {others.map((finding, at) => (
          <FindingLine key={`${finding.rule} ${at}`} {...props} finding={finding} />
        ))}
      </tbody>
    </table>
  );
}

function Head({ unit, hasLedger }: { unit: format.Unit; hasLedger: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col">{hasLedger ? message("ledger.column.entry") : t("diagnosis.finding")}</th>
        {hasLedger && (
          <>
            <th scope="col" class="mono">
              {unit.name}
            </th>
            <th scope="col" class="mono">
              {message("ledger.column.share")}
            </th>
          </>
        )}
        <th scope="col">{message("ledger.column.what")}</th>
        <th scope="col">{message("ledger.column.fix")}</th>
        <th scope="col" class="mono">
          {message("ledger.column.saves", { unit: unit.name })}
        </th>
        <th scope="col">{t("diagnosis.evidence")}</th>
      </tr>
    </thead>
  );
}

interface RowProps extends Props {
  row: LedgerRow;
  findings: (row: LedgerRow) => readonly FindingJson[];
  isChild: boolean;
}

/** A row, the rows that it consists of, and its findings. The first finding of lost time stands in the row itself. */
function RowLines(props: RowProps) {
  const { row, findings, isChild, ledger, data } = props;
  const found = findings(row);
  const first = row.kind === "computing" ? undefined : found[0];
  const chain = ledger && row.parts.length === 0 ? chainText(row, ledger) : "";
  const facts = [row.kind === "before" ? message("ledger.outside") : kindsText(row), chain, hiddenText(row, ledger)];
  return (
    <>
      <tr class={`entry ${isChild ? "child" : ""} ${row.kind === "before" ? "outside" : ""}`}>
        <th scope="row">
          <i class={`swatch ${isUnknown(row.kind) ? "hatched" : ""}`} style={{ backgroundColor: row.color }} />
          {row.title}
        </th>
        <Times {...props} />
        <td class="what">
          {facts.filter(Boolean).map((text) => (
            <p key={text}>{text}</p>
          ))}
          {first && <FindingText finding={first} findings={data.findings} />}
        </td>
        <FindingCells {...props} finding={first} />
      </tr>
      {found.slice(first ? 1 : 0).map((finding, at) => (
        <FindingLine key={`${finding.rule} ${at}`} {...props} finding={finding} />
      ))}
      {row.parts.map((part) => (
        <RowLines key={part.title} {...props} row={part} isChild />
      ))}
    </>
  );
}

/** Communication behind computing, a part of it. */
function hiddenText({ kind }: LedgerRow, ledger: LedgerJson | null): string {
  const hidden = kind === "computing" ? (ledger?.hidden_ns ?? 0) : 0;
  return hidden > 0 ? message("ledger.hidden", { time: format.duration(hidden, 2) }) : "";
}

/** Time with its bounds, and share of the step. */
function Times({ row, ledger, unit }: RowProps) {
  const { ns, low, high } = row;
  const range = message("ledger.range", { low: timeText(low, unit), high: timeText(high, unit) });
  return (
    <>
      <td class="mono time">
        <span data-tip={format.exactDuration(ns)}>{timeText(ns, unit)}</span>
        {low !== high && <p class="muted">{range}</p>}
      </td>
      <td class="mono share">{row.kind !== "before" && format.shareOf(ns, ledger?.window_ns)}</td>
    </>
  );
}

function FindingCells({ finding, data, unit }: Props & { finding: FindingJson | undefined }) {
  return (
    <>
      <td class="fix">{finding && <FindingFix finding={finding} />}</td>
      <td class="mono saves">{finding && <Saving finding={finding} unit={unit} />}</td>
      <td>{finding && <EvidenceLinks finding={finding} ledgers={data.ledgers} />}</td>
    </>
  );
}

/** A finding on a line of its own. */
function FindingLine(props: Props & { finding: FindingJson }) {
  const { finding, ledger, data } = props;
  return (
    <tr class={ledger ? "child" : ""}>
      <th scope="row">
        <span class={`severity ${finding.severity}`} data-tip={t(`diagnosis.severity.${finding.severity}`)} />
        {textOf(finding, "title")}
      </th>
      {ledger && <td colSpan={2} />}
      <td class="what">
        <FindingText finding={finding} findings={data.findings} />
      </td>
      <FindingCells {...props} finding={finding} />
    </tr>
  );
}

/** The step, and what could be saved of it. */
function SumLine({ data, ledger, unit }: { data: DiagnosisJson; ledger: LedgerJson; unit: format.Unit }) {
  const stake = data.at_stake_ms_per_step * 1e6;
  return (
    <tr class="sum">
      <th scope="row">{stepTitle(data)}</th>
      <td class="mono time">{timeText(ledger.window_ns, unit)}</td>
      <td class="mono share">{format.percentOfRatio(1)}</td>
      <td />
      <td class="stake" data-tip={t("diagnosis.stake.help")}>
        {stake > 0 && message("ledger.stake")}
      </td>
      <td class="mono saves">{stake > 0 && `≤ ${timeText(stake, unit)}`}</td>
      <td>{stake > 0 && format.shareOf(stake, data.mean_step_ms * 1e6)}</td>
    </tr>
  );
}

/** "Step 13", "Mean of 3 steps". */
export function stepTitle({ steps, mean_steps: mean, repeats }: DiagnosisJson): string {
  const [first] = steps;
  if (repeats !== null && repeats > 1) return message("ledger.repeat", { count: repeats });
  if (first?.step == null) return message("ledger.capture");
  if (steps.length === 1) return message("ledger.step", { step: first.step });
  const isCut = mean > 0 && mean < steps.length;
  return isCut ? message("ledger.mean_whole", { count: mean }) : message("ledger.mean", { count: steps.length });
}
