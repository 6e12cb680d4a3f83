import type { DiffJson, DiffStepJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { Card } from "../../widgets";
import { partName } from "./class_chart";
import { changeClass, isPair, largestChanges, stepName, WHOLE } from "./classes";

/** Number of classes in the headline. */
const MOST = 3;

/** The headline: how much longer or shorter a step takes, and the classes that changed most. */
export function Headline({ data, pair }: { data: DiffJson; pair: DiffStepJson }) {
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

/** Number of steps in the mean: "mean of 5 steps", or "mean of 5 → 4 steps". */
function averagedOf({ baseline_count: before, experimental_count: after }: DiffStepJson, period: Period): string {
  return tOf(period, "diff.averaged", { count: before === after ? before : `${before} → ${after}` });
}

interface TimesProps {
  before: number;
  after: number;
  pair: DiffStepJson;
  period: Period;
}

function Times({ before, after, pair, period }: TimesProps) {
  const change = after - before;
  const figures = {
    before: format.duration(before, 2),
    after: format.duration(after, 2),
    of: averagedOf(pair, period),
  };
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
