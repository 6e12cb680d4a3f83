import { expect, test } from "vitest";
import type { CatalogJson, SpanJson } from "../../src/api/types.gen";
import type { Place } from "../../src/state/catalog";
import { lastCapture, missingOf, nextCapture, resolve } from "../../src/state/selection";

function span(id: string): SpanJson {
  return {
    id,
    label: id,
    start_ns: null,
    device_ns: null,
    bytes: 0,
    fingerprint: "",
    state: "new",
    problems: 0,
    format: "torch_npu",
    views: [],
    has_trace: true,
    period: "step",
    simulated: false,
  };
}

function worker(id: string, rank: number, spans: string[]) {
  return { id, label: id, rank, rank_source: "", host: null, pid: null, role: "", spans: spans.map(span) };
}

function runJson(id: string, label: string, workers: ReturnType<typeof worker>[], more: string[] = []) {
  const folders = [id, ...more].map((folder) => ({ id: folder, label: `folder ${folder}` }));
  return { id, label, basis: "", texts: {}, folders, workers, kernel_types: {} as Record<string, number> };
}

const CATALOG: CatalogJson = {
  generation: 1,
  scanning: false,
  logdirs: ["/x"],
  runs: [
    runJson("r1", "r1", [worker("w1", 0, ["s1", "s2"]), worker("w2", 1, ["s3"])]),
    runJson("r2", "second", [worker("w3", 0, ["s4"])], ["r3"]),
  ],
  offers: [],
  skipped: [],
  others: [],
  summaries: [],
  scanner: "c",
  version: "",
};
const PLACES = new Map<string, Place>();
for (const run of CATALOG.runs)
  for (const w of run.workers) for (const s of w.spans) PLACES.set(s.id, { run, worker: w, span: s });

test("nothing asked for: the first of everything, compared with its worker's other span where no run is like it", () => {
  expect(resolve(CATALOG, PLACES, {})).toEqual({
    view: "overview",
    run: "r1",
    worker: "w1",
    span: "s1",
    baseline: "s1",
    experimental: "s2",
    captures: ["s1", "s2"],
  });
});

test("more captures stand between the first and the last", () => {
  const wanted = { baseline: "s1", experimental: "s4", captures: "s2,gone,s3" };
  expect(resolve(CATALOG, PLACES, wanted).captures).toEqual(["s1", "s2", "s3", "s4"]);
  expect(nextCapture(PLACES, ["s1", "s4"])).toBe("s2");
  expect(nextCapture(PLACES, ["s1", "s2", "s3", "s4"])).toBe("");
});

test("nothing is compared with a rank that no other run has", () => {
  expect(resolve(CATALOG, PLACES, { worker: "w2" })).toMatchObject({ baseline: "s3", experimental: "" });
});

test("what was recorded first is the baseline", () => {
  const dated = new Map(PLACES);
  for (const [id, start_ns] of [
    ["s1", "2000"],
    ["s2", "1000"],
  ] as const) {
    const there = PLACES.get(id);
    if (there) dated.set(id, { ...there, span: { ...there.span, start_ns } });
  }
  expect(resolve(CATALOG, dated, {})).toMatchObject({ span: "s1", baseline: "s2", experimental: "s1" });
});

test("the pair is the same before and after the captures are read", () => {
  const labels = {
    a: "2025-06-15 07:00:00",
    b: "no time",
    c: "2025-06-18 07:00:00",
    d: "2025-06-14 07:00:00 · steps 1-2",
  };
  const all = new Map<string, Place>();
  for (const [id, label] of Object.entries(labels)) {
    const own = { ...worker("w", 0, []), spans: [{ ...span(id), label }] };
    all.set(id, { run: runJson(`r${id}`, id, [own]), worker: own, span: own.spans[0] as SpanJson });
  }
  const catalog = { ...CATALOG, runs: [...all.values()].map((place) => place.run) };
  expect(resolve(catalog, all, { span: "a" })).toMatchObject({ baseline: "d", experimental: "a" });
});

test("a span alone finds its run and worker", () => {
  expect(resolve(CATALOG, PLACES, { span: "s4", view: "trace" })).toMatchObject({
    view: "trace",
    run: "r2",
    worker: "w3",
    span: "s4",
  });
});

test("what is not there falls back", () => {
  expect(resolve(CATALOG, PLACES, { run: "gone", worker: "w2", span: "gone", view: "nonsense" })).toMatchObject({
    view: "overview",
    run: "r1",
    worker: "w2",
    span: "s3",
  });
  expect(resolve(null, new Map(), {})).toMatchObject({ run: "", span: "", baseline: "", experimental: "" });
});

test("the sides of Diff are kept, a stale one is replaced", () => {
  expect(resolve(CATALOG, PLACES, { baseline: "s2", experimental: "gone" })).toMatchObject({
    baseline: "s2",
    experimental: "s1",
  });
  expect(resolve(CATALOG, PLACES, { baseline: "s2", experimental: "s1" })).toMatchObject({
    baseline: "s2",
    experimental: "s1",
  });
});

test("compared with the same rank of the next run in time, of the same profiler and number of ranks", () => {
  const all = new Map<string, Place>();
  const add = (id: string, start_ns: string, ranks = 1, format = "torch_npu") => {
    const workers = Array.from({ length: ranks }, (_, rank) => worker(`${id}.${rank}`, rank, []));
    const s = { ...span(id), start_ns, format };
    all.set(id, { run: runJson(id, id, workers), worker: workers[0] as never, span: s });
  };
  add("here", "1000");
  add("other profiler", "1001", 1, "kineto");
  add("more ranks", "1002", 8);
  expect(resolve(CATALOG, all, { baseline: "here" })).toMatchObject({ experimental: "" });
  add("later", "3000");
  add("next", "2000");
  expect(resolve(CATALOG, all, { baseline: "here" })).toMatchObject({ experimental: "next" });
});

/** Runs of one capture each: id -> rank, label and start. */
function runs(of: Record<string, [rank: number, label: string, start_ns: string | null]>): Map<string, Place> {
  return new Map(
    Object.entries(of).map(([id, [rank, label, start_ns]]) => {
      const own = worker(id, rank, []);
      return [id, { run: runJson(id, id, [own]), worker: own, span: { ...span(id), label, start_ns } }];
    }),
  );
}

const DAY = "2025-06-15 07:00";

test.each([
  ["a run of one rank with that of another, whatever their numbers", { here: [0, "", "5"], other: [3, "", "6"] }],
  ["the nearest by start where labels tell no time", { here: [0, "", "9"], far: [0, "", "1"], other: [0, "", "7"] }],
  ["one with a known start first", { here: [0, "", "5"], far: [0, "", null], other: [0, "", "9"] }],
  [
    "labels and starts by one unit",
    { here: [0, `${DAY}:00`, "1000"], far: [0, `${DAY}:05`, null], other: [0, "x", "2000001000"] },
  ],
  [
    "the time of a label, not of a name that holds one",
    { here: [0, `${DAY}:00`, null], named: [0, `run of ${DAY}:01`, null], other: [0, `${DAY}:09`, null] },
  ],
  ["the first where no time is known", { here: [0, "rank 3", null], other: [0, "rank 4", null], far: [0, "x", "1"] }],
] as const)("compared are %s", (_, of) => {
  expect(resolve(CATALOG, runs(of as never), { baseline: "here" }).experimental).toBe("other");
});

test("of two that began together the chosen one is the baseline", () => {
  const all = runs({ one: [0, "", "5"], two: [0, "", "5"] });
  for (const { run, worker: own, span: only } of all.values()) {
    own.spans.push(only);
    run.workers.splice(0, 1, own);
  }
  const catalog = { ...CATALOG, runs: [...all.values()].map(({ run }) => run) };
  expect(resolve(catalog, all, { span: "two", run: "two" })).toMatchObject({ baseline: "two", experimental: "one" });
});

/** Two runs of one rank, at these paths: kernel types, and whether the device is simulated. */
function twoRuns(
  here: [string, Record<string, number>, boolean?],
  other: [string, Record<string, number>, boolean?],
): Map<string, Place> {
  return new Map(
    Object.entries({ here, other }).map(([id, [path, kernel_types, simulated = false]]) => {
      const only = { ...span(id), simulated };
      const own = { ...worker(id, 0, []), spans: [only] };
      const run = { ...runJson(id, path, [own]), folders: [{ id, label: path }], kernel_types };
      return [id, { run, worker: own, span: only }];
    }),
  );
}

test.each([
  ["the same kernels", ["a/x", { Conv2D: 0.6, Relu: 0.4 }], ["b/y", { Conv2D: 0.5, Add: 0.5 }], true],
  ["other kernels in the same folder", ["a/x", { Conv2D: 0.8, Add: 0.2 }], ["a/y", { Cast: 0.8, Add: 0.2 }], false],
  ["a simulated capture beside a recorded one", ["a/x", { Cast: 1 }], ["a/y", { Cast: 1 }, true], false],
  ["unread captures of one folder", ["a/x", { Cast: 1 }], ["a/y", {}], true],
  ["unread captures of different folders", ["a/x", {}], ["b/y", { Cast: 1 }], false],
] as const)("compared or not by default: %s", (_, here, other, isPair) => {
  const all = twoRuns(here as never, other as never);
  expect(resolve(CATALOG, all, { baseline: "here" }).experimental).toBe(isPair ? "other" : "");
});

test("the last capture is the latest of those like this one", () => {
  const all = runs({ here: [0, "", "5"], next: [0, "", "6"], last: [0, "", "9"], before: [0, "", "1"] });
  expect(["here", "next", "last"].map((id) => lastCapture(all, id))).toEqual(["last", "last", ""]);
});

test("a rank is compared with the same rank", () => {
  const all = new Map<string, Place>();
  for (const id of ["one", "two"]) {
    const workers = [0, 1].map((rank) => worker(`${id}.${rank}`, rank, []));
    const run = runJson(id, id, workers);
    for (const [rank, of] of workers.entries())
      all.set(`${id}.${rank}`, { run, worker: of, span: { ...span(`${id}.${rank}`), start_ns: "1000" } });
  }
  expect(resolve(CATALOG, all, { baseline: "one.1" })).toMatchObject({ experimental: "two.1" });
});

test("what the address names and is not there is not replaced by another", () => {
  const look = (wanted: Record<string, string>) => missingOf(CATALOG, PLACES, wanted)?.kind ?? null;
  expect(look({})).toBeNull();
  expect(look({ run: "r2", worker: "w3", span: "s4" })).toBeNull();
  expect(look({ view: "nonsense", run: "gone" })).toBe("view");
  expect(look({ run: "gone", worker: "w1", span: "gone" })).toBe("run");
  expect(look({ run: "r1", worker: "gone" })).toBe("worker");
  expect(look({ run: "r1", worker: "w1", span: "gone" })).toBe("span");
  expect(look({ span: "gone" })).toBe("span");
  // An old link names the folder; its span may now be in another run.
  expect(look({ run: "r1", worker: "gone", span: "s4" })).toBeNull();
  expect(resolve(CATALOG, PLACES, { run: "r1", worker: "gone", span: "s4" })).toMatchObject({ run: "r2", span: "s4" });
  expect(look({ run: "gone", worker: "gone", span: "s4" })).toBeNull();
  expect(resolve(CATALOG, PLACES, { run: "gone" })).toMatchObject({ run: "", worker: "", span: "", baseline: "" });
  expect(resolve(CATALOG, PLACES, { run: "r1", worker: "gone" })).toMatchObject({ run: "r1", worker: "", span: "" });
  expect(resolve(CATALOG, PLACES, { worker: "w2", span: "gone" })).toMatchObject({ worker: "w2", span: "" });
});

test("each level of the address is found by its id", () => {
  expect(resolve(CATALOG, PLACES, { run: "r2" })).toMatchObject({ run: "r2", worker: "w3", span: "s4" });
  expect(resolve(CATALOG, PLACES, { run: "r1", worker: "w1", span: "s2" })).toMatchObject({ worker: "w1", span: "s2" });
  expect(resolve(CATALOG, PLACES, { experimental: "s1" })).toMatchObject({ baseline: "s2", experimental: "s1" });
  expect(missingOf(CATALOG, PLACES, { view: "trace" })).toBeNull();
  for (const none of [null, { ...CATALOG, runs: [] }]) expect(missingOf(none, new Map(), { run: "gone" })).toBeNull();
});

test("another run comes before an earlier span of the same worker", () => {
  const all = new Map<string, Place>();
  const labels = { here: "2025-06-15 07:00:00", again: "2025-06-15 07:00:01", other: "2025-06-18 07:00:00" };
  const spans = Object.entries(labels).map(([id, label]) => ({ ...span(id), label }));
  for (const [run, own] of [
    ["one", spans.slice(0, 2)],
    ["two", spans.slice(2)],
  ] as const) {
    const of = { ...worker(run, 0, []), spans: own };
    for (const each of own) all.set(each.id, { run: runJson(run, run, [of]), worker: of, span: each });
  }
  for (const place of all.values()) place.run = (all.get(place.run.id === "one" ? "here" : "other") as Place).run;
  expect(resolve(CATALOG, all, { baseline: "here" })).toMatchObject({ experimental: "other" });
});

test("a link may name a run by its path; an id goes first", () => {
  expect(resolve(CATALOG, PLACES, { run: "second" })).toMatchObject({ run: "r2", worker: "w3", span: "s4" });
  expect(missingOf(CATALOG, PLACES, { run: "second" })).toBeNull();
  const [first, second] = CATALOG.runs as [(typeof CATALOG.runs)[0], (typeof CATALOG.runs)[0]];
  const named = { ...CATALOG, runs: [{ ...first, label: "r2" }, second] };
  expect(resolve(named, PLACES, { run: "r2" })).toMatchObject({ run: "r2" });
});

test("an old link to one folder of a run leads to the run", () => {
  for (const id of ["r3", "folder r3"]) {
    expect(resolve(CATALOG, PLACES, { run: id })).toMatchObject({ run: "r2", worker: "w3", span: "s4" });
  }
  expect(missingOf(CATALOG, PLACES, { run: "r4" })).toEqual({ kind: "run", id: "r4" });
});
