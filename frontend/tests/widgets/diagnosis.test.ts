import { beforeEach, expect, test } from "vitest";
import type { Evidence } from "../../src/api/types.gen";
import { param, setParams } from "../../src/state/params";
import { openable, openEvidence } from "../../src/widgets/diagnosis/evidence";

const NONE: Evidence = { view: "trace", span: null, table: null, row: null, start_ns: null, end_ns: null, step: null };

beforeEach(() => setParams({ view: null, at: null, "kernel.tab": null, "t.kernel.statistic": null }));

test("evidence opens a range of the trace or a row of a table", () => {
  openEvidence({ ...NONE, start_ns: 2_000, end_ns: 2_500 });
  expect([param("view"), param("at")]).toEqual(["trace", "2000,500"]);
  openEvidence({ ...NONE, view: "kernel", table: "statistic", row: "Mat~Mul" });
  expect([param("view"), param("kernel.tab"), param("t.kernel.statistic")]).toEqual([
    "kernel",
    "statistic",
    "q:Mat%7EMul",
  ]);
});

test("evidence opens a view with the step that shows it", () => {
  openEvidence({ ...NONE, view: "distributed", step: "12" });
  expect([param("view"), param("d.step")]).toEqual(["distributed", "12"]);
});

test("one jump for each view that this page has", () => {
  const places = [NONE, { ...NONE, start_ns: 1 }, { ...NONE, view: "memory" }, { ...NONE, view: "newer" }];
  expect(openable(places).map((one) => one.view)).toEqual(["trace", "memory"]);
});
