import { expect, test } from "vitest";
import { formatLayout, formatRange, KEYS, parseLink, parseRange } from "../../../src/views/trace/link";

test("a range survives the link; nonsense does not", () => {
  expect(parseRange(formatRange({ start: 12.3456, end: 99 }))).toEqual({ start: 12.35, end: 99 });
  for (const text of ["", "5", "9,2", "a,b", "3,3"]) expect(parseRange(text)).toBeNull();
});

test("rows survive the link", () => {
  const layout = {
    collapsedProcesses: new Set(["Python:1", "Ascend Hardware:2"]),
    collapsedTracks: new Set([3, 4]),
    pinned: [7, 2],
    filter: "Stream",
  };
  expect(parseLink({ ...formatLayout(layout), [KEYS.of]: "s" }, "s").layout).toEqual(layout);
});

test("ids and times of another span are left out, names stay", () => {
  const params = {
    [KEYS.of]: "rank0",
    [KEYS.slice]: "12",
    [KEYS.range]: "1,2",
    [KEYS.pinned]: "3",
    [KEYS.marks]: "1,2;3,4",
    [KEYS.search]: "MatMul",
    [KEYS.closed]: "Python:1",
  };
  const own = parseLink(params, "rank0");
  expect([own.slice, own.range, own.marks.length]).toEqual([12, { start: 1, end: 2 }, 2]);
  const other = parseLink(params, "rank1");
  expect([other.slice, other.range, other.marks, other.layout.pinned]).toEqual([null, null, [], []]);
  expect([other.search, other.layout.collapsedProcesses.size]).toEqual(["MatMul", 1]);
});
