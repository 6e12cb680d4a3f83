import { expect, test } from "vitest";
import type { TableJson } from "../../src/api/types.gen";
import { kernelParts } from "../../src/views/kernel/parts";

function table(
  rows: [name: string, type: string, core: string | null, total: number | null][],
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
const MEANT = { computingNs: 12, communication: null, cores: new Set(["HCCL"]) };
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

test("what a long table did not send is the rest of the computing time", () => {
  const first = table([["m", "MatMul", "AI_CORE", 4]], 30_000);
  expect(kernelParts(first, "name", MEANT).unlisted).toEqual({ value: 8, count: 29_999 });
});
