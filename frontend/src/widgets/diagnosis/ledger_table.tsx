import type { DiagnosisJson, FindingJson, LedgerRowJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, textOf, tOf } from "../../i18n";
import { message, say } from "../parts";
import { type HeadCell, TableHead } from "../table_head";
import { ViewLink } from "../view_link";
import { EvidenceLinks, FindingFix, FindingText, Saving } from "./finding";
import { colorOf, countedState, isHatched, isOutside, type NamedLedger, splitRows } from "./ledger";

interface Props {
  data: DiagnosisJson;
  /** null: only the findings. */
  ledger: NamedLedger | null;
  /** The findings that are shown. */
  shown: readonly FindingJson[];
  unit: format.Unit;
}

/** The entries of the step with the findings that would shorten them, then the other findings. */
export function LedgerTable(props: Props) {
  const { data, ledger, shown, unit } = props;
  const [rows, outside] = ledger ? splitRows(ledger) : [[], []];
  const placed = ledger ? placedIn(ledger.rows) : [];
  const others = shown.filter((one) => !placed.includes(data.findings.indexOf(one)));
  const lines = (row: LedgerRowJson) => <RowLines key={say(row.title)} {...props} row={row} isChild={false} />;
  if (!ledger && others.length === 0) return null;
  return (
    <table class={`ledger ${ledger ? "" : "findings"}`}>
      <TableHead cells={headOf(props)} />
      <tbody>
        {rows.map(lines)}
        {ledger && <SumLine data={data} ledger={ledger} unit={unit} />}
        {outside.map(lines)}
        {ledger && others.length > 0 && (
          <tr class="group">
            <th colSpan={7} scope="colgroup">
              {t(data.step === null ? "diagnosis.others" : "diagnosis.of_mean")}
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

/** Indices of the findings that have a row. */
function placedIn(rows: readonly LedgerRowJson[]): number[] {
  return rows.flatMap(({ findings, parts }) => [...findings, ...placedIn(parts)]);
}

function headOf({ data: { period }, ledger, unit }: Props): readonly (HeadCell | false)[] {
  return [
    [ledger ? message("ledger.column.entry") : t("diagnosis.finding")],
    ledger !== null && [unit.name, "mono"],
    ledger !== null && [message("ledger.column.share", { period: message(`period.${period}`) }), "mono"],
    [message("ledger.column.what")],
    [message("ledger.column.fix")],
    [message("ledger.column.saves", { unit: unit.name }), "mono"],
    [t("diagnosis.evidence")],
  ];
}

interface RowProps extends Props {
  row: LedgerRowJson;
  isChild: boolean;
}

/** A row, the rows that it consists of, and its findings. The first finding of lost time stands in the row itself. */
function RowLines(props: RowProps) {
  const { row, isChild, data, shown } = props;
  const found = shown.filter((one) => row.findings.includes(data.findings.indexOf(one)));
  const first = row.kind === "computing" ? undefined : found[0];
  return (
    <>
      <tr class={`entry ${isChild ? "child" : ""} ${isOutside(row) ? "outside" : ""}`}>
        <th scope="row">
          <i class={`swatch ${isHatched(row) ? "hatched" : ""}`} style={{ backgroundColor: colorOf(row) }} />
          <Title {...props} />
        </th>
        <Times {...props} />
        <td class="what">
          {row.what.map(say).map((text) => (
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
        <RowLines key={say(part.title)} {...props} row={part} isChild />
      ))}
    </>
  );
}

/** The name of a row; a link to what it counts. */
function Title({ row, ledger, data }: RowProps) {
  const state = ledger && countedState(row, ledger, data);
  const name = say(row.title);
  return row.counted && state ? (
    <ViewLink view={row.counted.view} state={state} ns={row.ns}>
      {name}
    </ViewLink>
  ) : (
    name
  );
}

/** Time with its bounds, and share of the step. */
function Times({ row, ledger, unit }: RowProps) {
  const { ns, low_ns: low, high_ns: high } = row;
  const range = message("ledger.range", { low: format.inUnit(low, unit), high: format.inUnit(high, unit) });
  return (
    <>
      <td class="mono time">
        <span data-tip={format.exactDuration(ns)}>{format.inUnit(ns, unit)}</span>
        {low !== high && <p class="muted">{range}</p>}
      </td>
      <td class="mono share">{!isOutside(row) && format.shareOf(ns, ledger?.window_ns)}</td>
    </>
  );
}

function FindingCells({ finding, data, unit }: Props & { finding: FindingJson | undefined }) {
  return (
    <>
      <td class="fix">{finding && <FindingFix finding={finding} />}</td>
      <td class="mono saves">{finding && <Saving finding={finding} unit={unit} period={data.period} />}</td>
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
        <span
          class={`swatch round severity ${finding.severity}`}
          data-tip={tOf(data.period, `diagnosis.severity.${finding.severity}`)}
        />
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
function SumLine({ data, ledger, unit }: { data: DiagnosisJson; ledger: NamedLedger; unit: format.Unit }) {
  const stake = data.step === null ? data.at_stake_ms_per_step * 1e6 : 0; // findings are about the mean step
  return (
    <tr class="sum">
      <th scope="row">{say(data.layout.step)}</th>
      <td class="mono time">{format.inUnit(ledger.window_ns, unit)}</td>
      <td class="mono share">{format.percentOfRatio(1)}</td>
      <td />
      <td class="stake" data-tip={t("diagnosis.stake.help")}>
        {stake > 0 && message("ledger.stake")}
      </td>
      <td class="mono saves">{stake > 0 && `≤ ${format.inUnit(stake, unit)}`}</td>
      <td>{stake > 0 && format.shareOf(stake, data.mean_step_ms * 1e6)}</td>
    </tr>
  );
}
