import { expect, test } from "vitest";
import { homeView, viewAfter } from "../../src/timeline/data";
import { fit } from "../../src/timeline/viewport";

const BEFORE = { home: { start: 0, end: 1000 }, limits: { start: 0, end: 1200 } };
const AFTER = { home: { start: 0, end: 9000 }, limits: { start: 0, end: 9900 } };

test("all stays all while the data grow", () => {
  expect(viewAfter(homeView(BEFORE, 800), BEFORE, AFTER, 0, 800)).toEqual(homeView(AFTER, 800));
  expect(viewAfter(fit(BEFORE.limits, 800), BEFORE, AFTER, 0, 800)).toEqual(fit(AFTER.limits, 800));
});

test("a view that the user chose stays, by the epoch", () => {
  const view = { start: 300, scale: 0.5 };
  expect(viewAfter(view, BEFORE, AFTER, 0, 800)).toEqual(view);
  expect(viewAfter(view, BEFORE, AFTER, 250, 800)).toEqual({ start: 550, scale: 0.5 });
});
