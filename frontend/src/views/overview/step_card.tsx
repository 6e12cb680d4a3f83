import { useState } from "preact/hooks";
import type { OverviewJson, StepJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { param, setParams } from "../../state/params";
import { chosenStep, STEP, WITHIN } from "../../state/period";
import { openView } from "../../state/selection";
import {
  type BarPart,
  Button,
  budgetParts,
  Card,
  Empty,
  Legend,
  namedBudgetParts,
  PagedItems,
  StackedBar,
  stepTotal,
  TextButton,
} from "../../widgets";

interface Props {
  data: OverviewJson;
  /** Name of the rank if the run has several. */
  rank: string;
  /** The ledger of the mean step is shown: one step needs no bar here. */
  hasLedger: boolean;
}

/** Number of bars shown at first. */
const FIRST = 12;

/** The steps of the capture, each with its duration on the device. */
export function StepCard({ data, rank, hasLedger }: Props) {
  const { steps, steps_computed: isComputed, period } = data;
  const chosen = shownStep(steps);
  if (!chosen) {
    return (
      <Card title={t("overview.steps")}>
        <Empty text={t("overview.nosteps")} />
      </Card>
    );
  }
  const time = format.duration(stepTotal(chosen), 2);
  const took = rank ? t("overview.step.took.rank", { time, rank }) : t("overview.step.took", { time });
  return (
    <Card
      title={stepName(steps, chosen, data.capture.device_kind, period)}
      subtitle={<span data-tip={format.exactDuration(stepTotal(chosen))}>{took}</span>}
      class="budget-card"
      chart={{ name: "step-budget", csv: () => budgetCsv(steps) }}
    >
      {(steps.length > 1 || !hasLedger) && <StepBars data={data} chosen={chosen} />}
      <WorkLine data={data} rank={rank} />
      <p class="muted small">
        {tOf(period, isComputed ? "overview.source.kernels" : "overview.source", { file: data.steps_source ?? "" })}
        {isComputed && chosen.copying !== null && ` ${t("overview.copying")}`}
      </p>
    </Card>
  );
}

/** All steps on one scale, and the parts of the chosen one. */
function StepBars({ data, chosen }: { data: OverviewJson; chosen: StepJson }) {
  const { steps, step_count: count, period } = data;
  const [all, setAll] = useState(false);
  const shown = all ? steps : steps.slice(0, FIRST);
  const longest = Math.max(...shown.map((step) => stepTotal(step) ?? 0));
  return (
    <>
      <PagedItems items={shown}>
        {(step) => (
          <StepLine
            key={`${step.device_id} ${step.step}`}
            step={step}
            name={stepName(steps, step, data.capture.device_kind, period)}
            hasDevices={hasDevices(steps)}
            longest={longest}
            isChosen={step === chosen}
            onChoose={() => chooseStep(steps, step)}
          />
        )}
      </PagedItems>
      {steps.length > shown.length && (
        <TextButton onClick={() => setAll(true)}>
          {tOf(period, steps.length < count ? "overview.more.first" : "overview.more", {
            count: format.integer(steps.length),
          })}
        </TextButton>
      )}
      <Legend parts={inStep(namedBudgetParts(chosen))} hasValues />
    </>
  );
}

/** Without what lies before the step. */
const inStep = (parts: readonly BarPart[]) => parts.filter((part) => !part.outside);

/** Input-bound steps, streams and tasks; nothing before the trace is read. */
function WorkLine({ data: { input_bound: inputBound, device_work: deviceWork }, rank }: Omit<Props, "hasLedger">) {
  if (!inputBound && !deviceWork) return null;
  const count = format.integer;
  return (
    <p>
      {rank && <span class="muted">{rank}: </span>}
      {inputBound && (
        <TextButton tip={t("overview.input_bound.tip")} onClick={() => openView("idle")}>
          {t("overview.input_bound", { steps: count(inputBound.steps), of: count(inputBound.of) })}
        </TextButton>
      )}
      {inputBound && deviceWork && " · "}
      {deviceWork && (
        <span data-tip={t("overview.work.tip")}>
          {t("overview.work", { streams: count(deviceWork.streams), tasks: count(deviceWork.tasks) })}
        </span>
      )}
    </p>
  );
}

/** The data of the bars: one row per step and part. */
function budgetCsv(steps: readonly StepJson[]): string {
  const rows = steps.flatMap((step) =>
    budgetParts(step).map(({ id, value }) => [step.step, step.device_id, id, value]),
  );
  return csvText(["step", "device_id", "part", "ns"], rows);
}

interface LineProps {
  step: StepJson;
  name: string;
  hasDevices: boolean;
  longest: number;
  isChosen: boolean;
  onChoose: () => void;
}

/** One of several steps, all on one scale. */
function StepLine({ step, name, hasDevices, longest, isChosen, onChoose }: LineProps) {
  return (
    <div class={`bar-row step-line ${hasDevices ? "has-devices" : ""}`}>
      <Button look="link ellipsis" pressed={isChosen} onClick={onChoose}>
        {isChosen ? <strong>{name}</strong> : name}
      </Button>
      <StackedBar parts={inStep(budgetParts(step))} whole={longest} thin />
      <span class="mono">{format.duration(stepTotal(step), 2)}</span>
    </div>
  );
}

type Which = Pick<StepJson, "step" | "device_id">;

/** The step of this name on this device; without the device, the first step of the name. */
export function findStep<T extends Which>(steps: readonly T[], step: string | null, device: number | null) {
  const named = steps.filter((one) => one.step === step);
  return named.find((one) => one.device_id === device) ?? named[0];
}

/** The chosen step: the step in the URL, else the first. */
export function shownStep(steps: readonly StepJson[]): StepJson | undefined {
  const device = param("overview.device");
  const found = findStep(steps, chosenStep() || null, device === "" ? null : Number(device));
  return found ?? steps[0];
}

/** Chooses a step. The URL names its device only if there are several. */
export function chooseStep(steps: readonly StepJson[], { step, device_id }: Which): void {
  const isOne = !hasDevices(steps) || device_id === null;
  setParams({ [STEP]: step, [WITHIN]: null, "overview.device": isOne ? null : String(device_id) }, true);
}

/** "Step 11", or "Step 11 · NPU 1" with several devices; `kind`: the kind of device. */
export function stepName(
  steps: readonly StepJson[],
  { step, device_id }: Which,
  kind: string,
  period: Period = "step",
): string {
  const name = step === null ? t("overview.step.none") : tOf(period, "overview.step", { step });
  return hasDevices(steps) && device_id !== null ? `${name} · ${kind} ${device_id}` : name;
}

/** True if step names need the device. */
function hasDevices(steps: readonly StepJson[]): boolean {
  return new Set(steps.map((one) => one.device_id)).size > 1;
}
