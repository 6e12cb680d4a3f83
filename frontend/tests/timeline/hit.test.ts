import { expect, test } from "vitest";
import { AS_RECORDED } from "../../src/timeline/arrangement";
import { barAt, placeAt, tracksBetween } from "../../src/timeline/hit";
import { HEADER_HEIGHT, layOut, PITCH } from "../../src/timeline/rows";
import { process, row, thread } from "./build";

const BARS = row([
  [10, 20],
  [20, 30],
  [50, 50],
  [60, 90],
]);

test("the bar under the pointer is found, a touching one only from its start", () => {
  expect([10, 19.9, 20, 29, 75].map((time) => barAt(BARS, time, 0.5))).toEqual([0, 0, 1, 1, 3]);
});

test("bars too thin to meet are found within the slack, the nearest first", () => {
  expect(barAt(BARS, 49, 2)).toBe(2);
  expect(barAt(BARS, 52, 3)).toBe(2);
  expect(barAt(BARS, 58.5, 4)).toBe(3);
  expect(barAt(BARS, 40, 5)).toBe(-1);
  expect(barAt(row([]), 0, 5)).toBe(-1);
});

const PROCESSES = [
  process("Python", thread(1, "main", 3), thread(2, "backward", 1)),
  process("HBM", thread(3, "HBM", 1, "counter")),
];
const PLAIN = {
  collapsedProcesses: new Set<string>(),
  collapsedTracks: new Set<number>(),
  pinned: [],
  filter: "",
  arrangement: AS_RECORDED,
};

test("a height is a header, a depth row, or nothing", () => {
  const layout = layOut(PROCESSES, PLAIN);
  expect(placeAt(layout, 5, 0)?.item.kind).toBe("process");
  expect(placeAt(layout, HEADER_HEIGHT + PITCH * 2 + 1, 0)?.depth).toBe(2);
  expect(placeAt(layout, HEADER_HEIGHT + PITCH * 2 + 1 - 7, 7)?.depth).toBe(2);
  expect(placeAt(layout, layout.height + 50, 0)).toBeNull();
});

test("pinned tracks come before the scrolled ones", () => {
  const layout = layOut(PROCESSES, { ...PLAIN, pinned: [2] });
  const place = placeAt(layout, 3, 1000);
  expect(place?.pinned).toBe(true);
  expect(place?.item.kind === "track" && place.item.thread.track).toBe(2);
  expect(placeAt(layout, layout.pinnedHeight + 5, 0)?.item.kind).toBe("process");
});

test("a band touches slice tracks, each once, in either direction", () => {
  const layout = layOut(PROCESSES, { ...PLAIN, pinned: [2] });
  expect(tracksBetween(layout, 0, 2000, 0)).toEqual([2, 1]);
  expect(tracksBetween(layout, 2000, 0, 0)).toEqual([2, 1]);
  const y = layout.pinnedHeight + HEADER_HEIGHT + 4;
  expect(tracksBetween(layout, y, y, 0)).toEqual([1]);
});
