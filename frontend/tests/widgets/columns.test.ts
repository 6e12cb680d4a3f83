import { expect, test } from "vitest";
import type { ColumnJson } from "../../src/api/types.gen";
import { columnFormat } from "../../src/widgets/table/columns";
import { comparedValues, fitColumns, naturalWidth, type ShownColumn } from "../../src/widgets/table/layout";

const MS = 1e6;
const column = (key: string): ColumnJson => ({ key, kind: "duration", title: key, doc: "", group: "", texts: {} });

test("columns that are compared have one unit, others their own", () => {
  const sample = { baseline: [60 * MS, 8 * MS], experimental: [54_000 * MS, 22_000 * MS], wait: [300, 200] };
  const compared = [["baseline", "experimental"]];
  const header = (key: string) => columnFormat(column(key), comparedValues(key, sample, compared), "0").header;
  expect(header("baseline")).toBe("baseline s");
  expect(header("experimental")).toBe("experimental s");
  expect(header("wait")).toBe("wait ns");
  expect(columnFormat(column("baseline"), comparedValues("baseline", sample), "0").header).toBe("baseline ms");
});

test("a figure that a view writes itself has its place", () => {
  const format = columnFormat({ ...column("calls"), kind: "int" }, [588], "0");
  const plain = naturalWidth(format, [588]);
  expect(naturalWidth(format, [588], () => "588 → 66 306 of 1 000 000")).toBeGreaterThan(plain);
  expect(naturalWidth(format, [588], () => null)).toBe(plain);
});

test("moments of a long capture keep their microseconds", () => {
  const format = columnFormat({ ...column("start_ns"), kind: "time" }, [9_880_123_000, 58_842_000_400], "0");
  expect(format.header).toBe("start_ns ms");
  expect(format.text(9_880_123_000).replaceAll("\u202f", " ")).toBe("9 880.123");
});

test("bars give way where the figures have no room, and names have some where nothing else helps", () => {
  const shown = (width: number, bar = false) =>
    ({ bar, width, natural: 300, column: column(String(width)), format: { isFigure: width < 100 } }) as ShownColumn;
  const columns = [shown(130), shown(80), shown(60, true), shown(80), shown(130)];
  const widths = (room: number) => fitColumns(columns, room).map(({ width }) => width);
  expect(fitColumns(columns, 480)).toEqual(columns);
  expect(fitColumns(columns, 0)).toBe(columns);
  expect(widths(479)).toEqual([130, 80, 80, 130]);
  expect(widths(419)).toEqual([220, 80, 80, 130]);
});

test("names are whole while a less important column is shown, and cut only after all of them gave way", () => {
  const shown = (key: string, width: number, natural = width, bar = false) =>
    ({ bar, width, natural, column: column(key), format: { isFigure: natural < 200 && !bar } }) as ShownColumn;
  const columns = [shown("name", 130, 500), shown("share", 80), shown("share", 60, 60, true), shown("max", 70)];
  const keys = (room: number) =>
    fitColumns(columns, room, ["max", "bar"]).map(({ bar, column, width }) => `${bar ? "bar" : column.key} ${width}`);
  expect(keys(710)).toEqual(["name 500", "share 80", "bar 60", "max 70"]);
  expect(keys(709)).toEqual(["name 500", "share 80", "bar 60"]);
  expect(keys(639)).toEqual(["name 500", "share 80"]);
  expect(keys(579)).toEqual(["name 130", "share 80"]);
});

test("a copied cell has the unit that it shows; unknown is empty", () => {
  const format = columnFormat(column("dur"), [102_304_881, 1_234_567_890_000], "0");
  expect(format.copied(102_304_881)).toBe(`${format.text(102_304_881)} s`);
  expect(columnFormat(column("dur"), [102_304_881], "0").copied(102_304_881)).toBe("102.305 ms");
  expect(columnFormat(column("dur"), [1_234_567_000, 500], "0").copied(null)).toBe("");
  expect(columnFormat({ ...column("n"), kind: "int" }, [1_234_567], "0").copied(1_234_567)).toBe("1234567");
  expect(columnFormat({ ...column("r"), kind: "ratio" }, [0.125], "0").copied(0.125)).toBe("12.5 %");
});

test("a column without figures has no unit in its header", () => {
  expect(columnFormat(column("computing"), [null, null], "0").header).toBe("computing");
});
