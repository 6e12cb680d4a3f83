import { beforeEach, expect, test } from "vitest";
import type { StepJson } from "../../src/api/types.gen";
import { params } from "../../src/state/params";
import { chooseStep, findStep, shownStep, stepName } from "../../src/views/overview/step_card";

const step = (name: string | null, device: number | null) => ({ step: name, device_id: device }) as StepJson;
const BOTH = [step("11", 0), step("12", 0), step("11", 1), step("12", 1)];

beforeEach(() => {
  params.value = {};
});

test("of two devices the one that was clicked is chosen", () => {
  expect(shownStep(BOTH)).toBe(BOTH[0]);
  for (const one of BOTH) {
    chooseStep(BOTH, one);
    expect(shownStep(BOTH)).toBe(one);
  }
  const unnamed = [step(null, 4), step(null, 5)];
  chooseStep(unnamed, unnamed[1] as StepJson);
  expect(shownStep(unnamed)).toBe(unnamed[1]);
});

test("a link without a device, or with one that is not there, means the first of the name", () => {
  expect(findStep(BOTH, "12", null)).toBe(BOTH[1]);
  expect(findStep(BOTH, "12", 7)).toBe(BOTH[1]);
  expect(findStep(BOTH, "13", 0)).toBeUndefined();
  params.value = { step: "13" };
  expect(shownStep(BOTH)).toBe(BOTH[0]);
});

test("the device is named where there are several", () => {
  expect(BOTH.map((one) => stepName(BOTH, one, "NPU"))[2]).toBe("Step 11 · NPU 1");
  expect(stepName(BOTH.slice(0, 2), BOTH[0] as StepJson, "NPU")).toBe("Step 11");
  chooseStep(BOTH.slice(0, 2), BOTH[1] as StepJson);
  expect(params.value).toEqual({ step: "12" });
});
