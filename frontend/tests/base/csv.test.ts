import { expect, it } from "vitest";
import { csvHeader, csvText } from "../../src/base/csv";

it("disarms formulas, not numbers", () => {
  const cells = ["=1+1", "+cmd", "-x", "@SUM(A1)", "＝1+1", "\tx", "-1.5", "a=b", -3];
  const lines = csvText(
    [],
    cells.map((cell) => [cell]),
  ).split("\r\n");
  expect(lines).toEqual(["", "'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "'＝1+1", "'\tx", "-1.5", "a=b", "-3", ""]);
});

it("quotes what needs it, keeps every digit and leaves the unknown empty", () => {
  const text = csvText(
    ["a", "b,c"],
    [
      ["x\ny", 9007199254740991],
      ['say "no"', null],
    ],
  );
  expect(text).toBe('a,"b,c"\r\n"x\ny",9007199254740991\r\n"say ""no""",\r\n');
});

it("names the unit of figures in the header", () => {
  const columns = [
    { key: "name", kind: "text" },
    { key: "total", kind: "duration" },
    { key: "wait_ns", kind: "duration" },
    { key: "size", kind: "bytes" },
    { key: "count", kind: "int" },
  ];
  expect(columns.map(csvHeader)).toEqual(["name", "total_ns", "wait_ns", "size_bytes", "count"]);
});
