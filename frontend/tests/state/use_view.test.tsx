import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import type { ProgressJson, ViewJson } from "../../src/api/types.gen";
import { params, setParams } from "../../src/state/params";
import { jobs, ticks } from "../../src/state/progress";
import { isSame, requestAhead, useAccepted, useView } from "../../src/state/use_view";
import { waitFor } from "../wait";

/** What the server answers, by the span asked for, and how often it was asked. */
let answers: Record<string, Partial<ViewJson> | number>;
let asked: string[];
let seen: ReturnType<typeof useView<{ n: number }>>;
let root: HTMLElement;

function Probe({ span }: { span: string }) {
  seen = useView<{ n: number }>("kernel", { span });
  useAccepted(seen, "step", "device");
  return null;
}

const show = (span: string) => act(() => render(<Probe span={span} />, root));
const shown = () => ({ n: seen.data?.n, state: seen.answer?.state, status: seen.error?.status });
const ready = (n: number): Partial<ViewJson> => ({ state: "ready", fingerprint: `${n}`, data: { n } as never });
const job = (state: ProgressJson["state"]) => ({ span: "s", stage: "tables", state }) as ProgressJson;

const setJobs = (now: ProgressJson[]) =>
  act(async () => {
    jobs.value = now;
  });

/** Requests during so many answers on progress. */
async function tick(times: number): Promise<number> {
  const before = asked.length;
  for (let n = 0; n < times; n++) {
    await act(async () => {
      ticks.value += 1;
    });
  }
  return asked.length - before;
}

beforeEach(() => {
  answers = {};
  asked = [];
  ticks.value = 0;
  root = document.body.appendChild(document.createElement("div"));
  vi.stubGlobal("fetch", async (url: string, { signal }: RequestInit) => {
    const span = new URL(url).searchParams.get("span") ?? "";
    asked.push(span);
    const answer = answers[span] ?? 500;
    signal?.throwIfAborted();
    if (typeof answer === "number") return new Response("{}", { status: answer });
    return new Response(JSON.stringify({ progress: [], problems: [], missing: [], ...answer }));
  });
});
afterEach(() => {
  act(() => render(null, root));
  root.remove();
  jobs.value = [];
  vi.unstubAllGlobals();
});

test("the data of one span never stand for another; a return shows the last answer at once", async () => {
  answers = { one: ready(1), two: ready(2) };
  show("one");
  expect(shown()).toEqual({});
  await waitFor(() => expect(shown()).toEqual({ n: 1, state: "ready" }));
  show("two");
  expect(shown()).toEqual({});
  await waitFor(() => expect(seen.data?.n).toBe(2));
  answers.one = ready(3);
  show("one");
  expect(seen.data?.n).toBe(1);
  await waitFor(() => expect(seen.data?.n).toBe(3));
});

test("a request that was sent ahead is that of the view", async () => {
  answers.ahead = ready(7);
  requestAhead("kernel", { span: "ahead" });
  await show("ahead");
  await waitFor(() => expect(shown().n).toBe(7));
  expect(asked).toEqual(["ahead"]);
  act(() => render(null, root));
  answers.ahead = ready(8);
  await show("ahead");
  await waitFor(() => expect(shown().n).toBe(8));
});

test("an error has no data of before; Retry asks again", async () => {
  answers = { failing: 503 };
  show("failing");
  await waitFor(() => expect(shown()).toEqual({ status: 503 }));
  answers.failing = ready(1);
  act(() => seen.retry());
  await waitFor(() => expect(shown()).toEqual({ n: 1, state: "ready" }));
});

test.each([
  ["without data, with every answer on progress", "empty", { state: "reading", data: null }, 4],
  ["with preliminary data, with every fourth", "early", { state: "reading", data: { n: 1 } }, 1],
  ["cancelled, not at all", "stopped", { state: "reading", data: null, progress: [job("cancelled")] }, 0],
  [
    "cancelled in part, with every answer",
    "partly",
    { state: "reading", progress: [job("failed"), job("waiting")] },
    4,
  ],
  ["read, not at all", "done", ready(1), 0],
] as const)("while it is read %s, a view is asked for again", async (_, span, answer, times) => {
  answers = { [span]: answer as never };
  show(span);
  await waitFor(() => expect(seen.answer).not.toBeNull());
  expect(await tick(4)).toBe(times);
});

test("a job of the span that starts or ends asks again, that of another span does not", async () => {
  answers = { s: ready(1) };
  show("s");
  await waitFor(() => expect(seen.data?.n).toBe(1));
  answers.s = ready(2);
  await setJobs([{ ...job("reading"), span: "other" }]);
  expect(asked).toHaveLength(1);
  await setJobs([job("reading")]);
  await waitFor(() => expect(seen.data?.n).toBe(2));
});

test("a step that the span lacks leaves the address", async () => {
  vi.useFakeTimers(); // the address is written later
  setParams({ step: "7", view: "kernel" });
  answers = { refused: 400 };
  show("refused");
  await waitFor(() => expect(params.value).toEqual({ view: "kernel" }));
  setParams({ view: null });
  vi.runAllTimers();
  vi.useRealTimers();
});

const answer: ViewJson = {
  view: "distributed",
  state: "ready",
  fingerprint: "a",
  base_ns: "0",
  data: { ranks: [{ state: "reading" }] },
  tables: {},
  problems: [],
  missing: [],
  progress: [],
} as unknown as ViewJson;

describe("isSame", () => {
  it("knows an answer of the same data again", () => {
    expect(isSame(answer, structuredClone(answer))).toBe(true);
  });

  it("sees other data, other ranks, new problems, and what only now is ready", () => {
    expect(isSame(answer, { ...answer, fingerprint: "b" })).toBe(false);
    expect(isSame(answer, { ...answer, data: { ranks: [{ state: "ready" }] } } as unknown as ViewJson)).toBe(false);
    expect(isSame(answer, { ...answer, problems: [{}] } as unknown as ViewJson)).toBe(false);
    const reading: ViewJson = { ...answer, state: "reading" };
    expect(isSame(reading, reading)).toBe(false);
  });
});
