import type { DiffJson, DiffStepJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { setParams } from "../../state/params";
import { Card } from "../../widgets";
import { className } from "./class_chart";
import { direction, largestChanges, pairId, stepTimes, WHOLE } from "./classes";

/** Classes that are named. */
const MOST = 3;

/** The answer first: how much longer or shorter a step takes, and which kernels make most of it. */
export function Headline({ data, pair }: { data: DiffJson; pair: DiffStepJson }) {
  const isWhole = pairId(pair) === WHOLE;
  const times = stepTimes(data, pair);
  const counts = [data.baseline.steps.length, data.experimental.steps.length] as const;
  const isUneven = isWhole && counts[0] !== counts[1];
  const first = data.steps.find((one) => pairId(one) !== WHOLE);
  const changes = isUneven ? [] : largestChanges(pair.classes, MOST);
  const steps = isWhole ? Math.max(1, counts[0]) : 1;
  if (!times && !isUneven && changes.length === 0) return null;
  return (
    <Card>
      {times && <Times times={times} step={isWhole ? onlyStep(data) : pair.experimental_step} />}
      {changes.length > 0 && (
        <p class="muted">
          {t(steps > 1 ? "diff.head.most.each" : "diff.head.most", {
            list: changes
              .map((row) => `${className(row.id)} ${format.signedDuration(Math.round(row.difference_ns / steps))}`)
              .join(t("diff.head.and")),
          })}
        </p>
      )}
      {isUneven && (
        <p class="muted">
          {t("diff.head.uneven", { before: counts[0], after: counts[1] })}{" "}
          {first && (
            <button type="button" class="link" onClick={() => setParams({ "x.step": pairId(first) })}>
              {t("diff.head.first")}
            </button>
          )}
        </p>
      )}
    </Card>
  );
}

/** Of captures of a single step each; null: there are more. */
function onlyStep({ baseline, experimental }: DiffJson): string | null {
  return baseline.steps.length === 1 && experimental.steps.length === 1 ? (experimental.steps[0]?.step ?? null) : null;
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
