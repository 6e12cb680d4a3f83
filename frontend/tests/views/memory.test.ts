import { describe, expect, it } from "vitest";
import type { CurveJson, MemoryJson, MemoryPeakJson } from "../../src/api/types.gen";
import { BYTE_UNITS, TIME_UNITS } from "../../src/base/format";
import { heldOf, limitOf, momentOf, parseSize, sizeText, sizeWhere, sumOf } from "../../src/views/memory/allocations";
import { asRange, formatRange, parseRange } from "../../src/views/memory/curves";
import * as series from "../../src/views/memory/series";
import { linear, roundStep, roundTop, stepPath, ticks } from "../../src/widgets/scale";

const MIB = 1024 ** 2;
const MS = TIME_UNITS[2] as { name: string; scale: number };

function curve(component: string, over: Partial<CurveJson> = {}): CurveJson {
  const time = [0, 10, 20];
  const none = [null, null, null];
  return { component, device: "NPU:0", points: 3, time, allocated: none, reserved: [1, 2, 3], active: none, ...over };
}

function memory(curves: CurveJson[], modules: CurveJson[] = []): MemoryJson {
  return {
    devices: ["NPU:0"],
    curves,
    module_curves: modules,
    peaks: [],
    range_ns: [0, 20],
    size_range: null,
    chosen_ns: null,
    fragmentation_at_peak: null,
  };
}

function peak(component: string, allocated: number | null, at: number | null): MemoryPeakJson {
  return {
    component,
    device: "NPU:0",
    allocated_bytes: allocated,
    allocated_at: at,
    reserved_bytes: null,
    reserved_at: null,
    active_bytes: null,
    active_at: null,
  };
}

const WORDS = { allocated: "allocated", reserved: "reserved", active: "active" };

describe("lines", () => {
  it("shows all allocators together, and leaves out figures that no record has", () => {
    const data = memory([curve("APP"), curve("PTA"), curve("PTA+GE", { allocated: [1, 1, 2] })]);
    expect(series.operatorSeries(data, WORDS).map((one) => one.label)).toEqual([
      "APP reserved",
      "PTA+GE reserved",
      "PTA+GE allocated",
    ]);
  });

  it("falls back to PyTorch's allocator", () => {
    expect(series.mainComponent([curve("GE"), curve("PTA")])).toBe("PTA");
    expect(series.mainComponent([curve("APP")])).toBe("");
  });

  it("tells the devices apart where there are several", () => {
    const data = { ...memory([curve("PTA"), curve("PTA", { device: "NPU:1" })]), devices: ["NPU:0", "NPU:1"] };
    expect(series.componentSeries(data, "reserved").map((one) => one.label)).toEqual(["PTA · NPU:0", "PTA · NPU:1"]);
  });

  it("draws the largest modules", () => {
    const modules = [curve("SLOG", { reserved: [0, 0, 1] }), curve("HCCL", { reserved: [9, 0, 0] })];
    expect(series.moduleSeries(memory([], modules), 1).map((one) => one.label)).toEqual(["HCCL"]);
  });

  it("knows the value in force, over unknown ones and not beyond the last record", () => {
    const [one] = series.componentSeries(memory([curve("PTA", { reserved: [5, null, 7] })]), "reserved");
    if (!one) throw new Error("no line");
    expect([-1, 0, 15, 20, 21].map((at) => series.valueAt(one, at))).toEqual([null, 5, 5, 7, null]);
  });

  it("counts what is in force at the start of a window into its largest value", () => {
    const lines = series.componentSeries(memory([curve("PTA", { reserved: [9, 2, 3] })]), "reserved");
    expect(series.largestWithin(lines, 5, 15)).toBe(9);
    expect(series.largestWithin(lines, 10, 15)).toBe(2);
  });

  it("goes from record to record over all lines", () => {
    const lines = series.componentSeries(memory([curve("PTA"), curve("GE", { time: [5, 10, 25] })]), "reserved");
    const steps = (from: number, direction: 1 | -1) => {
      const found = [];
      let at: number | null = from;
      for (let step = 0; step < 5 && at !== null; step++) {
        at = series.neighbour(lines, at, direction);
        found.push(at);
      }
      return found;
    };
    expect(steps(0, 1)).toEqual([5, 10, 20, 25, null]);
    expect(steps(25, -1)).toEqual([20, 10, 5, 0, null]);
    expect(steps(12, -1)).toEqual([10, 5, 0, null]);
  });

  it("finds the peak of the allocators, whatever the parts held", () => {
    expect(series.peakOf([peak("PTA", 9, 1), peak("PTA+GE", 5, 2), peak("PTA+GE", 6, 3)])).toEqual({
      component: "PTA+GE",
      bytes: 6,
      at: 3,
    });
    expect(series.peakOf([peak("PTA", null, null)])).toBeNull();
  });

  it("asks for detail only where curves were thinned", () => {
    expect(series.isThinned(memory([curve("PTA")]))).toBe(false);
    expect(series.isThinned(memory([curve("PTA", { points: 9 })]))).toBe(true);
  });
});

describe("axes", () => {
  it("maps both ways", () => {
    const x = linear(100, 200, 50, 250);
    expect(x.pixel(150)).toBe(150);
    expect(x.value(250)).toBe(200);
    expect(linear(5, 5, 0, 100).value(40)).toBe(5);
  });

  it("takes round steps", () => {
    expect(roundStep(2110, 4)).toBe(1000);
    expect(roundStep(1800, 4)).toBe(500);
    expect(roundStep(0.9, 4)).toBeCloseTo(0.25);
    expect(roundTop(2110 * MIB, BYTE_UNITS[2] as never, 4)).toBe(3000 * MIB);
    expect(roundTop(0, BYTE_UNITS[0] as never, 4)).toBe(1);
  });

  it("writes ticks that differ", () => {
    expect(ticks(0, 200e6, MS, 8).map((tick) => tick.label)).toEqual([
      "0",
      "25",
      "50",
      "75",
      "100",
      "125",
      "150",
      "175",
      "200",
    ]);
    const near = ticks(169_440_000, 169_442_000, MS, 5).map((tick) => tick.label);
    expect(new Set(near).size).toBe(near.length);
  });

  it("draws steps, in force from the left edge and cut at the right one", () => {
    const x = linear(5, 15, 0, 100);
    const y = linear(0, 10, 100, 0);
    expect(stepPath([0, 10, 20], [2, 4, 6], x, y)).toBe("M0,80H50V60H100");
    expect(stepPath([6, 7], [null, 4], x, y)).toBe("M20,60h4");
    expect(stepPath([6, 8, 10], [1, null, 2], x, y)).toBe("M10,90H50V80");
  });
});

describe("sizes", () => {
  it("reads what it writes", () => {
    for (const bytes of [0, 512, 1536, 512 * 1024, 1.5 * MIB, 3 * 1024 ** 3])
      expect(parseSize(sizeText(bytes))).toBe(bytes);
  });

  it("takes a bare figure as MiB, nothing as no limit, and says what is no size", () => {
    expect(parseSize("64")).toBe(64 * MIB);
    expect(parseSize("1,5 m")).toBe(1.5 * MIB);
    expect(parseSize(" ")).toBeNull();
    expect(parseSize("-3")).toBeUndefined();
    expect(parseSize("many")).toBeUndefined();
  });

  it("hides nothing while both limits are open", () => {
    expect(sizeWhere({ least: null, most: null })).toEqual([]);
    expect(sizeWhere({ least: limitOf("10"), most: limitOf("x") })).toEqual([
      { column: "size_bytes", op: "ge", value: 10 },
    ]);
  });
});

describe("links and files", () => {
  it("keeps a range in the URL", () => {
    expect(parseRange(formatRange([-5, 10]) ?? "")).toEqual([-5, 10]);
    expect(parseRange("10_10")).toBeNull();
    expect(parseRange("a_b")).toBeNull();
    expect([asRange([123, 2000]), asRange(null)]).toEqual([[123, 2000], null]);
  });

  it("resolves the moment", () => {
    expect([momentOf("peak", 7), momentOf("peak", null), momentOf("12", 7), momentOf("", 7)]).toEqual([
      7,
      null,
      12,
      null,
    ]);
  });

  it("sums only what is here whole", () => {
    const table = {
      id: "",
      columns: [],
      data: { size_bytes: [1, null, 3] },
      offset: 0,
      rows: 3,
      total: 3,
      sort: "",
      desc: false,
    };
    expect(sumOf(table)).toBe(4);
    expect(sumOf({ ...table, total: 4 })).toBeNull();
    const large = [{ column: "size_bytes", op: "gt" as const, value: 1 }];
    expect(heldOf(table, [])).toEqual({ count: table.rows, bytes: 4 });
    expect(heldOf(table, large)?.bytes).toBe(3);
    expect(heldOf({ ...table, total: 4 }, [])).toBeNull();
  });

  it("writes CSV with quotes where they are needed", () => {
    const lines = series.componentSeries(
      memory([curve('a,"b"', { time: [0, 1, 2], reserved: [1, null, 3] })]),
      "reserved",
    );
    expect(series.curvesCsv(lines)).toBe('curve,time_ns,bytes\r\n"a,""b""",0,1\r\n"a,""b""",1,\r\n"a,""b""",2,3\r\n');
  });
});
