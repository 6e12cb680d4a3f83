import { describe, expect, test } from "vitest";
import type { ProgressJson } from "../../src/api/types.gen";
import { followEnded, jobKey, refreshJobs, shareDone, sortJobs, totalsOf } from "../../src/state/reading";

function job(
  span: string,
  state: ProgressJson["state"],
  done = 0,
  total = 100,
  rate: number | null = null,
): ProgressJson {
  const bytes = { bytes_done: done, bytes_total: total };
  return { span, stage: "trace", state, file: "trace_view.json", ...bytes, rate, eta_s: null, message: "", texts: {} };
}

describe("totalsOf", () => {
  test("adds what goes on and what is done; the rate of all gives the time left", () => {
    const totals = totalsOf([job("a", "reading", 40, 100, 10), job("b", "reading", 0, 100, 20), job("c", "ready", 7)]);
    expect(totals).toMatchObject({ done: 140, total: 300, rate: 30, left: 160 / 30 });
    expect(shareDone(totals)).toBeCloseTo(140 / 300);
  });

  test("what was cancelled or failed is counted, but nothing waits for its bytes", () => {
    const totals = totalsOf([job("a", "waiting"), job("b", "cancelled", 50), job("c", "failed", 50)]);
    expect(totals).toMatchObject({ done: 0, total: 100, rate: null, left: null });
    expect(totals.count).toMatchObject({ waiting: 1, cancelled: 1, failed: 1 });
  });

  test("a rank counts once, as read when all its stages are", () => {
    const tables = (one: ProgressJson): ProgressJson => ({ ...one, stage: "tables" });
    const jobs = [job("a", "ready"), tables(job("a", "ready")), job("b", "waiting"), tables(job("b", "ready"))];
    expect(totalsOf(jobs).count).toMatchObject({ ready: 1, waiting: 1 });
  });

  test("nothing at all is no division by zero, no rate no time left, and no share is more than all", () => {
    expect(shareDone(totalsOf([]))).toBe(0);
    expect(totalsOf([job("a", "reading", 40), job("b", "ready", 0, 100, 9)])).toMatchObject({ rate: null, left: null });
    expect(shareDone({ done: 120, total: 100 })).toBe(1);
  });
});

test("sortJobs: what is read, then what needs a decision, then what waits", () => {
  const sorted = sortJobs([job("w", "waiting"), job("c", "cancelled"), job("f", "failed"), job("r", "reading")]);
  expect(sorted.map((one) => one.span)).toEqual(["r", "f", "c", "w"]);
});

describe("followEnded", () => {
  const [a, b] = [job("a", "reading", 50), job("b", "waiting")];

  test("work that left the list is done, until all is", () => {
    const first = followEnded(new Map(), [a, b], [b]);
    expect(first.get(jobKey(a))).toMatchObject({ state: "ready", bytes_done: 100 });
    expect(followEnded(first, [b], [b])).toBe(first);
    expect(followEnded(first, [b], []).size).toBe(0);
  });

  test("nothing new is the same map, whatever else is in the list", () => {
    const none = new Map();
    expect(followEnded(none, [], [])).toBe(none);
    const [first, list] = [followEnded(none, [a, b], [b]), [b, job("c", "failed")]];
    expect(followEnded(first, list, list)).toBe(first);
    expect([...followEnded(first, [b, a], list).keys()]).toEqual([...first.keys()]);
    expect(followEnded(first, [b], [a]).size).toBe(1);
    expect(followEnded(first, [], []).size).toBe(0);
  });

  test("work that is begun anew is not done any more", () => {
    const first = followEnded(new Map(), [a, b], [b]);
    expect(followEnded(first, [b], [a, b]).size).toBe(0);
  });

  test("what stays in the list, cancelled or failed, is not done", () => {
    expect(followEnded(new Map(), [a, b], [{ ...a, state: "cancelled" }, b]).size).toBe(0);
  });
});

test("freshen: the list knows best, then what ended, then the answer itself", () => {
  const told = [job("a", "waiting"), job("b", "waiting"), job("c", "ready")];
  const now = refreshJobs(
    told,
    [job("a", "reading", 9)],
    followEnded(new Map(), [job("b", "reading"), job("a", "reading")], [job("a", "reading")]),
  );
  expect(now.map((one) => one.state)).toEqual(["reading", "ready", "ready"]);
  expect(now[0]?.bytes_done).toBe(9);
});
