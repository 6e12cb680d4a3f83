import { render } from "preact";
import { useEffect } from "preact/hooks";
import { afterEach, expect, test, vi } from "vitest";
import type { TableJson } from "../../src/api/types.gen";
import { type Rows, useRemoteRows } from "../../src/widgets/table/rows";
import { waitFor } from "../wait";

const TABLE: TableJson = { id: "t", columns: [], data: {}, offset: 0, rows: 0, total: 500, sort: "", desc: false };
const QUERY = { filter: "", where: [], order: { key: "", desc: false } };
const VIEW = {};

afterEach(() => vi.unstubAllGlobals());

/** A table whose rows are asked for each time it is drawn, as the body of one does. */
function mounted(): { rows: () => Rows } {
  let shown: Rows | null = null;
  function Probe() {
    const rows = useRemoteRows(TABLE, VIEW, QUERY, true);
    shown = rows;
    useEffect(() => rows.want(0, 10));
    return null;
  }
  render(<Probe />, document.body.appendChild(document.createElement("div")));
  return { rows: () => shown as unknown as Rows };
}

test("a page that fails is told once and asked for again only on demand", async () => {
  let asked = 0;
  vi.stubGlobal("fetch", async () => {
    asked += 1;
    return new Response("{}", { status: 503 });
  });
  const { rows } = mounted();
  await waitFor(() => expect(rows().error).not.toBeNull());
  const before = asked;
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done));
  expect([before, asked]).toEqual([1, 1]);
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ ...TABLE, total: 7 })));
  rows().retry();
  await waitFor(() => expect(rows().count).toBe(7));
  expect(rows().error).toBeNull();
});
