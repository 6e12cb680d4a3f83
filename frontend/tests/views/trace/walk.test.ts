import { expect, test } from "vitest";
import type { DescentJson } from "../../../src/api/types.gen";
import { Walk } from "../../../src/views/trace/selection/selection";

/** Slice 1 is an operator with the kernels 20 and 21; 20, 30 and 21 follow each other on the stream. */
const DESCENTS: Record<number, Partial<DescentJson>> = {
  1: { is_host: true, tasks: { data: { id: [20, 21] } } as unknown as DescentJson["tasks"] },
  20: { is_host: false, previous: null, next: 30 },
  2: { is_host: true },
};

function walking(id: number) {
  const said: string[] = [];
  const selected = { peek: () => ({ id, detail: {} }) };
  const selection = {
    selected,
    select: async (to: number) => {
      walk.stop();
      id = to;
    },
    followFlow: (direction: string) => said.push(`flow ${direction}`),
  };
  const port = { say: () => said.push("end"), fail: () => {} };
  const none = { tasks: { data: {} } };
  const walk = new Walk(port, selection as never, async (of) => ({ ...none, ...DESCENTS[of] }) as DescentJson);
  return { walk, said, at: () => id, selection };
}

test("an operator leads to its kernels in device order, and back", async () => {
  const { walk, at, said } = walking(1);
  for (const id of [20, 21, 21]) {
    await walk.step("next");
    expect(at()).toBe(id);
  }
  expect(said).toEqual(["end"]);
  for (const id of [20, 1]) {
    await walk.step("previous");
    expect(at()).toBe(id);
  }
});

test("a kernel that was selected otherwise leads to its neighbour on the stream", async () => {
  const { walk, at, selection } = walking(1);
  await walk.step("next");
  await selection.select(20);
  await walk.step("next");
  expect(at()).toBe(30);
});

test("a slice without tasks leads along its flows", async () => {
  const { walk, said } = walking(2);
  await walk.step("next");
  await walk.step("previous");
  expect(said).toEqual(["flow next", "flow previous"]);
});
