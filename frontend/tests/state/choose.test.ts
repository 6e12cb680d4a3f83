import { afterAll, beforeEach, expect, test, vi } from "vitest";
import type { CatalogJson } from "../../src/api/types.gen";
import { catalog } from "../../src/state/catalog";
import { params, setParams } from "../../src/state/params";
import {
  chooseRun,
  chooseSpan,
  chooseWorker,
  missing,
  openSlice,
  openView,
  pinSelection,
  place,
  selection,
} from "../../src/state/selection";

const span = (id: string, label: string) => ({ id, label, start_ns: null, format: "torch_npu", views: [] });
const worker = (id: string, rank: number, spans: unknown[]) => ({ id, rank, spans });

/** One run of two ranks with two captures each, and another of one rank. */
const CATALOG = {
  scanning: false,
  logdirs: [],
  skipped: [],
  runs: [
    {
      id: "r1",
      label: "r1",
      folders: [],
      kernel_types: {},
      workers: [
        worker("w0", 0, [span("a", "first"), span("b", "second")]),
        worker("w1", 1, [span("c", "first"), span("d", "second"), span("e", "third")]),
      ],
    },
    { id: "r2", label: "r2", folders: [], kernel_types: {}, workers: [worker("w2", 0, [span("f", "first")])] },
  ],
} as unknown as CatalogJson;

function begin(start: Record<string, string>): void {
  const gone = Object.fromEntries(Object.keys(params.peek()).map((key) => [key, null]));
  setParams({ ...gone, ...start });
}

beforeEach(() => {
  vi.useFakeTimers(); // the address is written later
  catalog.value = CATALOG;
});
afterAll(() => {
  begin({});
  catalog.value = null;
  vi.clearAllTimers();
  vi.useRealTimers();
});

test("another run begins with its first capture", () => {
  const push = vi.spyOn(history, "pushState");
  begin({ run: "r1", worker: "w1", span: "d", baseline: "d", experimental: "c" });
  chooseRun("r2");
  expect(params.value).toEqual({ run: "r2" });
  expect(place.value?.span.id).toBe("f");
  openView("diff");
  expect(push).toHaveBeenCalledTimes(2);
  push.mockRestore();
});

test("another rank shows the same capture, else its first", () => {
  begin({ run: "r1", worker: "w0", span: "b" });
  chooseWorker("w1");
  expect(params.value).toEqual({ run: "r1", worker: "w1", span: "d" });
  chooseSpan("e");
  chooseWorker("w0");
  expect(params.value).toEqual({ run: "r1", worker: "w0" });
  expect(selection.value.span).toBe("a");
  begin({ run: "r1", worker: "gone" });
  chooseWorker("w1");
  expect(params.value).toEqual({ run: "r1", worker: "w1" });
});

test.each([
  [{ baseline: "a", experimental: "b" }, "b", true],
  [{ baseline: "b", experimental: "a" }, "b", true],
  [{ baseline: "c", experimental: "d" }, "b", false],
])("the pair of Diff %o stays if the chosen capture %s is in it: %s", (pair, chosen, stays) => {
  begin({ span: "a", "x.step": "7", ...pair });
  chooseSpan(chosen);
  expect(params.value).toEqual(stays ? { span: chosen, "x.step": "7", ...pair } : { span: chosen });
});

test.each([
  [5, 7, "1736408883704643217,7"],
  [5, null, "1736408883704643217,0"],
  [0, 7, "1736408883704643212,7"],
  [null, 7, undefined],
])("a row that starts at %s for %s ns leads to the slice at %s", (start, duration, at) => {
  begin({ view: "kernel", at: "1,1" });
  openSlice("aclnnMm", "1736408883704643212", start, duration);
  expect(params.value).toEqual({ view: "trace", find: "aclnnMm", ...(at ? { at } : {}) });
});

test("a copied link names what is shown, but never what is not known yet", () => {
  begin({ view: "kernel" });
  pinSelection();
  expect(params.value).toEqual({ view: "kernel", run: "r1", worker: "w0", span: "a" });
  for (const found of [null, { ...CATALOG, scanning: true }, { ...CATALOG, runs: [] }]) {
    begin({ run: "r1" });
    catalog.value = found;
    pinSelection();
    expect(params.value).toEqual({ run: "r1" });
  }
  catalog.value = CATALOG;
  begin({ run: "gone" });
  pinSelection();
  expect([params.value, missing.value?.id]).toEqual([{ run: "gone" }, "gone"]);
});
