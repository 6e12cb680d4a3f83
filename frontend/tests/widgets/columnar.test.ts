import { describe, expect, test } from "vitest";
import type { ColumnJson, TableJson } from "../../src/api/types.gen";
import { filterRows, nextOrder, sortRows } from "../../src/widgets/table/columnar";
import { columnFormat } from "../../src/widgets/table/columns";
import { serverQuery } from "../../src/widgets/table/rows";
import { formatState, parseState } from "../../src/widgets/table/state";

const column = (key: string, kind: ColumnJson["kind"], group = ""): ColumnJson => ({
  key,
  kind,
  title: key,
  doc: "",
  group,
  texts: {},
});

const TABLE: TableJson = {
  id: "x.y",
  columns: [column("name", "text"), column("core", "text"), column("dur", "duration")],
  data: {
    name: ["Add", "MatMul", "add_2", "x10", "x9"],
    core: ["V", "C", "V", null, "C"],
    dur: [9.5, 120, null, 9, 120],
  },
  offset: 0,
  rows: 5,
  total: 5,
  sort: "dur",
  desc: true,
};
const all = filterRows(TABLE, "", []);

describe("sort", () => {
  test("numbers as numbers, unknown last both ways, ties as they stood", () => {
    expect([...sortRows(all, TABLE.data.dur ?? [], false, true)]).toEqual([1, 4, 0, 3, 2]);
    expect([...sortRows(all, TABLE.data.dur ?? [], false, false)]).toEqual([3, 0, 1, 4, 2]);
  });

  test("texts by number inside, unknown last", () => {
    expect([...sortRows(all, TABLE.data.name ?? [], true, false)].slice(-2)).toEqual([4, 3]);
    expect([...sortRows(all, TABLE.data.core ?? [], true, true)].at(-1)).toBe(3);
  });

  test("clicks: figures fall first, then rise, then as sent", () => {
    const initial = { key: "dur", desc: true };
    const dur = TABLE.columns[2] as ColumnJson;
    const name = TABLE.columns[0] as ColumnJson;
    expect(nextOrder(initial, initial, dur)).toEqual({ key: "dur", desc: false });
    expect(nextOrder({ key: "dur", desc: false }, initial, dur)).toBe(initial);
    expect(nextOrder(initial, initial, name)).toEqual({ key: "name", desc: false });
    expect(nextOrder({ key: "name", desc: false }, initial, name)).toEqual({ key: "name", desc: true });
    expect(nextOrder({ key: "name", desc: true }, initial, name)).toBe(initial);
  });
});

describe("filter", () => {
  test("any text column, case does not count", () => {
    expect([...filterRows(TABLE, "ADD", [])]).toEqual([0, 2]);
    expect([...filterRows(TABLE, " v ", [])]).toEqual([0, 2]);
    expect([...filterRows(TABLE, "120", [])]).toEqual([]);
  });

  test("every word in any column, in any order", () => {
    expect([...filterRows(TABLE, "v add", [])]).toEqual([0, 2]);
    expect([...filterRows(TABLE, " Mat  c ", [])]).toEqual([1]);
    expect([...filterRows(TABLE, "mat v", [])]).toEqual([]);
  });

  test("conditions", () => {
    expect([...filterRows(TABLE, "", [{ column: "core", value: "C" }])]).toEqual([1, 4]);
    expect([...filterRows(TABLE, "", [{ column: "core", value: null }])]).toEqual([3]);
    expect([...filterRows(TABLE, "", [{ column: "dur", op: "ge", value: 9.5 }])]).toEqual([0, 1, 4]);
    expect([...filterRows(TABLE, "", [{ column: "dur", op: "lt", value: 100 }])]).toEqual([0, 3]);
    expect([...filterRows(TABLE, "", [{ column: "name", op: "has", value: "X" }])]).toEqual([3, 4]);
  });

  test("the server is asked for the same", () => {
    const query = { filter: " a ", where: [{ column: "core", value: null }], order: { key: "dur", desc: true } };
    expect(serverQuery(query)).toEqual({ sort: "dur", desc: 1, filter: "a", where: ["core:eq:"] });
  });
});

test("a table's state survives the URL", () => {
  const state = {
    filter: "50%~x",
    order: { key: "dur", desc: true },
    columns: ["name", "dur"],
    widths: { name: 240 },
    unfolded: ["a/b%2Cc"],
  };
  expect(parseState(formatState(state))).toEqual(state);
  expect(parseState("")).toEqual({ filter: "", order: null, columns: null, widths: {} });
});

describe("figures of a column", () => {
  test("one unit, all digits in the tooltip", () => {
    const format = columnFormat(column("dur", "duration"), [1_959_077, 574_000, null], "0");
    expect(format.header).toBe("dur ms");
    expect(format.text(574_000)).toBe("0.574");
    expect(format.text(null)).toBe("–");
    expect(format.full(1_959_077).replace(/\u202f/g, " ")).toBe("1 959 077 ns");
  });

  test("times show the offset, and the epoch's digits in the tooltip", () => {
    const format = columnFormat(column("at", "time"), [130_685_000], "1736408883573957920");
    expect(format.text(130_685_000)).toBe("130.685");
    expect(format.full(130_685_000)).toContain("1736408883704642920");
  });

  test("ids have no thousands, ratios are percentages", () => {
    expect(columnFormat(column("id", "int", "identity"), [], "0").text(4294967295)).toBe("4294967295");
    expect(columnFormat(column("r", "ratio"), [], "0").text(0.519)).toBe("51.9 %");
    expect(columnFormat(column("p", "percent"), [], "0").text(51.9)).toBe("51.9 %");
  });
});
