import { expect, test } from "vitest";
import { budgetParts, namedBudgetParts, stepTotal } from "../../src/widgets/budget";
import { wholeOf } from "../../src/widgets/stacked_bar";

// Rank 0 of the real level-1 sample, ns.
const STEP = {
  computing: 8_873_756,
  communication_not_overlapped: 101_963_203,
  overlapped: 4_028_675,
  copying: null,
  free: 25_744_050,
  bubble: 0,
  exposed_preparing: 17_902_500,
  exposed_waiting: null,
  waiting_for: [],
};

const FIVE = { rank: 5, peer: 5, group: "g", time: 101_639_231, exposed: 97_845_945, collectives: 4 };

test("the parts of the bar sum to the step, preparing apart", () => {
  const parts = budgetParts(STEP);
  expect(wholeOf(parts)).toBe(stepTotal(STEP));
  expect(parts.find((part) => part.id === "computing")?.value).toBe(8_873_756 - 4_028_675);
  expect(parts.find((part) => part.id === "preparing")?.outside).toBe(true);
});

test("copying is a part of its own where it is known", () => {
  const step = { ...STEP, copying: 1_000_000 };
  expect(stepTotal(step)).toBe((stepTotal(STEP) ?? 0) + 1_000_000);
  expect(wholeOf(budgetParts(step))).toBe(stepTotal(step));
});

test("a bubble is part of the communication", () => {
  const parts = budgetParts({ ...STEP, bubble: 1_000_000 });
  expect(wholeOf(parts)).toBe(stepTotal(STEP));
  expect(parts.find((part) => part.id === "communication")?.value).toBe(100_963_203);
  expect(budgetParts(STEP).map((part) => part.id)).not.toContain("bubble");
});

test("a bubble that is longer than the communication around it does not lengthen the step", () => {
  const step = { ...STEP, bubble: 2 * STEP.communication_not_overlapped };
  expect(wholeOf(budgetParts(step))).toBe(stepTotal(step));
});

test("unknown stays unknown", () => {
  expect(stepTotal({ ...STEP, free: null })).toBeNull();
  expect(budgetParts({ ...STEP, computing: null }).find((part) => part.id === "computing")?.value).toBeNull();
});

test("waiting is a part of the communication, and names the rank that it is for", () => {
  const step = { ...STEP, exposed_waiting: 97_845_945, waiting_for: [FIVE] };
  const parts = namedBudgetParts(step);
  expect(wholeOf(parts)).toBe(stepTotal(STEP));
  const shown = parts.map(({ label, value }) => `${label} ${value}`);
  expect(shown).toContain("Waiting for rank 5 97845945");
  expect(shown).toContain("Transfer and rest 4117258");
  const two = {
    ...step,
    waiting_for: [
      { ...FIVE, exposed: 50_000_000 },
      { ...FIVE, rank: 6 },
    ],
  };
  expect(namedBudgetParts(two).map((part) => part.label)).toContain("Waiting");
});

test("waiting beside a bubble does not lengthen the step", () => {
  const step = { ...STEP, bubble: 50_000_000, exposed_waiting: 97_845_945, waiting_for: [FIVE] };
  expect(wholeOf(budgetParts(step))).toBe(stepTotal(step));
});
