import { expect, test } from "vitest";
import { formatMarks, parseMarks } from "../../../src/views/trace/link/link";
import { marksFromJson, marksToJson } from "../../../src/views/trace/marks/marks";

const BASE = "1736408883704000500";

test("marks survive a file, also in a trace with another start", () => {
  const range = { start: 23, end: 63, name: "矩阵; a,b", colour: "green" as const };
  const flag = { start: 70, end: 70, name: "" };
  const marks = [{ ...range, end: 63.4 }, flag];
  const text = marksToJson(marks, BASE);
  expect(text).toContain('"1736408883704000523"');
  expect(marksFromJson(text, BASE)).toEqual({ marks: [range, flag], skipped: 0 });
  const later = [range, flag].map((mark) => ({ ...mark, start: mark.start + 500, end: mark.end + 500 }));
  expect(marksFromJson(text, "1736408883704000000")?.marks).toEqual(later);
});

test("what is no mark is skipped and counted; what is no file of marks is refused", () => {
  const good = { start_epoch_ns: BASE, duration_ns: 5, colour: "red", name: "a\ud800" };
  const bad = [
    null,
    7,
    {},
    { ...good, start_epoch_ns: 5 },
    { ...good, start_epoch_ns: "-5" },
    { ...good, start_epoch_ns: "1" },
    { ...good, duration_ns: -1 },
    { ...good, duration_ns: 0.5 },
  ];
  const found = marksFromJson(JSON.stringify({ marks: [good, ...bad] }), BASE);
  expect(found).toEqual({ marks: [{ start: 0, end: 5, name: "a\ufffd" }], skipped: bad.length });
  expect(parseMarks(formatMarks(found?.marks ?? []))).toEqual(found?.marks);
  for (const text of ["", "null", "{}", "[]", '{"marks": {}}']) expect(marksFromJson(text, BASE)).toBeNull();
});

test("a link keeps the colours of marks, and reads links without them", () => {
  const marks = [
    { start: 1, end: 2, name: "a", colour: "pink" as const },
    { start: 3, end: 3, name: "", colour: "blue" as const },
  ];
  expect(parseMarks(formatMarks(marks))).toEqual(marks);
  expect(parseMarks("1,2,a;3,4,b,infrared")).toEqual([
    { start: 1, end: 2, name: "a" },
    { start: 3, end: 4, name: "b" },
  ]);
});
