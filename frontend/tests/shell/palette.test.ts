import { afterEach, expect, test, vi } from "vitest";
import type { CatalogJson, DiagnosisJson } from "../../src/api/types.gen";
import { localGroups, remoteGroups } from "../../src/shell/palette";
import { catalog, type Place } from "../../src/state/catalog";
import { params } from "../../src/state/params";

const view = (id: string, available = true) => ({ id, available });
const span = (id: string) => ({ id, start_ns: "1000", views: ["overview", "trace", "kernel"].map((one) => view(one)) });
const worker = (rank: number) => ({
  id: `w${rank}`,
  label: `rank ${rank}`,
  rank,
  host: null,
  spans: [span(`s${rank}`)],
});
const RUN = { id: "r", label: "first", folders: [], workers: [worker(0), worker(1)] };
const OTHER = { id: "q", label: "first again", folders: [], workers: [worker(7)] };
const PLACE = { run: RUN, worker: RUN.workers[0], span: RUN.workers[0]?.spans[0] } as unknown as Place;

afterEach(() => {
  vi.unstubAllGlobals();
  params.value = {};
});

test("views, other runs, other ranks and findings that hold all words", () => {
  catalog.value = { runs: [RUN, OTHER], skipped: [], generation: 1 } as unknown as CatalogJson;
  const finding = { rule: "x", title: "Straggler", message: "Rank 1 is slow", texts: {}, ms_per_step: 2, evidence: [] };
  const diagnosis = { findings: [finding], ledgers: [] } as unknown as DiagnosisJson;
  const found = (text: string) =>
    localGroups(text, PLACE, diagnosis).map(({ title, items }) => [title, ...items.map(({ label }) => label)]);
  expect(found("trac")).toEqual([["Views", "Trace"]]);
  expect(found("View CallStack").flat()).not.toContain("Trace");
  expect(found("Kernel Details").flat()).toContain("Kernel");
  expect(found("first")).toEqual([["Other runs", "first again"]]);
  expect(found("rank 1")).toEqual([
    ["Findings", "Rank 1 is slow"],
    ["Worker", "rank 1"],
  ]);
  localGroups("trac", PLACE, null)[0]?.items[0]?.open();
  expect(params.value.view).toBe("trace");
});

test("kernels and slices of all ranks with their number; what fails is left out", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(decodeURIComponent(url));
    if (url.includes("table/kernel")) {
      return new Response(
        JSON.stringify({ total: 9, data: { name: ["a", "b", "c", "d"], total_ns: [4e6, 3e6, 2e6, 1e6] } }),
      );
    }
    return new Response(JSON.stringify({ total: 1, data: { name: ["x"], start: [500], dur: [20], part: [1] } }));
  });
  const [kernels, slices] = await remoteGroups("a", PLACE, new AbortController().signal);
  expect(kernels).toMatchObject({ title: "Kernel", total: 9 });
  expect(kernels?.items.map(({ label, note }) => [label, note])).toEqual([
    ["a", "4.000 ms"],
    ["b", "3.000 ms"],
    ["c", "2.000 ms"],
    ["All 9", ""],
  ]);
  kernels?.items[3]?.open();
  expect(params.value["t.kernel.statistic"]).toBe("q:a");
  expect(asked[1]).toContain('"span":"s1"');
  slices?.items[0]?.open();
  expect(params.value).toMatchObject({ view: "trace", worker: "w1", span: "s1", find: "x", at: "1500,20" });
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 503 }));
  expect(await remoteGroups("a", PLACE, new AbortController().signal)).toEqual([]);
});
