import { describe, expect, it } from "vitest";
import type { ClassDifference, DiffJson, TableJson } from "../../src/api/types.gen";
import { chooseLang } from "../../src/i18n";
import * as classes from "../../src/views/diff/classes";

function row(id: string, before: number, after: number, running = 0): ClassDifference {
  return {
    id,
    baseline_calls: 1,
    experimental_calls: 1,
    baseline_ns: before,
    experimental_ns: after,
    difference_ns: after - before,
    running_ns: running,
  };
}

const pair = (before: string | null, after: string | null) => ({
  id: before ?? classes.WHOLE,
  baseline_step: before,
  experimental_step: after,
  baseline_ns: null,
  experimental_ns: null,
  classes: [],
});

describe("classes", () => {
  it("names the phase of iterations in the language of the page", () => {
    chooseLang("zh-CN");
    const names = [classes.stepName("decode 8", "iteration"), classes.stepName("? 8", "iteration")];
    chooseLang("en");
    expect(names).toEqual(["解码 8", "? 8"]);
    expect(classes.stepName("7", "step")).toBe("7");
  });

  it("calls more time slower", () => {
    expect([5, -5, 0, null].map(classes.direction)).toEqual(["slower", "faster", "same", "same"]);
  });

  it("scales both sides to the longest and differences to the widest", () => {
    const [one, two] = classes.classRows([row("a", 100, 50), row("b", 0, 25)]);
    expect([one?.baseline, one?.experimental, one?.change]).toEqual([1, 0.5, -1]);
    expect([two?.baseline, two?.experimental, two?.change]).toEqual([0, 0.25, 0.5]);
    expect(classes.classRows([row("a", 0, 0)])[0]?.baseline).toBe(0);
  });

  it("sums to the difference of the sums", () => {
    expect(classes.totals([row("a", 100, 50), row("b", 3, 25)])).toEqual({
      baseline: 103,
      experimental: 75,
      difference: -28,
    });
  });

  it("shows what the server says that its figures are of", () => {
    const mean = { ...pair(null, null), id: classes.MEAN };
    const data = { shown: "mean", steps: [pair("50", "51"), mean, pair(null, null)] } as unknown as DiffJson;
    expect(classes.shownPair(data)).toBe(mean);
    expect(classes.shownPair({ ...data, shown: "50" })?.experimental_step).toBe("51");
    expect(classes.shownPair({ ...data, steps: [] })).toBeNull();
    expect(data.steps.map(classes.isPair)).toEqual([true, false, false]);
  });
});

describe("headline", () => {
  it("names the classes that changed most, in either direction, and none that hardly did", () => {
    const rows = [row("a", 0, 1), row("b", 100, 20), row("c", 10, 40), row("d", 5, 5)];
    expect(classes.largestChanges(rows, 3).map(({ id }) => id)).toEqual(["b", "c"]);
    expect(classes.largestChanges(rows, 1).map(({ id }) => id)).toEqual(["b"]);
    expect(classes.largestChanges([row("d", 5, 5)], 3)).toEqual([]);
  });
});

describe("rows", () => {
  it("hides nothing by default, and tells directions, new and gone apart", () => {
    expect(classes.changeWhere("any", "ratio")).toEqual([]);
    expect(classes.changeWhere("slower", "changed")).toEqual([{ column: "changed", value: "slower" }]);
    expect(classes.changeWhere("faster", "changed")).toEqual([{ column: "changed", value: "faster" }]);
    expect(classes.changeWhere("new", "ratio")).toEqual([{ column: "baseline_calls", value: 0 }]);
    expect(classes.changeWhere("gone", "ratio")).toEqual([{ column: "experimental_calls", value: 0 }]);
  });

  it("puts the greatest change first in either direction, unknown last", () => {
    const data = { name: ["a", "b", "c", "d"], difference_ns: [3, null, -7, 7] };
    const table: TableJson = { id: "", columns: [], data, offset: 0, rows: 4, total: 4, sort: "x", desc: true };
    expect(classes.byChange(table, "difference_ns").data.name).toEqual(["c", "d", "a", "b"]);
    expect(classes.byChange({ ...table, total: 9 }, "difference_ns").data.name).toEqual(data.name);
  });

  it("never tells a change by colour alone", () => {
    expect([classes.withSign(1, "1.5"), classes.withSign(-1, "−1.5"), classes.withSign(1, "0.000")]).toEqual([
      "+1.5",
      "−1.5",
      "0.000",
    ]);
    expect([classes.signedShare(0.513), classes.signedShare(-0.04), classes.signedShare(0)]).toEqual([
      "+51.3 %",
      "−4.0 %",
      "0.0 %",
    ]);
  });
});
