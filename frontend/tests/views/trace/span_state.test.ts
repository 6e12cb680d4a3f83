import { beforeEach, expect, test } from "vitest";
import { KEYS } from "../../../src/views/trace/link/link";
import { enterSpan, keepSpan, migrateWindow, spanChanges } from "../../../src/views/trace/link/span_state";

const OF_A = {
  view: "trace",
  [KEYS.of]: "a",
  [KEYS.range]: "1,2",
  [KEYS.marks]: "1,2,x",
  [KEYS.pinned]: "3",
  [KEYS.search]: "matmul",
};

beforeEach(() => sessionStorage.clear());

test("what belongs to a span stays with it and comes back; what belongs to none goes along", () => {
  const entry = enterSpan("b", OF_A);
  expect(entry.params).toEqual({ view: "trace", [KEYS.of]: "b", [KEYS.search]: "matmul" });
  expect(entry.foreign?.span).toBe("a");
  expect(spanChanges(entry.params)).toMatchObject({ [KEYS.marks]: null, [KEYS.pinned]: null, [KEYS.of]: "b" });
  const back = enterSpan("a", { ...entry.params, [KEYS.slice]: "7" });
  expect(back.params).toEqual(OF_A);
  // Not a link of another span: it was on show on this page.
  keepSpan("b", { [KEYS.slice]: "7" }, true);
  const again = enterSpan("a", { ...entry.params, [KEYS.slice]: "7" });
  expect(again.foreign).toBeNull();
  expect(enterSpan("b", back.params).params[KEYS.slice]).toBe("7");
});

test("a window that came from another span is not kept as the span's own", () => {
  keepSpan("c", { [KEYS.range]: "5,6", [KEYS.marks]: "1,2,x" }, false);
  expect(enterSpan("c", OF_A).params).toMatchObject({ [KEYS.marks]: "1,2,x" });
  expect(enterSpan("c", OF_A).params[KEYS.range]).toBeUndefined();
});

test("a window goes over by epoch time, else by step, else not at all", () => {
  const steps = [{ step: "11", start: 0, end: 100 }];
  const from = { span: "a", range: { start: 10, end: 30 }, base: "1000", steps };
  const whole = { start: 0, end: 500 };
  expect(migrateWindow(from, { base: "900", steps: [] }, whole)).toEqual({ start: 110, end: 130 });
  const later = { base: "90000", steps: [{ step: "11", start: 250, end: 300 }] };
  expect(migrateWindow(from, later, whole)).toEqual({ start: 260, end: 280 });
  expect(migrateWindow(from, { ...later, steps: [] }, whole)).toBeNull();
  expect(migrateWindow({ ...from, range: null }, { base: "900", steps }, whole)).toBeNull();
});
