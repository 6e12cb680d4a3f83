import { expect, test } from "vitest";
import type { FlowEnd, FlowJson, SliceDetail } from "../../../src/views/trace/api";
import { causeOf, chainOf } from "../../../src/views/trace/chain";

function end(id: number): FlowEnd {
  return { id, name: `s${id}`, track: 0, depth: 0, start: id, dur: 1, process: "", thread: "" };
}

function detail(id: number, parent: number | null): SliceDetail {
  return {
    ...end(id),
    category: "",
    start_epoch_ns: "0",
    self: 1,
    parent: parent === null ? null : { id: parent, name: `s${parent}` },
    children: 0,
    args: null,
    args_error: "",
    stack: null,
    previous: null,
    next: null,
  };
}

const flow = (kind: string, from: number, to: number): FlowJson => ({ kind, from: end(from), to: end(to) });

function source(parents: Record<number, number>, flows: FlowJson[]) {
  return {
    slice: async (id: number) => detail(id, parents[id] ?? null),
    flows: async (id: number) => flows.filter((one) => one.from.id === id || one.to.id === id),
  };
}

test("the operator explains a kernel better than the launch; backward links and outgoing flows explain nothing", () => {
  expect(causeOf(9, [flow("HostToDevice", 5, 9), flow("async_npu", 3, 9)])?.from.id).toBe(3);
  expect(causeOf(9, [flow("fwdbwd", 1, 9), flow("async_npu", 9, 12)])).toBeNull();
});

test("the chain goes back over flows, then over callers", async () => {
  const flows = [flow("async_npu", 4, 9), flow("HostToDevice", 7, 9)];
  const made = source({ 4: 2, 2: 1, 9: 8 }, flows);
  const links = await chainOf(detail(9, 8), flows, made);
  expect(links.map((link) => link.id)).toEqual([1, 2, 4, 9]);
});

test("a circle of flows ends, and a long chain is cut at its outer end", async () => {
  const circle = [flow("async_npu", 1, 2), flow("async_npu", 2, 1)];
  expect((await chainOf(detail(2, null), circle, source({}, circle))).map((link) => link.id)).toEqual([1, 2]);
  const deep = source(Object.fromEntries(Array.from({ length: 50 }, (_, id) => [id + 1, id])), []);
  const links = await chainOf(detail(50, 49), [], deep);
  expect(links.length).toBeLessThan(12);
  expect(links[links.length - 1]?.id).toBe(50);
});
