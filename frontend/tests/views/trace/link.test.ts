import { expect, test } from "vitest";
import { ALL_SLICES } from "../../../src/timeline/display";
import { DERIVED } from "../../../src/timeline/lanes";
import {
  formatArea,
  formatDisplay,
  formatLayout,
  formatMarks,
  formatPart,
  formatRange,
  KEYS,
  parseArea,
  parseLink,
  parseMarks,
  parseMoment,
  parseRange,
} from "../../../src/views/trace/link/link";
import { shortenName } from "../../../src/views/trace/marks/marks";

test("a range survives the link; nonsense does not", () => {
  expect(parseRange(formatRange({ start: 12.3456, end: 99 }))).toEqual({ start: 12.35, end: 99 });
  for (const text of ["", "5", "9,2", "a,b", "3,3"]) expect(parseRange(text)).toBeNull();
});

test("a dragged range survives the link with its rows", () => {
  const some = { start: 3, end: 99, tracks: [4, 2] };
  expect(parseArea(formatArea(some))).toEqual(some);
  expect(parseArea(formatArea({ ...some, tracks: null }))).toEqual({ ...some, tracks: null });
  expect(parseArea("9,2,4")).toBeNull();
  expect(parseLink({ [KEYS.area]: formatArea(some), [KEYS.of]: "rank0" }, "rank1").area).toBeNull();
});

test("a range over strips survives the link with its ranks, and a selected part of a strip with its rank", () => {
  const strips = { start: 3, end: 99, tracks: null, lanes: [0, 5] };
  expect(formatArea(strips)).toBe("3,99,r0,r5");
  expect(parseArea("3,99,r0,r5")).toEqual(strips);
  const part = { span: "s5", start: -4, end: 12 };
  const link = { [KEYS.part]: formatPart(part), [KEYS.of]: "s0" };
  expect(parseLink(link, "s0").part).toEqual(part);
  expect(parseLink(link, "s1").part).toBeNull();
  for (const text of ["s5", "s5,9,2", ",1,2"]) expect(parseLink({ [KEYS.part]: text }, "s0").part).toBeNull();
});

test("marks survive with any name; a flag has no length", () => {
  const marks = [
    { start: 0, end: 12, name: "a;b,c%|=矩阵" },
    { start: 7, end: 7, name: "" },
  ];
  expect(parseMarks(formatMarks(marks))).toEqual(marks);
  expect(parseMarks("1,2;x,3;;9,4,late;5,6,50%")).toEqual([
    { start: 1, end: 2, name: "" },
    { start: 5, end: 6, name: "50%" },
  ]);
});

test("a moment since 1970 keeps its ns", () => {
  const base = "1736408883704000500";
  expect(parseMoment("1736408883704000523,40", base)).toEqual({ start: 23, end: 63 });
  expect(parseMoment("1736408883704000523", base)).toEqual({ start: 23, end: 24 });
  for (const text of ["", "5.5", "x,1", "-3,4"]) expect(parseMoment(text, base)).toBeNull();
});

test("rows survive the link", () => {
  const layout = {
    collapsedProcesses: new Set(["Python:1", "Ascend Hardware:2"]),
    collapsedTracks: new Set([3, 4]),
    pinned: [7, 2],
    filter: "Stream",
    arrangement: {
      hiddenProcesses: new Set(["CANN:4"]),
      hiddenTracks: new Set([5]),
      processOrder: ["CANN:4", "Python:1"],
      trackOrder: [8, 7],
    },
  };
  expect(parseLink({ ...formatLayout(layout), [KEYS.of]: "s" }, "s").layout).toEqual(layout);
});

test("the shown slices and their colours survive the link", () => {
  const display = { least: 1500, colours: "duration" as const, packings: ["streams" as const] };
  expect(parseLink(formatDisplay(display), "s").display).toEqual(display);
  expect(Object.values(formatDisplay(ALL_SLICES))).toEqual(["", "", ""]);
  for (const text of ["-1", "1.5", "x"]) {
    expect(parseLink({ [KEYS.least]: text, [KEYS.colours]: "no", [KEYS.packings]: "no" }, "s").display).toEqual(
      ALL_SLICES,
    );
  }
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
  expect([other.search, ...other.layout.collapsedProcesses]).toEqual(["MatMul", "Python:1", DERIVED]);
});

test("marks of a link are in order, and end", () => {
  expect(parseMarks("9,9,b;3,4,a;5,Infinity,x;5,1e999,y").map((mark) => mark.name)).toEqual(["a", "b"]);
});

test("a long name is cut between letters, so that a link can hold it", () => {
  const name = shortenName(`${"k".repeat(58)}😀😀😀`);
  expect([...name]).toHaveLength(60);
  expect(parseMarks(formatMarks([{ start: 1, end: 2, name }]))).toEqual([{ start: 1, end: 2, name }]);
  expect(shortenName("😀".repeat(60))).toBe("😀".repeat(60));
});
