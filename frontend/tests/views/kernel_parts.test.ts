import { expect, test } from "vitest";
import type { TableJson } from "../../src/api/types.gen";
import { callsOf, communicationCores, kernelParts, pickOfCalls } from "../../src/views/kernel/parts";

function table(
  rows: [name: string | null, type: string | null, core: string | null, total: number | null][],
  total = rows.length,
): TableJson {
  const data = {
    name: rows.map((row) => row[0]),
    type: rows.map((row) => row[1]),
    core: rows.map((row) => row[2]),
    total_ns: rows.map((row) => row[3]),
  };
  return { id: "kernel.x", columns: [], data, offset: 0, rows: rows.length, total, sort: "", desc: false };
}

const ROWS = table([
  ["a1", "Add", "AI_CORE", 5],
  ["a2", "Add", "AI_VECTOR_CORE", 3],
  ["m", "MatMul", "AI_CORE", 4],
  ["u", "Odd", null, null],
  ["hcom", "hcom", "HCCL", 100],
]);
const MEANT = { computingNs: 12, communication: null, cores: new Set(["HCCL"]), unknown: "unknown" };
const sizes = (parts: readonly { id: string; value: number }[]) =>
  Object.fromEntries(parts.map((part) => [part.id, part.value]));

test("communication is apart, rows of one type are one part, unknown time is left out", () => {
  expect(sizes(kernelParts(ROWS, "type", MEANT).parts)).toEqual({ Add: 8, MatMul: 4 });
  expect(sizes(kernelParts(ROWS, "name", MEANT).parts)).toEqual({ a1: 5, a2: 3, m: 4 });
});

test("communication included: by name where the table lists it, else as one part", () => {
  const included = { ...MEANT, communication: { label: "Communication", ns: 100 } };
  expect(sizes(kernelParts(ROWS, "name", included).parts)).toMatchObject({ hcom: 100 });
  const without = table([["m", "MatMul", "AI_CORE", 12]]);
  expect(sizes(kernelParts(without, "type", included).parts)).toEqual({ MatMul: 12, Communication: 100 });
});

test("time of unknown types is a part, so that the ring is the whole", () => {
  const copies = table([
    ["k", "Add", "KERNEL", 5],
    ["m", null, "MEMCPY", 3],
    ["s", null, "MEMSET", 4],
  ]);
  const { parts } = kernelParts(copies, "type", MEANT);
  expect(parts).toEqual([
    { id: "Add", label: "Add", value: 5 },
    { id: "", label: "unknown", value: 7 },
  ]);
});

test("what a long table did not send is the rest of the computing time", () => {
  const first = table([["m", "MatMul", "AI_CORE", 4]], 30_000);
  expect(kernelParts(first, "name", MEANT).unlisted).toEqual({ value: 8, count: 29_999 });
});

test("a row leads to the calls on its own core, by name, else by type; unknown is a choice too", () => {
  const row = (cells: Record<string, string | null>) => ({ index: 0, get: (key: string) => cells[key] ?? null });
  const calls = (cells: Record<string, string | null>) => Object.values(callsOf(row(cells)));
  expect(calls({ name: "a1", type: "Add", core: "AI_CORE" })).toEqual(["name:a1", "core:AI_CORE", null]);
  expect(calls({ type: "Add", core: "AI_VECTOR_CORE" })).toEqual(["type:Add", "core:AI_VECTOR_CORE", null]);
  expect(calls({ type: null, core: null })).toEqual(["type:", "core:", null]);
});

test("a collective's row leads to the calls of its group; single calls hold the folded name in another column", () => {
  const cells: Record<string, string> = { name: "hcom_allReduce", core: "HCCL", group: "509" };
  expect(callsOf({ index: 0, get: (key) => cells[key] ?? null })["kernel.group"]).toBe("group:509");
  const pick = { column: "name", value: "hcom_allReduce" };
  const calls = { ...ROWS, columns: [{ key: "folded", title: "", kind: "text", doc: "", group: "" }] } as TableJson;
  expect(pickOfCalls(calls, pick)).toEqual({ ...pick, column: "folded" });
  expect(pickOfCalls(ROWS, pick)).toEqual(pick);
});

test("a core that computes, too, is not apart; the rows say which of them communicate", () => {
  const time = { calls: 1, total_ns: 5 };
  const cores = [
    { core: "AI_CPU", communication: true, ...time },
    { core: "AI_CPU", communication: false, ...time },
    { core: "HCCL", communication: true, ...time },
  ];
  expect([...communicationCores(cores)]).toEqual(["HCCL"]);
  const rows = table([
    ["m", "Unique2", "AI_CPU", 4],
    ["allreduceAicpuKernel", "x", "AI_CPU", 9],
  ]);
  rows.data.communication = [0, 1];
  expect(sizes(kernelParts(rows, "name", MEANT).parts)).toEqual({ m: 4 });
});

test("an old link to one call of a collective leads to the row of its calls", () => {
  const calls = { ...ROWS, columns: [...ROWS.columns, { ...ROWS.columns[0], key: "folded" }] } as typeof ROWS;
  const pick = { column: "name", value: "hcom_allReduce__509_15_1" };
  expect(pickOfCalls(ROWS, pick)).toEqual({ ...pick, value: "hcom_allReduce" });
  expect(pickOfCalls(calls, pick)).toEqual(pick);
});
