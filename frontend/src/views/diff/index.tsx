import type { ComponentChildren } from "preact";
import type { Query } from "../../api/client";
import type { DiffJson, DiffLedgerJson, DiffStepJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { type Period, t, tOf } from "../../i18n";
import { places } from "../../state/catalog";
import { param, setParams } from "../../state/params";
import { LETTERS } from "../../state/selection";
import { useAccepted, useView, type ViewState } from "../../state/use_view";
import { Card, Empty, ErrorPanel, Reading, Select, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { Captures } from "./captures";
import { ClassChart, partName } from "./class_chart";
import { changeClass, isPair, largestChanges, MEAN, shownPair, stepName, WHOLE } from "./classes";
import css from "./diff.css?inline";
import { OutcomesCard } from "./outcomes";
import { Tables } from "./tables";
import { pairsOf } from "./waterfall";
import { WaterfallCard } from "./waterfall_card";

addStyle(css);

/** Captures side by side. */
function DiffView({ selection }: ViewProps) {
  const { captures } = selection;
  const step = param("x.step");
  const first = captures[0] ?? "";
  const pair = pairsOf(LETTERS.slice(0, captures.length)).find((id) => id === param("x.pair")) ?? "";
  // One capture beside itself: its run has pairs to offer.
  const [baseline = "", ...others] = captures.length > 1 ? captures : [first, first];
  const query = { baseline, captures: others.slice(0, -1).join(","), experimental: others.at(-1) ?? "", step, pair };
  const ledgers = useView<DiffLedgerJson>("diff_ledger", query);
  useAccepted(ledgers, "x.step", "x.pair");
  if (places.value.size < 2 && !step) {
    return (
      <section class="card panel">
        <h2>{t("diff.none.title")}</h2>
        <p>{t("diff.none.one")}</p>
      </section>
    );
  }
  const isSame = captures.length === 2 && captures[0] === captures[1] && !step.includes(":");
  const isChosen = captures.length > 1 && !isSame;
  const shown = pair || `A${LETTERS[Math.max(1, captures.length - 1)]}`;
  return (
    <div class="grid">
      <Card>
        <Captures selection={selection} data={ledgers.data} pair={shown} />
        {captures.length < 2 && <Empty text={t("diff.none.chosen")} />}
        {isSame && <Empty text={t("diff.none.same")} />}
      </Card>
      <div>{isChosen && <Comparison query={query} ledgers={ledgers} pair={shown} />}</div>
    </div>
  );
}

interface ComparisonProps {
  query: Query;
  ledgers: ViewState<DiffLedgerJson>;
  pair: string;
}

function Comparison({ query, ledgers, pair }: ComparisonProps) {
  const view = useView<DiffJson>("diff", query);
  useAccepted(view, "x.step", "x.pair");
  const period = view.data?.period ?? "step";
  return (
    <ViewFrame view={view}>
      {(data, { tables }) => (
        <Diff data={data} tables={tables}>
          <Ledgers view={ledgers} pair={pair} period={period} />
        </Diff>
      )}
    </ViewFrame>
  );
}

/** The ledgers side by side; they need more files than the rest of the view. */
function Ledgers({ view, pair, period }: { view: ViewState<DiffLedgerJson>; pair: string; period: Period }) {
  const { data, answer, error, retry } = view;
  if (error) return <ErrorPanel error={error} onRetry={retry} />;
  if (answer?.state === "reading" && !data) return <Reading answer={answer} />;
  if (!data) return null;
  return (
    <div class="grid">
      <WaterfallCard data={data} pair={pair} period={period} isPreliminary={answer?.preliminary === true} />
      <OutcomesCard data={data} pair={pair} period={period} />
    </div>
  );
}

interface DiffProps {
  data: DiffJson;
  tables: ViewJson["tables"];
  /** What follows the headline. */
  children: ComponentChildren;
}

function Diff({ data, tables, children }: DiffProps) {
  const pair = shownPair(data);
  const chosen = param("x.class");
  const onChoose = (id: string) =>
    setParams({ "x.class": id === chosen ? null : id, "x.tab": id === chosen ? param("x.tab") : "kernels" });
  return (
    <div class="grid">
      <div class="row">
        {data.steps.length > 1 && (
          <Select
            label={tOf(data.period, "diff.step")}
            prefix
            options={data.steps.map((item) => ({
              id: item.id,
              label: pairName(item, data.period),
              ...pairTip(item, data.period),
            }))}
            value={data.shown}
            onChange={(id) => setParams({ "x.step": id })}
          />
        )}
      </div>
      {pair && <Headline data={data} pair={pair} />}
      <div>{children}</div>
      {pair ? (
        <ClassChart data={data} pair={pair} chosen={chosen} onChoose={onChoose} />
      ) : (
        <Card title={t("diff.classes")}>
          <Empty text={t("diff.none.steps")} />
        </Card>
      )}
      <Tables tables={tables} chosen={chosen} data={data} />
    </div>
  );
}

/** "step 50", or "step 50 → step 51" if the sides differ. */
function pairName({ id, baseline_step: before, experimental_step: after }: DiffStepJson, period: Period): string {
  if (before === null || after === null) return tOf(period, id === MEAN ? "diff.step.mean" : "diff.step.whole");
  return before === after ? stepName(before, period) : `${before} → ${after}`;
}

function pairTip({ id }: DiffStepJson, period: Period): { tip?: string } {
  return id === MEAN ? { tip: tOf(period, "diff.step.mean.tip") } : {};
}

export const view: ViewModule = { Component: DiffView };

/** Number of classes in the headline. */
const MOST = 3;

/** The headline: how much longer or shorter a step takes, and the classes that changed most. */
function Headline({ data, pair }: { data: DiffJson; pair: DiffStepJson }) {
  const { baseline, experimental } = data;
  const { baseline_ns: before, experimental_ns: after } = pair;
  const isWhole = pair.id === WHOLE;
  const isUneven = !isPair(pair) && baseline.step_count !== experimental.step_count;
  const changes = isWhole && isUneven ? [] : largestChanges(pair.classes, MOST);
  const isKnown = before !== null && after !== null && before > 0 && !(isWhole && isUneven);
  if (!isKnown && !isUneven && changes.length === 0) return null;
  return (
    <Card>
      {isKnown && <Times before={before} after={after} pair={pair} period={data.period} />}
      {changes.length > 0 && (
        <p class="muted">
          {tOf(data.period, isWhole ? "diff.head.most" : "diff.head.most.each", {
            list: changes
              .map((row) => `${partName(row.id)} ${format.signedDuration(row.difference_ns)}`)
              .join(t("diff.head.and")),
          })}
        </p>
      )}
      {isUneven && (
        <p class={isWhole ? "banner" : "muted"}>
          {tOf(data.period, "diff.head.uneven", {
            before: stepCount(baseline.step_count),
            after: stepCount(experimental.step_count),
          })}{" "}
          {tOf(data.period, isWhole ? "diff.head.uneven.whole" : "diff.head.uneven.mean")}
        </p>
      )}
    </Card>
  );
}

function stepCount(count: number): string {
  return count === 0 ? t("diff.head.steps.none") : String(count);
}

interface TimesProps {
  before: number;
  after: number;
  pair: DiffStepJson;
  period: Period;
}

function Times({ before, after, pair, period }: TimesProps) {
  const change = after - before;
  const { baseline_count: one, experimental_count: other } = pair;
  const of = tOf(period, "diff.averaged", { count: one === other ? one : `${one} → ${other}` });
  const figures = { before: format.duration(before, 2), after: format.duration(after, 2), of };
  const step = stepName(pair.experimental_step ?? "", period);
  const text = isPair(pair) ? "diff.head.step" : pair.id === WHOLE ? "diff.head.whole" : "diff.head.mean";
  return (
    <p class="diff-head">
      {tOf(period, text, { ...figures, step })}{" "}
      <b class={changeClass(change)} data-tip={format.exactDuration(change)}>
        {format.signedDuration(change)} ({format.signedDecimals((100 * change) / before, 1)} %)
      </b>
    </p>
  );
}
