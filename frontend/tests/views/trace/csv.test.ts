import { expect, test } from "vitest";
import { argument, offset } from "../../../src/views/trace/format";
import { tableCsv } from "../../../src/views/trace/slice_list";

test("cells are quoted where they must be, formulas are disarmed, unknown is empty", () => {
  const column = (key: string, kind: "text" | "int") => ({ key, kind, title: key, doc: "", group: "", texts: {} });
  const csv = tableCsv({
    id: "x",
    columns: [column("name", "text"), column("total", "int")],
    data: { name: ['a,"b"', "=cmd()", null], total: [5, -3, null] },
    offset: 0,
    rows: 3,
    total: 3,
    sort: "",
    desc: false,
  });
  expect(csv.split("\r\n")).toEqual(["name,total", '"a,""b""",5', "'=cmd(),-3", ",", ""]);
});

test("moments keep every ns", () => {
  const plain = (text: string) => text.replaceAll("\u202f", " ");
  expect(plain(offset(52_148_220))).toBe("+52 148.220 µs");
  expect(plain(offset(999))).toBe("+999 ns");
  expect(plain(offset(-1_500))).toBe("−1.500 µs");
});

test("arguments are shown as they are written", () => {
  expect(argument("12345678901234567890")).toBe("12345678901234567890");
  expect(argument({ a: [1] })).toBe('{"a":[1]}');
});
