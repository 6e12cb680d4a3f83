import { expect, test } from "vitest";
import { budgetParts, namedBudgetParts, stepTotal } from "../../src/widgets/budget";
import { wholeOf } from "../../src/widgets/stacked_bar";

// Rank 0 of the real level-1 sample, ns.
const STEP = {
  parts: {
    preparing: 17_902_500,
    computing: 8_873_756 - 4_028_675,
    overlapped: 4_028_675,
    waiting: null,
    communication: 101_963_203,
    bubble: 0,
    copying: null,
    free: 25_744_050,
  },
  waiting_for: [],
};
const WHOLE = 8_873_756 + 101_963_203 + 25_744_050;

const FIVE = { rank: 5, peer: 5, group: "g", time: 101_639_231, exposed: 97_845_945, collectives: 4 };

const withParts = (parts: Partial<Record<keyof (typeof STEP)["parts"], number | null>>) => ({
  ...STEP,
  parts: { ...STEP.parts, ...parts },
});

test("the parts of the bar sum to the step, preparing apart", () => {
  const parts = budgetParts(STEP);
  expect([wholeOf(parts), stepTotal(STEP)]).toEqual([WHOLE, WHOLE]);
  expect(parts.find((part) => part.id === "preparing")?.outside).toBe(true);
  expect(parts.find((part) => part.id === "waiting")).toBeUndefined();
});

test("parts that are rarely recorded are shown where they are", () => {
  const step = withParts({ copying: 1_000_000, bubble: 2_000_000 });
  expect(stepTotal(step)).toBe(WHOLE + 3_000_000);
  const shown = budgetParts(step).map(({ id, label }) => `${id}: ${label}`);
  expect(shown).toContain("copying: Copying");
  expect(shown).toContain("communication: Exposed communication without bubble");
});

test("unknown stays unknown", () => {
  expect(stepTotal(withParts({ free: null }))).toBeNull();
  const [first, ...others] = budgetParts(withParts({ computing: null, preparing: null }));
  expect([first?.id, first?.value, others.length]).toEqual(["computing", null, 3]);
});

test("waiting is a part of the communication, and names the rank that it is for", () => {
  const step = { ...withParts({ waiting: 97_845_945, communication: 4_117_258 }), waiting_for: [FIVE] };
  const parts = namedBudgetParts(step);
  expect(wholeOf(parts)).toBe(WHOLE);
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
