import { expect, test } from "vitest";
import {
  busyOf,
  decodeCounter,
  decodeSlices,
  endOf,
  longestOf,
  parseFrame,
  startOf,
  waitOf,
} from "../../src/timeline/decode";
import { frame } from "./build";

const BASE = "1736409284123456789";

function slices(start: number[], far: number[][] = [], base = "1736409284123457789") {
  const u32 = (values: number[]) => ({ type: "u32" as const, values });
  return frame(
    {
      base,
      unit: 2,
      far,
      names: ["Add", "矩阵"],
      categories: ["cpu_op", ""],
      meanings: ["", ""],
      rows: [
        [1, 0, 0, 2],
        [1, 1, 2, 1],
        [2, 0, 3, 0],
      ],
    },
    {
      start: u32(start),
      dur: u32([5, 6, 7]),
      id: u32([11, 12, 13]),
      name: u32([0, 1, 0]),
      count: u32([1, 3, 1]),
      busy: u32([5, 9, 7]),
      end: u32([15, 26, 0xffffffff]),
      waiting: u32([1]),
      wait: u32([3]),
      work: u32([0]),
    },
  );
}

test("rows get their part of the columns and exact times after the span's base", () => {
  const rows = decodeSlices(slices([10, 20, 30]), BASE);
  expect(rows.map((part) => [part.row, part.start.length])).toEqual([
    [4096, 2],
    [4097, 1],
    [8192, 0],
  ]);
  const [first, second] = rows as [(typeof rows)[0], (typeof rows)[0]];
  expect(startOf(first, 1)).toBe(1000 + 20 * 2);
  expect(endOf(first, 1)).toBe(1000 + 26 * 2);
  expect([first.id[1], first.count[1], first.names[first.name[1] as number]]).toEqual([12, 3, "矩阵"]);
  expect(startOf(second, 0)).toBe(1060);
  expect([longestOf(first, 1), busyOf(first, 1)]).toEqual([12, 18]);
  expect([waitOf(first, 0), waitOf(first, 1), [...first.work]]).toEqual([0, 6, [0, 0]]);
  expect([second.wait.length, second.work]).toEqual([0, second.name]);
});

test("packed columns are sums modulo 2^32 of what is sent", () => {
  const [start, dur, end] = [
    [7, 300, 70_000, 0],
    [0xffffffff, 5, 0x1020304, 9],
    [6, 305, 0xffffffff, 2],
  ] as [number[], number[], number[]];
  const found = parseFrame(
    frame(
      { base: "0" },
      {
        end: { type: "u32", values: end, less: ["start", "dur"] },
        start: { type: "u32", values: start, less: ["start"] },
        dur: { type: "u32", values: dur, less: [] },
      },
    ),
  );
  expect([[...found.u32("start")], [...found.u32("dur")], [...found.u32("end")]]).toEqual([start, dur, end]);
});

test("what the columns cannot tell has its own times", () => {
  const [first, second] = decodeSlices(slices([0, 20, 0], [[2, -500, 9_000_000_000_000]]), BASE);
  if (!first || !second) throw new Error("no rows");
  expect([startOf(second, 0), endOf(second, 0)]).toEqual([-500, 9_000_000_000_000]);
  expect([startOf(first, 0), endOf(first, 0)]).toEqual([1000, 1030]);
});

test("a base before the span's base gives negative times", () => {
  const [first] = decodeSlices(slices([10, 20, 30], [], "1736409284123456689"), BASE);
  expect(startOf(first as NonNullable<typeof first>, 0)).toBe(-80);
});

test("counters keep their values and get times", () => {
  const f64 = (values: number[]) => ({ type: "f64" as const, values });
  const buffer = frame(
    { base: BASE, unit: 1, series: ["HBM"] },
    { t0: { type: "u32", values: [5, 9, 12] }, min0: f64([0.5, 1, 2]), max0: f64([1.5, 1, 4]), last0: f64([1, 1, 3]) },
  );
  const [series] = decodeCounter(buffer, BASE);
  expect(series?.name).toBe("HBM");
  expect([...(series?.time ?? [])]).toEqual([5, 9, 12]);
  expect([...(series?.max ?? [])]).toEqual([1.5, 1, 4]);
});

test("what is no timeline answer is refused with a reason", () => {
  expect(() => decodeSlices(new ArrayBuffer(4), BASE)).toThrow("4 bytes");
  expect(() => decodeSlices(new ArrayBuffer(64), BASE)).toThrow("magic");
  const cut = slices([10, 20, 30]);
  expect(() => decodeSlices(cut.slice(0, cut.byteLength - 16), BASE)).toThrow("runs past the end");
  expect(() =>
    decodeSlices(frame({ base: BASE, rows: [], names: [], categories: [], meanings: [] }, {}), BASE),
  ).toThrow("no column start");
});
