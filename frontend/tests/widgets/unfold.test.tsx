import { render } from "preact";
import { useState } from "preact/hooks";
import { afterEach, expect, test, vi } from "vitest";
import type { TableJson } from "../../src/api/types.gen";
import { type Row, rowAt } from "../../src/widgets/table/columnar";
import { pageTable } from "../../src/widgets/table/columns";
import { useInlineRows } from "../../src/widgets/table/rows";
import { type Fold, useUnfolded, withParts } from "../../src/widgets/table/unfold";
import { waitFor } from "../wait";

afterEach(() => vi.unstubAllGlobals());

const table = (id: string, rows: [type: string, ns: number, name?: string][]): TableJson =>
  pageTable(id, rows, [
    ["type", "text", "Type", "", ([type]) => type],
    ["ns", "duration", "Time", "", ([, ns]) => ns],
    ["name", "text", "Name", "", ([, , name]) => name ?? null],
  ]);
const TYPES = table("types", [
  ["Mul", 9],
  ["Add", 5],
  ["Sub", 1],
]);
const ORDER = { key: "ns", desc: false };
const UNFOLD = { table: "kinds", keys: ["type"], label: (row: Row) => String(row.get("name")) };

test("rows below others have their places between them", () => {
  const names = table("names", [
    ["Mul", 8, "m1"],
    ["Mul", 1, "m2"],
  ]);
  const own = { count: 3, all: 3, at: (place: number) => rowAt(TYPES.data, place), want: vi.fn(), error: null };
  const below = [0, 1].map((index) => rowAt(names.data, index));
  const rows = withParts({ ...own, retry: () => {}, sample: {} }, [
    { place: 0, rows: below },
    { place: 2, rows: [null] },
  ]);
  expect(rows.count).toBe(6);
  const texts = Array.from({ length: 6 }, (_, place) => rows.at(place)).map(
    (row) => row?.get("name") ?? row?.get("type"),
  );
  expect(texts).toEqual(["Mul", "m1", "m2", "Add", "Sub", undefined]);
  rows.want(4, 5);
  expect(own.want).toHaveBeenCalledWith(1, 5);
});

test("an unfolded row asks for its own rows alone, in the order of the table; folding takes them away", async () => {
  const asked: URL[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(new URL(url, "http://x"));
    return new Response(
      JSON.stringify(
        table("kinds", [
          ["Add", 4, "long"],
          ["Add", 1, "short"],
        ]),
      ),
    );
  });
  let rows: ReturnType<typeof useInlineRows> | undefined;
  let fold: Fold | null = null;
  function Probe() {
    const [unfolded, setUnfolded] = useState<readonly string[]>([]);
    const own = useInlineRows(TYPES, { filter: "", where: [], order: { key: "", desc: false } });
    const props = { unfold: UNFOLD, table: TYPES, query: { step: "7" }, order: ORDER, unfolded };
    ({ rows, fold } = useUnfolded(own, props, (change) => setUnfolded(change.unfolded)));
    return null;
  }
  render(<Probe />, document.body.appendChild(document.createElement("div")));
  const toggle = () => fold?.toggle(rowAt(TYPES.data, 1));
  const names = () => Array.from({ length: rows?.count ?? 0 }, (_, place) => rows?.at(place)?.get("name") ?? null);
  toggle();
  await waitFor(() => expect(names()).toEqual([null, null, "short", "long", null]));
  expect(asked.length).toBe(1);
  expect([asked[0]?.pathname.endsWith("table/kinds"), asked[0]?.searchParams.getAll("where")]).toEqual([
    true,
    ["type:eq:Add"],
  ]);
  expect(asked[0]?.searchParams.get("step")).toBe("7");
  toggle();
  await waitFor(() => expect(rows?.count).toBe(3));
});
