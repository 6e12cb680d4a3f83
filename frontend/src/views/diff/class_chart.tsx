import type { DiffJson, DiffStepJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { t, tOf, tOr } from "../../i18n";
import { Button, Card, meaningName, Time } from "../../widgets";
import { type ClassRow, classRows, direction, totals, WHOLE } from "./classes";

/** Parts without kernels. */
const NO_KERNELS: ReadonlySet<string> = new Set(["computing", "waiting", "bubble", "idle"]);

interface Props {
  data: DiffJson;
  pair: DiffStepJson;
  /** Class whose kernels are listed below; "" for all. */
  chosen: string;
  onChoose: (id: string) => void;
}

/** Both sides by class: two bars, the difference, and the running sum. */
export function ClassChart({ data, pair, chosen, onChoose }: Props) {
  const { period } = data;
  const rows = classRows(pair.classes);
  const sum = totals(pair.classes);
  const unit = format.timeUnit([sum.baseline, sum.experimental]);
  const text = (ns: number) => format.inUnit(ns, unit, 3);
  const signed = (ns: number) => format.signedDecimals(ns / unit.scale, unit.scale === 1 ? 0 : 3);
  return (
    <Card
      title={t("diff.classes")}
      subtitle={tOf(period, pair.id === WHOLE ? "diff.classes.hint.whole" : "diff.classes.hint")}
      help={tOf(period, "diff.classes.help")}
      chart={{ name: "diff-classes", csv: () => classesCsv(rows) }}
    >
      <div class="diff-classes">
        <Head unit={unit.name} data={data} />
        {rows.map((row) =>
          NO_KERNELS.has(row.id) ? (
            <div key={row.id} class="bar-row diff-row">
              <span>{partName(row.id)}</span>
              <Figures row={row} text={text} signed={signed} />
            </div>
          ) : (
            <Button
              key={row.id}
              look="bar-row diff-row"
              pressed={row.id === chosen}
              tip={t("diff.class.tip", {
                before: format.decimal(row.baseline_calls, 2),
                after: format.decimal(row.experimental_calls, 2),
              })}
              onClick={() => onChoose(row.id)}
            >
              <span class="link">{partName(row.id)}</span>
              <Figures row={row} text={text} signed={signed} />
            </Button>
          ),
        )}
        <div class="bar-row diff-row sum">
          <span data-tip={t("diff.sum.help")}>{tOf(period, pair.id === WHOLE ? "diff.sum" : "diff.sum.step")}</span>
          <span />
          <Time ns={sum.baseline} text={text(sum.baseline)} />
          <Time ns={sum.experimental} text={text(sum.experimental)} />
          <Time ns={sum.difference} text={signed(sum.difference)} class="middle" />
          <span />
        </div>
      </div>
    </Card>
  );
}

interface FiguresProps {
  row: ClassRow;
  text: (ns: number) => string;
  signed: (ns: number) => string;
}

function Figures({ row, text, signed }: FiguresProps) {
  return (
    <>
      <span>
        <Bar ratio={row.baseline} color="var(--c-compute)" />
        <Bar ratio={row.experimental} color="var(--c-over)" />
      </span>
      <Time ns={row.baseline_ns} text={text(row.baseline_ns)} />
      <Time ns={row.experimental_ns} text={text(row.experimental_ns)} />
      <Difference row={row} text={signed(row.difference_ns)} />
      <Time ns={row.running_ns} text={signed(row.running_ns)} />
    </>
  );
}

function classesCsv(rows: readonly ClassRow[]): string {
  return csvText(
    ["class", "baseline_ns", "experimental_ns", "difference_ns", "running_ns"],
    rows.map((row) => [row.id, row.baseline_ns, row.experimental_ns, row.difference_ns, row.running_ns]),
  );
}

function Head({ unit, data }: { unit: string; data: DiffJson }) {
  const [before, after] = [data.baseline.name, data.experimental.name];
  return (
    <div class="bar-row diff-row head">
      <span class="ellipsis">{t("diff.class")}</span>
      <span class="ellipsis" data-tip-cut>
        {t("diff.bars", { unit })}
      </span>
      <span class="ellipsis">{before}</span>
      <span class="ellipsis">{after}</span>
      <span class="middle ellipsis">{`${after} − ${before}, ${unit}`}</span>
      <span class="ellipsis" data-tip={t("diff.running.help")}>
        {t("diff.running")}
      </span>
    </div>
  );
}

function Bar({ ratio, color }: { ratio: number; color: string }) {
  const minWidth = ratio > 0 ? "1px" : "0";
  return <i class="diff-bar" style={{ width: `${ratio * 100}%`, minWidth, background: color }} />;
}

/** The bar grows to the right for slower, to the left for faster; the figure is on the other side. */
function Difference({ row, text }: { row: ClassRow; text: string }) {
  const to = direction(row.difference_ns);
  const width = `${Math.abs(row.change) * 50}%`;
  const tip = `${format.exactDuration(row.difference_ns)}, ${format.shareOf(row.difference_ns, row.baseline_ns)}`;
  return (
    <span class="diff-middle mono" data-tip={tip}>
      {to === "faster" ? (
        <>
          <i class="faster" style={{ width, right: "50%" }} />
          <b style={{ left: "calc(50% + 6px)" }}>{text}</b>
        </>
      ) : (
        <>
          <b style={{ right: "calc(50% + 6px)" }}>{text}</b>
          {to === "slower" && <i class="slower" style={{ width, left: "50%" }} />}
        </>
      )}
    </span>
  );
}

/** Class of kernels. */
export function className(id: string): string {
  return tOr(`diff.class.${id}`, meaningName(id));
}

/** Part of a step: only exposed communication counts. */
export function partName(id: string): string {
  return tOr(`diff.part.${id}`, className(id));
}
