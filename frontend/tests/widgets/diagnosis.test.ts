import { beforeEach, expect, test } from "vitest";
import type {
  CatalogJson,
  DiagnosisJson,
  Evidence,
  FindingJson,
  LedgerJson,
  LedgerRowJson,
} from "../../src/api/types.gen";
import { catalog } from "../../src/state/catalog";
import { params } from "../../src/state/params";
import { evidenceLinks } from "../../src/widgets/diagnosis/finding";
import { barParts, judgedLedger, splitRows } from "../../src/widgets/diagnosis/ledger";

const NONE: Evidence = { view: "trace", span: null, table: null, row: null, start_ns: null, end_ns: null, step: null };
const MS = { name: "ms", scale: 1e6 };

function finding(over: Partial<FindingJson>): FindingJson {
  const none = { title: "", severity: "high", confidence: { kind: "measured", ranks: 1 }, kind: "measured" } as const;
  const texts = { code: "", params: {}, message: "", fix: [], check: "", causes: [], texts: {} };
  const about = { rule: "", category: "compute", subject: {}, ms_per_step: 1, evidence: [], shortens: [] };
  return { ...none, ...texts, ...about, ...over };
}

const LEDGER: LedgerJson = {
  worker: "rank 0",
  rank: 0,
  device_id: null,
  window_ns: 810e6,
  before_ns: 2e6,
  after_ns: 0,
  outside_ns: 0,
  between_ns: 0,
  hidden_ns: 4e6,
  entries: [{ entry: "waiting", detail: "", ns: 3e6, low_ns: 3e6, high_ns: 3e6, culprit: 2, chain: [], needs: "" }],
};

function row(kind: LedgerRowJson["kind"], ns: number, over: Partial<LedgerRowJson> = {}): LedgerRowJson {
  const title = { code: `part.ledger.${kind}`, params: {} };
  const times = { ns, low_ns: ns, high_ns: ns };
  return { kind, part: kind, title, ...times, what: [], counted: null, findings: [], parts: [], ...over };
}

beforeEach(() => {
  params.value = {};
  catalog.value = null;
});

/** Findings are about the whole capture unless they name a step. */
const WHOLE = { step: "", within: "" };

test("evidence opens a range of the trace, a row of a table, or a step", () => {
  const links = (one: Partial<Evidence>) => evidenceLinks(finding({ evidence: [{ ...NONE, ...one }] }), []);
  expect(links({ start_ns: 2_000, end_ns: 2_500 })).toEqual([{ view: "trace", state: { ...WHOLE, at: "2000,500" } }]);
  expect(links({ view: "kernel", table: "statistic", row: "Mat~Mul" })).toEqual([
    { view: "kernel", state: { ...WHOLE, "t.kernel.statistic": "q:Mat%7EMul", "kernel.tab": "statistic" } },
  ]);
  expect(links({ view: "distributed", step: "12" })).toEqual([
    { view: "distributed", state: { ...WHOLE, step: "12" } },
  ]);
});

test("links: one for each view that has data, with both ranks where one holds the other up", () => {
  const span = (id: string, available: boolean) => ({ id, views: [{ id: "trace", available }] });
  const worker = (rank: number, available = true) => ({ id: `w${rank}`, rank, spans: [span(`s${rank}`, available)] });
  const run = { kernel_types: {}, id: "r", label: "r", folders: [], workers: [worker(0), worker(2), worker(3, false)] };
  catalog.value = { runs: [run], skipped: [], generation: 1 } as unknown as CatalogJson;
  const evidence = [
    { ...NONE, span: "s2" },
    { ...NONE, span: "s2", start_ns: 1 },
    { ...NONE, view: "newer" },
  ];
  const shown = { ...WHOLE, run: "r", worker: "w2", span: "s2" };
  expect(evidenceLinks(finding({ evidence }), [LEDGER])).toEqual([{ view: "trace", state: shown }]);
  const late = finding({ evidence, category: "ranks", subject: { rank: 2 } });
  expect(evidenceLinks(late, [LEDGER])).toEqual([{ view: "trace", state: { ...shown, "trace.ranks": "s2.s0" } }]);
  expect(evidenceLinks(finding({ evidence: [{ ...NONE, span: "s3" }] }), [LEDGER])).toEqual([]);
});

test("the bar is solid up to the lower bound, and hatched where nothing is known", () => {
  const rows = [row("waiting", 3e6, { low_ns: 1e6, high_ns: 5e6 }), row("unexplained", 2e6)];
  expect(barParts(rows, MS).map(({ value, isHatched }) => [value, isHatched ?? false])).toEqual([
    [1e6, false],
    [2e6, true],
    [2e6, true],
  ]);
});

test("a ledger has the table of its place, and the time before the first task is apart", () => {
  const table = (name: string) => ({ name, rows: [row("before", 2), row("computing", 1)], needs: [] });
  const other = { ...LEDGER, worker: "rank 1", rank: 1 };
  const layout = { step: { code: "ledger.capture", params: {} }, tables: [table("a"), table("b")] };
  const judged = judgedLedger({ ledger: other, ledgers: [LEDGER, other], layout } as unknown as DiagnosisJson);
  expect(judged?.name).toBe("b");
  expect(
    judged &&
      splitRows(judged)
        .flat()
        .map((one) => one?.kind),
  ).toEqual(["computing", "before"]);
});
