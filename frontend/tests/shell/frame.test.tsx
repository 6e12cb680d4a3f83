import { render, type VNode } from "preact";
import { act } from "preact/test-utils";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { CatalogJson, SpanJson } from "../../src/api/types.gen";
import { NoRuns } from "../../src/shell/no_runs";
import { TopBar } from "../../src/shell/top_bar";
import { catalog } from "../../src/state/catalog";
import { setParams } from "../../src/state/params";
import { selection } from "../../src/state/selection";
import { Captures } from "../../src/views/diff/captures";
import { SummaryHint } from "../../src/widgets/skipped";

function span(id: string, simulated: boolean): SpanJson {
  const known = {
    label: id,
    start_ns: null,
    device_ns: null,
    bytes: 0,
    fingerprint: "",
    state: "ready",
    problems: 0,
  } as const;
  return { id, ...known, views: [], format: "torch_npu", has_trace: true, period: "step", simulated };
}

function worker(id: string, spans: SpanJson[]) {
  return { id, label: id, rank: 0, rank_source: "", host: null, pid: null, role: "", spans };
}

const CATALOG: CatalogJson = {
  generation: 1,
  scanning: false,
  logdirs: ["/runs, old"],
  runs: [
    {
      id: "r1",
      label: "mock",
      basis: "",
      texts: {},
      folders: [],
      workers: [worker("w1", [span("s1", true)])],
      kernel_types: {},
    },
    {
      id: "r2",
      label: "real",
      basis: "",
      texts: {},
      folders: [],
      workers: [worker("w2", [span("s2", false)])],
      kernel_types: {},
    },
  ],
  offers: [],
  skipped: [],
  others: [],
  summaries: [],
  scanner: "c",
  version: "",
};

// The address is written a while after a change of it: by then the page may be that of other tests, or gone.
beforeAll(() => {
  vi.useFakeTimers();
  catalog.value = CATALOG;
});
afterAll(() => {
  catalog.value = null;
  vi.useRealTimers();
});

function drawn(node: VNode): HTMLElement {
  const root = document.createElement("div");
  act(() => render(node, root));
  return root;
}

const bar = () => drawn(<TopBar onToggleSide={() => {}} onHelp={() => {}} />).querySelectorAll(".chip.warn").length;

test("every view of a simulated capture says so, those of a real one do not", () => {
  for (const view of ["overview", "trace", "kernel"]) {
    act(() => setParams({ view, run: "r1" }));
    expect(bar()).toBe(1);
  }
  act(() => setParams({ run: "r2" }));
  expect(bar()).toBe(0);
});

test("Diff marks the side that is simulated", () => {
  act(() => setParams({ view: "diff", run: "r1", baseline: "s2", experimental: "s1" }));
  const sides = [...drawn(<Captures selection={selection.value} data={null} pair="AB" />).querySelectorAll("tr")];
  expect(sides.map((side) => side.querySelectorAll(".chip.warn").length)).toEqual([0, 1]);
  expect(bar()).toBe(0);
});

test("a logdir with a comma in its name is one folder, in the sentence and in the command", () => {
  const text = drawn(<NoRuns catalog={{ ...CATALOG, runs: [] }} />);
  expect(text.querySelector("p")?.textContent).toContain("/runs, old");
  expect(text.textContent).toContain("tb-npu mock --out '/runs, old'");
  const both = drawn(<NoRuns catalog={{ ...CATALOG, runs: [], logdirs: ["/a", "/b"] }} />);
  expect(both.textContent).toContain("/a and /b");
  expect(both.textContent).toContain("tb-npu mock --out /a");
});

test("where Summary events are, the command that shows them is named, without results and in the side bar", () => {
  const summaries = [{ folders: 8, command: "tb-npu board /logs" }];
  const text = drawn(<NoRuns catalog={{ ...CATALOG, runs: [], summaries }} />).textContent;
  expect(text).toContain("8");
  expect(text).toContain("tb-npu board /logs");
  const hint = drawn(<SummaryHint summaries={summaries} />);
  expect(hint.textContent).not.toContain("tb-npu");
  act(() => hint.querySelector("button")?.click());
  expect(document.body.textContent + hint.textContent).toContain("tb-npu board /logs");
  expect(drawn(<SummaryHint summaries={[]} />).textContent).toBe("");
});
