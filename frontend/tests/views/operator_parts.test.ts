import { expect, test } from "vitest";
import type { OperatorJson, TableJson } from "../../src/api/types.gen";
import { frames, operatorParts } from "../../src/views/operator/parts";

const TABLE: TableJson = {
  id: "operator.by_name",
  columns: [],
  data: {
    name: ["aten::mm", "HcclAllreduce", "aten::view"],
    calls: [3, 2, 7],
    communication: [0, 1, 0],
    device_self_ns: [10, 90, 0],
    host_self_ns: [5, 1, null],
  },
  offset: 0,
  rows: 3,
  total: 3,
  sort: "",
  desc: true,
};
const DATA = { device_self_ns: 100, host_self_ns: 6 } as OperatorJson;

test("communication is left out of the parts and of the calls", () => {
  const { parts, calls } = operatorParts(TABLE, DATA, "device_self", false);
  expect(parts.map((part) => [part.id, part.value])).toEqual([["aten::mm", 10]]);
  expect(calls).toBe(10);
});

test("included, the parts sum to the view's total", () => {
  const { parts, calls, unlisted } = operatorParts(TABLE, DATA, "device_self", true);
  expect(parts.reduce((sum, part) => sum + part.value, 0)).toBe(100);
  expect(calls).toBe(12);
  expect(unlisted).toEqual({ value: 0, count: 0 });
});

test("the communication inside an operator is no part of its total while communication is left out", () => {
  const data = { ...TABLE.data, device_total_ns: [10, 90, 95], communication_total_ns: [0, 90, 90] };
  const values = (has: boolean) =>
    operatorParts({ ...TABLE, data }, DATA, "device_total", has).parts.map(({ id, value }) => [id, value]);
  expect(values(false)).toEqual([
    ["aten::mm", 10],
    ["aten::view", 5],
  ]);
  expect(values(true)).toHaveLength(3);
  expect(operatorParts({ ...TABLE, data }, DATA, "device_self", false).parts).toHaveLength(1);
});

test("what a long table did not send is the rest", () => {
  const { unlisted } = operatorParts(
    { ...TABLE, total: 30_003 },
    { ...DATA, device_self_ns: 150 },
    "device_self",
    false,
  );
  expect(unlisted).toEqual({ value: 50, count: 30_000 });
});

test("frames are outermost first", () => {
  expect(frames("conv.py(1): forward\r\n\nmain.py(9): train\n")).toEqual(["main.py(9): train", "conv.py(1): forward"]);
  expect(frames("")).toEqual([]);
});
