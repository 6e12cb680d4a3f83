import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { followRanks } from "../../../src/views/trace/ranks/follow_lanes";

function page() {
  const beside = signal([{ lane: 1, span: "s1", version: "", zero: "100" }]);
  const loaded = signal<ReadonlyMap<number, { data: { version: string } }>>(new Map());
  const lines = signal<{ span: string; is_traced: boolean }[]>([]);
  const found = signal([
    { lane: 0, version: "1", total: 3, marks: [] },
    { lane: 1, version: "", total: null as number | null, marks: [] },
  ]);
  const session = {
    lanes: { beside: () => beside.value, loaded },
    ranks: { lines: () => lines.value, all: signal([{ span: "s1" }]) },
    search: { ranks: found },
    finder: { again: async () => void count.value++ },
  };
  const count = { value: 0 };
  const stop = followRanks(session as never);
  return { beside, loaded, lines, found, count, stop };
}

test("the search is repeated when a rank is moved, read or read anew", () => {
  const { beside, loaded, lines, found, count, stop } = page();
  expect(count.value).toBe(0);
  beside.value = [{ lane: 1, span: "s1", version: "", zero: "200" }];
  expect(count.value).toBe(1);
  lines.value = [{ span: "s1", is_traced: true }];
  expect(count.value).toBe(2);
  found.value = [{ lane: 1, version: "7", total: 4, marks: [] }];
  loaded.value = new Map([[1, { data: { version: "7" } }]]);
  expect(count.value).toBe(2);
  loaded.value = new Map([[1, { data: { version: "8" } }]]);
  expect(count.value).toBe(3);
  stop();
  beside.value = [];
  expect(count.value).toBe(3);
});
