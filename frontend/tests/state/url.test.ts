import { describe, expect, test } from "vitest";
import { formatHash, parseHash } from "../../src/state/url";

describe("TensorBoard's hash", () => {
  test("our parameters are read, others are not", () => {
    const { tab, params } = parseHash("#npu_profiler&p.npu_profiler.view=kernel&p.other.x=1&runFilter=a");
    expect(tab).toBe("npu_profiler");
    expect(params).toEqual({ view: "kernel" });
  });

  test("what is not ours stays as it is written", () => {
    const hash = "#npu_profiler&&p.other.x=a%20b&runFilter=%5E&p.npu_profiler.view=kernel";
    expect(formatHash(hash, { view: "trace", empty: "" })).toBe(
      "#npu_profiler&p.other.x=a%20b&runFilter=%5E&p.npu_profiler.view=trace",
    );
  });

  test("any text comes back as it went", () => {
    const params = { a: "x&y=z #%~ 中文", "t.kernel.all": "q:<b>~s:-dur_ns" };
    expect(parseHash(formatHash("#npu_profiler", params)).params).toEqual(params);
  });

  test("a stray % does not lose the rest", () => {
    expect(parseHash("#npu_profiler&p.npu_profiler.q=100%&p.npu_profiler.view=diff").params).toEqual({
      q: "100%",
      view: "diff",
    });
    expect(parseHash("")).toEqual({ tab: "", params: {} });
    expect(parseHash("#&npu_profiler&other&p.npu_profiler.=1")).toEqual({ tab: "npu_profiler", params: { "": "1" } });
    expect(parseHash("#=x").tab).toBe("");
    expect(formatHash("", { view: "diff" })).toBe("#p.npu_profiler.view=diff");
  });

  test.each([
    ["view=kernel&kernel.step=11&idle.step=12", "11"],
    ["view=memory&idle.step=12", "12"],
    ["view=kernel&kernel.step=11&step=13", "13"],
    ["view=distributed&d.step=*&idle.step=12", undefined],
    ["view=distributed&d.step=-", "null"],
  ])("a link of before has the step of its view: %s", (text, step) => {
    const { params } = parseHash(`#npu_profiler&${text.replace(/(^|&)/g, "$1p.npu_profiler.")}`);
    expect(params.step).toBe(step);
    expect(Object.keys(params).filter((key) => key.includes(".step"))).toEqual([]);
  });
});
