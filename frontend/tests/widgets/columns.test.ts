import { expect, test } from "vitest";
import type { ColumnJson } from "../../src/api/types.gen";
import { columnFormat } from "../../src/widgets/table/columns";
import { fitting, naturalWidth, type ShownColumn } from "../../src/widgets/table/layout";
import { comparedValues } from "../../src/widgets/table/use_columns";

const MS = 1e6;
const column = (key: string): ColumnJson => ({ key, kind: "duration", title: key, doc: "", group: "" });

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
    ({ bar, width, natural: 300, format: { isFigure: width < 100 } }) as ShownColumn;
  const columns = [shown(130), shown(80), shown(60, true), shown(80), shown(130)];
  const widths = (room: number) => fitting(columns, room).map(({ width }) => width);
  expect(fitting(columns, 480)).toBe(columns);
  expect(fitting(columns, 0)).toBe(columns);
  expect(widths(479)).toEqual([130, 80, 80, 130]);
  expect(widths(419)).toEqual([220, 80, 80, 130]);
});
