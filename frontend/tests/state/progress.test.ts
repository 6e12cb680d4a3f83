import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CatalogJson, ProgressJson } from "../../src/api/types.gen";
import { leavePage, within } from "./fresh";

const load = async () => ({
  ...(await import("../../src/state/progress")),
  ...(await import("../../src/state/catalog")),
  ...(await import("../../src/state/visibility")),
});

/** Requests so far, "GET progress"; what the server answers. */
const asked: string[] = [];
let server: { generation: number; jobs: ProgressJson[]; isDown: boolean; changes: number };
/** What the server does when an answer waits for another number of changes than this. */
const HOLD_MS = 500;
let used: Awaited<ReturnType<typeof load>>;

const count = (request: string) => asked.filter((one) => one.startsWith(request)).length;
const polls = () => count("GET progress");

function job(span: string, state: ProgressJson["state"], stage: ProgressJson["stage"] = "trace"): ProgressJson {
  const bytes = { bytes_done: 0, bytes_total: 100 };
  return { span, stage, state, file: "", ...bytes, rate: null, eta_s: null, message: "", texts: {} };
}

beforeEach(async () => {
  vi.useFakeTimers();
  asked.length = before = 0;
  server = { generation: 1, jobs: [], isDown: false, changes: 0 };
  vi.stubGlobal("fetch", async (url: string, options: RequestInit) => {
    const { pathname, search } = new URL(url);
    asked.push(`${options.method} ${pathname.split("/").pop()}${search}`);
    if (server.isDown) throw new TypeError("network");
    const seen = new URLSearchParams(search).get("seen");
    for (let ms = 0; seen === `${server.changes}` && ms < HOLD_MS; ms += 10) {
      await new Promise((done) => setTimeout(done, 10));
    }
    const { generation, jobs, changes } = server;
    return new Response(JSON.stringify({ generation, changes, jobs, runs: [], scanning: false }));
  });
  used = await within(load);
});
afterEach(() => {
  used.shown.value = false; // stops the timer
  vi.unstubAllGlobals();
  vi.useRealTimers();
  leavePage();
});

let before = 0;

/** Polls since the last call, up to these ms from now. */
async function pollsIn(ms: number): Promise<number> {
  await vi.advanceTimersByTimeAsync(ms);
  const found = polls() - before;
  before = polls();
  return found;
}

test("the server is asked twice a second while it reads or a view waits, else every 5 s", async () => {
  used.followProgress();
  expect(await pollsIn(0)).toBe(1);
  expect(await pollsIn(4900)).toBe(0);
  expect(await pollsIn(200)).toBe(1);
  server.jobs = [job("a", "reading")];
  expect(await pollsIn(5000)).toBe(1);
  expect(await pollsIn(2000)).toBe(4);
  server.jobs = [];
  await pollsIn(1000);
  expect(await pollsIn(4000)).toBe(0);
  const stop = used.waitForData();
  expect(await pollsIn(4000)).toBe(7); // each holds for half a second
  expect(await pollsIn(2000)).toBe(4);
  stop();
  await pollsIn(1000);
  used.shown.value = false;
  expect(await pollsIn(60_000)).toBe(0);
  used.shown.value = true;
  expect(await pollsIn(100)).toBe(1);
});

test("in the first seconds of a waiting view the server tells a change at once, and the catalog does not hold it up", async () => {
  server.jobs = [job("a", "reading")];
  used.followProgress();
  await pollsIn(0);
  expect(asked).toEqual(["GET progress", "GET catalog"]);
  const stop = used.waitForData();
  await pollsIn(800);
  const { value } = used.ticks;
  server.changes += 1;
  server.jobs = [];
  await pollsIn(10);
  expect([used.ticks.value, used.jobs.value]).toEqual([value + 1, []]);
  expect(await pollsIn(100)).toBe(1); // the next one waits
  stop();
});

test("a server that is gone is asked twice a second, also by a waiting view", async () => {
  used.followProgress();
  await pollsIn(0);
  const stop = used.waitForData();
  await pollsIn(600);
  server.isDown = true;
  await pollsIn(600);
  expect(await pollsIn(1000)).toBe(2);
  stop();
});

test("a scan that runs is followed twice a second, also one that began since", async () => {
  used.followProgress();
  await pollsIn(0);
  used.catalog.value = { ...used.catalog.value, scanning: true } as CatalogJson;
  await pollsIn(5000);
  expect(count("GET catalog")).toBe(2);
  server.generation = 2;
  await pollsIn(5000);
  expect([count("GET catalog"), used.catalog.value?.generation]).toEqual([3, 2]);
  await pollsIn(10_000);
  expect(count("GET catalog")).toBe(3);
});

test("a server that does not answer is asked again, and waiting views with it", async () => {
  server.isDown = true;
  used.followProgress();
  await pollsIn(5100);
  expect([polls(), used.ticks.value]).toEqual([2, 2]);
  server.isDown = false;
  server.jobs = [job("a", "reading")];
  await pollsIn(5000);
  expect(used.jobs.value).toEqual(server.jobs);
});

test("jobs that left the list are done; an equal list changes nothing", async () => {
  server.jobs = [job("a", "reading"), job("b", "reading")];
  used.followProgress();
  await pollsIn(0);
  const first = used.jobs.value;
  await pollsIn(500);
  expect(used.jobs.value).toBe(first);
  server.jobs = [job("b", "reading")];
  await pollsIn(500);
  const states = used.freshJobs([job("a", "waiting"), job("b", "waiting")]).map((one) => one.state);
  expect(states).toEqual(["ready", "reading"]);
});

test("Cancel stops active jobs, Resume starts stopped ones, by stage and at most 50 spans a request", async () => {
  const many = Array.from({ length: 51 }, (_, number) => job(`s${number}`, "waiting", "tables"));
  const all = [...many, job("s0", "reading"), job("c", "cancelled"), job("f", "failed"), job("r", "ready")];
  const sent = () =>
    asked.splice(0).flatMap((request) => {
      const [, search] = request.split("POST reading");
      const query = new URLSearchParams(search);
      return search ? [[query.get("stage"), query.get("do"), query.getAll("span").length]] : [];
    });
  await used.control("cancel", all);
  expect(sent()).toEqual([
    ["tables", "cancel", 50],
    ["tables", "cancel", 1],
    ["trace", "cancel", 1],
  ]);
  await used.control("resume", all);
  expect(sent()).toEqual([["trace", "resume", 2]]);
});

test("Cancel shows at once what the server answers; its error stays until the next that succeeds", async () => {
  used.jobs.value = [job("a", "reading"), job("b", "reading"), job("c", "reading")];
  server.jobs = [job("a", "cancelled"), job("b", "ready")];
  const seen: string[][] = [];
  const stop = used.jobs.subscribe((jobs) => void seen.push(jobs.map((one) => one.state)));
  await used.control("cancel", used.jobs.value);
  stop();
  expect(seen[1]).toEqual(["cancelled", "reading", "reading"]);
  server.isDown = true;
  await used.control("resume", used.jobs.value);
  expect(used.controlError.value?.code).toBe("unreachable");
  server.isDown = false;
  await used.control("resume", used.jobs.value);
  expect(used.controlError.value).toBeNull();
});
