import type { DiffJson, DiffStepJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { type Period, t, tOf } from "../../i18n";
import { places, workerName } from "../../state/catalog";
import { param, setParams } from "../../state/params";
import { type Selection, swapSides } from "../../state/selection";
import { useAccepted, useView } from "../../state/use_view";
import { Button, Card, Empty, Select, SimulatedMark, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { ClassChart, partName } from "./class_chart";
import { changeClass, isPair, largestChanges, MEAN, shownPair, stepName, WHOLE } from "./classes";
import css from "./diff.css?inline";
import { Tables } from "./tables";

addStyle(css);

/** Two captures side by side. */
function DiffView({ selection }: ViewProps) {
  const { baseline, experimental } = selection;
  if (places.value.size < 2) {
    return (
      <section class="card panel">
        <h2>{t("diff.none.title")}</h2>
        <p>{t("diff.none.one")}</p>
      </section>
    );
  }
  return (
    <div class="grid">
      <Card>
        <Sides selection={selection} />
        {(!baseline || !experimental) && <Empty text={t("diff.none.chosen")} />}
        {baseline !== "" && baseline === experimental && <Empty text={t("diff.none.same")} />}
      </Card>
      <div>{baseline && experimental && baseline !== experimental && <Comparison selection={selection} />}</div>
    </div>
  );
}

function Comparison({ selection }: { selection: Selection }) {
  const { baseline, experimental } = selection;
  const query = { baseline, experimental, step: param("x.step") };
  const view = useView<DiffJson>("diff", query);
  useAccepted(view, "x.step");
  return <ViewFrame view={view}>{(data, { tables }) => <Diff data={data} tables={tables} />}</ViewFrame>;
}

function Diff({ data, tables }: { data: DiffJson; tables: ViewJson["tables"] }) {
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
      {pair ? (
        <ClassChart pair={pair} period={data.period} chosen={chosen} onChoose={onChoose} />
      ) : (
        <Card title={t("diff.classes")}>
          <Empty text={t("diff.none.steps")} />
        </Card>
      )}
      <Tables tables={tables} chosen={chosen} shown={data.shown} period={data.period} />
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

/** Names both sides, with a button that swaps them; the sidebar chooses them. */
export function Sides({ selection }: { selection: Selection }) {
  const { baseline, experimental } = selection;
  return (
    <div class="diff-sides">
      <Side name={t("diff.baseline")} token={baseline} />
      <Side name={t("diff.experimental")} token={experimental} />
      <Button tip={t("diff.swap.tip")} onClick={swapSides}>
        ⇄ {t("diff.swap")}
      </Button>
    </div>
  );
}

function Side({ name, token }: { name: string; token: string }) {
  const place = places.value.get(token);
  const label = place ? [place.run.label, workerName(place.worker), place.span.label].filter(Boolean).join(" · ") : "";
  return (
    <span class="diff-side">
      <span class="ellipsis" data-tip-cut>
        <span class="muted">{name}</span> <span class="mono">{label || format.UNKNOWN}</span>
      </span>
      <SimulatedMark span={place?.span} />
    </span>
  );
}

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
