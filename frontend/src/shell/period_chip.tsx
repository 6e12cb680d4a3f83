import type { SpanJson, StepTraceJson } from "../api/types.gen";
import * as format from "../base/format";
import { t, tOf } from "../i18n";
import { choosePeriod, chosenPeriod, NO_STEP, STEP, WITHIN } from "../state/period";
import { place, selection } from "../state/selection";
import { useView } from "../state/use_view";
import { Button } from "../widgets/button";
import { Popover } from "../widgets/popover";
import { OptionList } from "../widgets/select";
import { Empty } from "../widgets/states";

/** The step or the time range that all views show. Diff has a pair of steps. */
export function PeriodChip() {
  const span = place.value?.span;
  const chosen = chosenPeriod();
  const hasSteps = span?.views.some(({ id, available }) => id === "step_trace" && available);
  if (!span || selection.value.view === "diff" || (!hasSteps && !chosen)) return null;
  const text = chosen ? faceOf(span, chosen.key, chosen.value) : tOf(span.period, "period.all");
  return (
    <span class="period-chip">
      <Popover
        class={`chip ${chosen ? "on" : ""}`}
        popup="listbox"
        arrow
        label={text}
        name={t("period.name", { text })}
      >
        {(close) => <StepList span={span} close={close} />}
      </Popover>
      {chosen && (
        <Button look="control plain" name={t("range.clear")} onClick={() => choosePeriod(chosen.key, null)}>
          ✕
        </Button>
      )}
    </span>
  );
}

function faceOf({ start_ns: base, period }: SpanJson, key: string, value: string): string {
  if (key === STEP) return value === NO_STEP ? tOf(period, "step.none") : `${tOf(period, "step.label")} ${value}`;
  const [start = 0n, end = 0n] = /^\d+,\d+$/.test(value) ? value.split(",").map(BigInt) : [];
  const from = base === null ? "…" : format.duration(Number(start - BigInt(base)));
  return t("range.chip", { start: from, length: format.duration(Number(end - start)) });
}

/** The steps of the span with their times. */
function StepList({ span, close }: { span: SpanJson; close: () => void }) {
  const { data, error } = useView<StepTraceJson>("step_trace", { span: span.id });
  const chosen = chosenPeriod();
  if (!data) return <Empty text={t(error ? "period.unknown" : "state.loading")} />;
  const steps = data.steps.flatMap(({ step, total_ns: time }) =>
    step === null
      ? []
      : [{ id: step, label: `${tOf(span.period, "step.label")} ${step}`, note: format.duration(time) }],
  );
  return (
    <OptionList
      label={tOf(span.period, "step.label")}
      options={[{ id: "", label: tOf(span.period, "period.all") }, ...steps]}
      value={chosen?.key === WITHIN ? WITHIN : (chosen?.value ?? "")}
      onChoose={(id) => {
        close();
        choosePeriod(STEP, id || null);
      }}
    />
  );
}
