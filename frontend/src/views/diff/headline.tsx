import type { DiffJson, DiffStepJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { setParams } from "../../state/params";
import { Card } from "../../widgets";
import { className } from "./class_chart";
import { direction, isPair, largestChanges, MEAN, stepTimes, WHOLE } from "./classes";

/** Classes that are named. */
const MOST = 3;

/** The answer first: how much longer or shorter a step takes, and which kernels make most of it. */
export function Headline({ data, pair }: { data: DiffJson; pair: DiffStepJson }) {
  const { baseline, experimental } = data;
  const isWhole = pair.id === WHOLE;
  const times = stepTimes(data, pair);
  const isUneven = !isPair(pair) && baseline.step_count !== experimental.step_count;
  const changes = isWhole && isUneven ? [] : largestChanges(pair.classes, MOST);
  const steps = isWhole ? Math.max(1, baseline.step_count) : 1;
  if (!times && !isUneven && changes.length === 0) return null;
  return (
    <Card>
      {times && <Times times={times} step={isPair(pair) ? pair.experimental_step : onlyStep(data)} />}
      {changes.length > 0 && (
        <p class="muted">
          {t(steps > 1 || pair.id === MEAN ? "diff.head.most.each" : "diff.head.most", {
            list: changes
              .map((row) => `${className(row.id)} ${format.signedDuration(Math.round(row.difference_ns / steps))}`)
              .join(t("diff.head.and")),
          })}
        </p>
      )}
      {isUneven && <Uneven data={data} isWhole={isWhole} />}
    </Card>
  );
}

/** The sides have different numbers of steps: what is done about it, and the way to it where the user chose otherwise. */
function Uneven({ data, isWhole }: { data: DiffJson; isWhole: boolean }) {
  const counts = t("diff.head.uneven", {
    before: stepCount(data.baseline.step_count),
    after: stepCount(data.experimental.step_count),
  });
  const hasMean = data.steps.some((pair) => pair.id === MEAN);
  return (
    <p class={isWhole ? "banner" : "muted"}>
      {counts} {t(isWhole ? "diff.head.uneven.whole" : "diff.head.uneven.mean")}{" "}
      {isWhole && hasMean && (
        <button type="button" class="link" onClick={() => setParams({ "x.step": null })}>
          {t("diff.head.compare.mean")}
        </button>
      )}
    </p>
  );
}

function stepCount(count: number): string {
  return count === 0 ? t("diff.head.steps.none") : String(count);
}

/** Of captures of a single step each; null: there are more. */
function onlyStep({ baseline, experimental }: DiffJson): string | null {
  const isOne = baseline.step_count === 1 && experimental.step_count === 1;
  return isOne ? (experimental.steps[0]?.step ?? null) : null;
}

interface TimesProps {
  times: { before: number; after: number };
  /** null: the mean of all steps. */
  step: string | null;
}

function Times({ times: { before, after }, step }: TimesProps) {
  const change = after - before;
  const figures = { before: format.duration(before, 2), after: format.duration(after, 2) };
  return (
    <p class="diff-head">
      {step === null ? t("diff.head.mean", figures) : t("diff.head.step", { ...figures, step })}{" "}
      <b class={direction(change)} data-tip={format.exactDuration(change)}>
        {format.signedDuration(change)} ({format.signed((100 * change) / before, 1)} %)
      </b>
    </p>
  );
}
