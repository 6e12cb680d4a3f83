import type { DiffLedgerJson, OutcomeJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Period, t, textOf, tOf } from "../../i18n";
import { Card, TableHead } from "../../widgets";
import { partTitle } from "../../widgets/parts";

interface Props {
  data: DiffLedgerJson;
  /** Letters of the two captures. */
  pair: string;
  period: Period;
}

/** Colours of what became of a finding. */
const LOOKS: Readonly<Record<OutcomeJson["fate"], string>> = {
  gone: "good",
  smaller: "good",
  same: "",
  larger: "worse",
  unchecked: "muted",
};

/** The findings of one capture: whether they are gone in the other, and what that saved. */
export function OutcomesCard({ data: { outcomes }, pair, period }: Props) {
  if (outcomes.length === 0) return null;
  const unit = format.timeUnit(outcomes.map((one) => one.promised_ns));
  const names = { first: pair[0] ?? "", last: pair[1] ?? "" };
  return (
    <Card title={t("diff.outcomes", names)} help={tOf(period, "diff.outcomes.help", names)}>
      <table class="outcomes">
        <TableHead
          cells={[
            [t("diff.outcomes.finding", names)],
            [t("diff.outcomes.fate", names)],
            [t("diff.outcomes.promised", { unit: unit.name }), "mono", t("diff.outcomes.promised.tip", names)],
            [t("diff.outcomes.saved", { unit: unit.name }), "mono", t("diff.outcomes.saved.tip", names)],
            [t("diff.outcomes.entry", { ...names, unit: unit.name }), "mono", t("diff.outcomes.entry.tip")],
          ]}
        />
        <tbody>
          {outcomes.map((one, at) => (
            <OutcomeRow key={`${one.rule} ${at}`} one={one} last={names.last} unit={unit} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

interface RowProps {
  one: OutcomeJson;
  last: string;
  unit: format.Unit;
}

function OutcomeRow({ one, last, unit }: RowProps) {
  const text = (ns: number | null) => format.inUnit(ns, unit);
  const { promised_ns: promised, after_ns: after, saved_ns: saved, is_shared: isShared } = one;
  return (
    <tr>
      <th scope="row">
        {textOf(one, "title")}
        <p class="muted">{textOf(one, "message")}</p>
      </th>
      <td>
        <b class={LOOKS[one.fate]}>{t(`diff.fate.${one.fate}`, { last })}</b>
        {after !== null && after > 0 && <p class="mono muted">{`${text(promised)} → ${text(after)}`}</p>}
      </td>
      <td class="mono" data-tip={format.exactDuration(promised)}>
        {text(promised)}
      </td>
      <td class={`mono ${saved === null ? "" : saved > 0 ? "good" : saved < 0 ? "worse" : ""}`}>
        <span data-tip={saved === null ? t("diff.outcomes.unknown") : format.exactDuration(saved)}>{text(saved)}</span>
        {isShared && <p class="muted sans">{t("diff.outcomes.shared")}</p>}
      </td>
      <td class="mono">
        {one.part && (
          <>
            {`${text(one.entry_before_ns)} → ${text(one.entry_after_ns)}`}
            <p class="muted sans">{partTitle("ledger", one.part)}</p>
          </>
        )}
      </td>
    </tr>
  );
}
