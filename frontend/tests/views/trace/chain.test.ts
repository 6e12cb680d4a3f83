import { expect, test } from "vitest";
import type { ChainLinkJson, FlowJson, SliceJson } from "../../../src/api/types.gen";
import { causeOf, hiddenLinks, launchText } from "../../../src/views/trace/selection/chain_column";

function end(id: number): SliceJson {
  return { id, name: `s${id}`, track: 0, depth: 0, start: id, dur: 1, process: "", thread: "" };
}

const flow = (kind: string, from: number, to: number): FlowJson => ({ kind, from: end(from), to: end(to) });
const links = (...vias: string[]): ChainLinkJson[] => vias.map((via, id) => ({ ...end(id), category: "", via }));

test("the launch is nearer than the operator; backward links and outgoing flows launch nothing", () => {
  expect(causeOf(9, [flow("async_npu", 3, 9), flow("HostToDevice", 5, 9)])?.from.id).toBe(5);
  expect(causeOf(9, [flow("async_npu", 3, 9)])?.from.id).toBe(3);
  expect(causeOf(9, [flow("fwdbwd", 1, 9), flow("async_npu", 9, 12)])).toBeNull();
});

test("outer callers are left out at first, never what follows the first flow", () => {
  expect(hiddenLinks(links("", "", "HostToDevice", ""))).toBe(0);
  expect(hiddenLinks(links("", "", "", "", "", "", "async_task_queue", "", "HostToDevice", ""))).toBe(2);
  expect(hiddenLinks(links("", "", "", "", "", "", ""))).toBe(2);
  expect(hiddenLinks(links(""))).toBe(0);
});

test("a task that starts before its launch tells how far the clocks disagree", () => {
  expect(launchText(flow("HostToDevice", 5, 9), 9)).toBe("launched 4 ns before its start, by s5");
  expect(launchText(flow("HostToDevice", 12, 9), 9)).toMatch(/^starts 3 ns before its launch by s12: the clocks/);
});
