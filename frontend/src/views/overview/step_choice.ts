import type { StepJson } from "../../api/types.gen";
import { type Period, t, tOf } from "../../i18n";
import { param, setParams } from "../../state/params";

type Which = Pick<StepJson, "step" | "device_id">;

/** The step of this name on this device; without the device, the first step of the name. */
export function findStep<T extends Which>(steps: readonly T[], step: string | null, device: number | null) {
  const named = steps.filter((one) => one.step === step);
  return named.find((one) => one.device_id === device) ?? named[0];
}

/** The chosen step: the step in the URL, else the first. */
export function chosenStep(steps: readonly StepJson[]): StepJson | undefined {
  const device = param("overview.device");
  const found = findStep(steps, param("overview.step") || null, device === "" ? null : Number(device));
  return found ?? steps[0];
}

/** Chooses a step. The URL names its device only if there are several. */
export function chooseStep(steps: readonly StepJson[], { step, device_id }: Which): void {
  const isOne = !hasDevices(steps) || device_id === null;
  setParams({ "overview.step": step, "overview.device": isOne ? null : String(device_id) });
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
export function hasDevices(steps: readonly StepJson[]): boolean {
  return new Set(steps.map((one) => one.device_id)).size > 1;
}
