import { expect, test } from "vitest";
import { inOrder } from "../../src/timeline/order";
import { process } from "./build";

test("the device comes before the host, the rest follows as in the trace", () => {
  const names = ["Python", "CANN", "HBM", "Ascend Hardware", "AI Core Freq", "HCCL", "Overlap Analysis"];
  expect(inOrder(names.map((name) => process(name))).map((one) => one.name)).toEqual([
    "Overlap Analysis",
    "Ascend Hardware",
    "HCCL",
    "Python",
    "CANN",
    "HBM",
    "AI Core Freq",
  ]);
});
