import { beforeEach, expect, test } from "vitest";
import type { CatalogJson, Evidence, FindingJson, LedgerEntryJson, LedgerJson } from "../../src/api/types.gen";
import { catalog } from "../../src/state/catalog";
import { params } from "../../src/state/params";
import { evidenceLinks } from "../../src/widgets/diagnosis/evidence";
import { barParts, chainText, ledgerRows, placeFindings, rowBefore } from "../../src/widgets/diagnosis/ledger";

const NONE: Evidence = { view: "trace", span: null, table: null, row: null, start_ns: null, end_ns: null, step: null };
const MS = { name: "ms", scale: 1e6 };

function finding(over: Partial<FindingJson>): FindingJson {
  const none = { title: "", severity: "high", confidence: { kind: "measured", ranks: 1 }, kind: "measured" } as const;
  const texts = { code: "", params: {}, message: "", fix: [], check: "", causes: [], texts: {} };
  const about = { rule: "", category: "compute", subject: {}, ms_per_step: 1, evidence: [], shortens: [] };
  return { ...none, ...texts, ...about, ...over };
}

function entry(kind: LedgerEntryJson["entry"], ns: number, over: Partial<LedgerEntryJson> = {}): LedgerEntryJson {
  return { entry: kind, detail: "", ns, low_ns: ns, high_ns: ns, culprit: null, chain: [], needs: "", ...over };
}

/** Rank 0 of the real run of two stages, rounded to ms. */
const LEDGER: LedgerJson = {
  worker: "rank 0",
  rank: 0,
  device_id: null,
  window_ns: 810e6,
  before_ns: 2e6,
  hidden_ns: 4e6,
  after_ns: 0,
  entries: [
    entry("computing", 231e6),
    entry("waiting", 312e6, { detail: "p2p", culprit: 2, chain: [{ rank: 2, kind: "computing", ns: 298e6 }] }),
    entry("waiting", 4e6, { detail: "collective", culprit: 2 }),
    entry("waiting", 2e6, { detail: "collective", culprit: 3, low_ns: 1e6, high_ns: 3e6 }),
    entry("transfer", 102e6),
    entry("unexplained", 159e6, { detail: "idle", needs: "trace" }),
  ],
};

beforeEach(() => {
  params.value = {};
  catalog.value = null;
});

test("evidence opens a range of the trace, a row of a table, or a step", () => {
  const links = (one: Partial<Evidence>) => evidenceLinks(finding({ evidence: [{ ...NONE, ...one }] }), []);
  expect(links({ start_ns: 2_000, end_ns: 2_500 })).toEqual([{ view: "trace", state: { at: "2000,500" } }]);
  expect(links({ view: "kernel", table: "statistic", row: "Mat~Mul" })).toEqual([
    { view: "kernel", state: { "t.kernel.statistic": "q:Mat%7EMul", "kernel.tab": "statistic" } },
  ]);
  expect(links({ view: "distributed", step: "12" })).toEqual([{ view: "distributed", state: { "d.step": "12" } }]);
});

test("links: one for each view that has data, with both ranks where one holds the other up", () => {
  const span = (id: string, available: boolean) => ({ id, views: [{ id: "trace", available }] });
  const worker = (rank: number, available = true) => ({ id: `w${rank}`, rank, spans: [span(`s${rank}`, available)] });
  const run = { id: "r", label: "r", workers: [worker(0), worker(2), worker(3, false)] };
  catalog.value = { runs: [run], skipped: [], generation: 1 } as unknown as CatalogJson;
  const evidence = [
    { ...NONE, span: "s2" },
    { ...NONE, span: "s2", start_ns: 1 },
    { ...NONE, view: "newer" },
  ];
  const shown = { run: "r", worker: "w2", span: "s2" };
  expect(evidenceLinks(finding({ evidence }), [LEDGER])).toEqual([{ view: "trace", state: shown }]);
  const late = finding({ evidence, category: "ranks", subject: { rank: 2 } });
  expect(evidenceLinks(late, [LEDGER])).toEqual([{ view: "trace", state: { ...shown, "trace.ranks": "s2.s0" } }]);
  expect(evidenceLinks(finding({ evidence: [{ ...NONE, span: "s3" }] }), [LEDGER])).toEqual([]);
});

test("rows sum to the step, and waiting to its ranks", () => {
  const rows = ledgerRows(LEDGER);
  expect(rows.map((row) => [row.title, row.ns / 1e6])).toEqual([
    ["Computing", 231],
    ["Waiting", 318],
    ["Exposed transfer", 102],
    ["Unexplained idle", 159],
  ]);
  const waiting = rows[1]?.parts ?? [];
  expect(waiting.map((row) => [row.title, row.ns / 1e6])).toEqual([
    ["Waiting for rank 2", 316],
    ["Waiting for rank 3", 2],
  ]);
  expect(waiting[0] && chainText(waiting[0], LEDGER)).toBe("rank 0 waits ← rank 2 computes 298.00 ms");
  const bar = barParts(waiting, MS).map(({ value, isHatched }) => [value, isHatched ?? false]);
  expect(bar).toEqual([
    [316e6, false],
    [1e6, false],
    [1e6, true],
  ]);
  const many = { ...LEDGER, entries: Array.from({ length: 63 }, (_, at) => entry("waiting", at + 1, { culprit: at })) };
  const parts = ledgerRows(many)[0]?.parts ?? [];
  expect([parts.length, parts.reduce((sum, { ns }) => sum + ns, 0)]).toEqual([6, (63 * 64) / 2]);
});

test("a finding stands under the entry that it shortens", () => {
  const before = rowBefore(LEDGER);
  const rows = [...ledgerRows(LEDGER), ...(before ? [before] : [])];
  const place = (over: Partial<FindingJson>, ledger = LEDGER) =>
    [...placeFindings([finding(over)], rows, ledger).keys()][0]?.title;
  expect(place({ shortens: ["computing"] })).toBe("Computing");
  expect(place({ shortens: ["idle", "unexplained"], subject: { rank: 0 } })).toBe("Unexplained idle");
  expect(place({ shortens: ["before", "idle"] })).toBe("Before the first task");
  const late: Partial<FindingJson> = {
    category: "ranks",
    subject: { rank: 3 },
    shortens: ["waiting", "communication"],
  };
  expect(place(late)).toBe("Waiting for rank 3");
  expect(place(late, { ...LEDGER, rank: 3 })).toBe("Computing");
  expect(place({ ...late, subject: { rank: 9 } })).toBeUndefined();
  expect(place({ ...late, subject: {} })).toBe("Waiting");
  expect(place({ shortens: ["computing"], subject: { rank: 2 } })).toBeUndefined();
  expect(place({ shortens: ["computing"], ms_per_step: 0 })).toBeUndefined();
});
