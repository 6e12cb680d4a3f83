import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HostPage, leavePage, within } from "./fresh";

const load = () => import("../../src/state/params");
const OURS = "#npu_profiler&runFilter=a";
const ADDRESS = `/tb/?x=1${OURS}`;
/** Longer than the least time between two URL changes, ms. */
const LATER = 200;

let host: HostPage;

beforeEach(() => {
  vi.useFakeTimers();
  host = new HostPage();
  host.location.hash = OURS;
});
afterEach(() => {
  vi.useRealTimers();
  leavePage();
});

test("a link opens what it names", async () => {
  host.location.hash = `${OURS}&p.npu_profiler.view=kernel`;
  const { param, parentDocument } = await within(load, host);
  expect([param("view"), param("run")]).toEqual(["kernel", ""]);
  expect(parentDocument()).toBe(host.document);
});

test("a choice is a step of the history; typed text replaces the address, once for many changes", async () => {
  const { setParams, param } = await within(load, host);
  setParams({ view: "kernel" }, true);
  setParams({ view: "kernel" }, true);
  setParams({ q: "m" });
  vi.advanceTimersByTime(100);
  setParams({ q: "mat" });
  vi.advanceTimersByTime(100);
  expect(host.urls).toEqual([`${ADDRESS}&p.npu_profiler.view=kernel`]);
  vi.advanceTimersByTime(LATER);
  expect(host.urls).toEqual([`${ADDRESS}&p.npu_profiler.view=kernel&p.npu_profiler.q=mat`]);
  setParams({ q: "" });
  setParams({ view: null, run: "r" }, true);
  vi.advanceTimersByTime(LATER);
  expect(host.urls.slice(1)).toEqual([`${ADDRESS}&p.npu_profiler.run=r`]);
  expect(param("q")).toBe("");
});

test("a step of the history leaves the changes before it in the entry that it leaves", async () => {
  const { setParams } = await within(load, host);
  setParams({ view: "kernel" }, true);
  setParams({ q: "m" });
  setParams({ q: "m", run: "r" }, true);
  vi.advanceTimersByTime(LATER);
  const before = `${ADDRESS}&p.npu_profiler.view=kernel&p.npu_profiler.q=m`;
  expect(host.urls).toEqual([before, `${before}&p.npu_profiler.run=r`]);
});

test("another tab's address is left alone; the plugin's comes back with its tab", async () => {
  const { followUrl, setParams, params, visits } = await within(load, host);
  followUrl();
  setParams({ view: "kernel" });
  host.go("#scalars&runFilter=a");
  vi.advanceTimersByTime(LATER);
  setParams({ q: "x" }, true);
  expect([host.urls, host.location.hash]).toEqual([[], "#scalars&runFilter=a"]);
  host.go(OURS);
  expect(host.urls).toEqual([`${ADDRESS}&p.npu_profiler.view=kernel&p.npu_profiler.q=x`]);
  expect(visits.value).toBe(0);
  host.go("#scalars");
  host.go("#npu_profiler&p.npu_profiler.view=diff");
  expect([params.value, visits.value]).toEqual([{ view: "diff" }, 1]);
});

test("Back changes the page, also to the state without parameters, until the page goes", async () => {
  const { followUrl, setParams, params, visits } = await within(load, host);
  const stop = followUrl();
  setParams({ view: "kernel" }, true);
  host.go(host.location.hash);
  expect(visits.value).toBe(0);
  host.go(OURS);
  expect([params.value, visits.value]).toEqual([{}, 1]);
  stop();
  host.go(`${OURS}&p.npu_profiler.view=diff`);
  expect(params.value).toEqual({});
  followUrl();
  window.dispatchEvent(new Event("pagehide"));
  host.go(`${OURS}&p.npu_profiler.view=memory`);
  expect(params.value).toEqual({});
});

test("without TensorBoard's page, or in that of another site, the own address holds the state", async () => {
  const foreign = {
    get location(): never {
      throw new DOMException("cross-origin", "SecurityError");
    },
  };
  for (const parent of [foreign, window]) {
    history.replaceState(null, "", "#any");
    const { setParams, parentDocument } = await within(load, parent);
    setParams({ view: "kernel" }, true);
    expect(location.hash).toBe("#any&p.npu_profiler.view=kernel");
    expect(parentDocument()).toBeNull();
  }
  history.replaceState(null, "", "#");
});
