import { expect, test } from "vitest";
import { barAt, placeAt, tracksBetween } from "../../src/timeline/hit";
import { AS_RECORDED, HEADER_HEIGHT, layOut, PITCH } from "../../src/timeline/rows";
import { LANE_TRACKS, process, row, thread } from "./build";

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

const scene = (pinned: number[], scroll = 0, height = 2000) => ({
  layout: layOut(PROCESSES, { ...PLAIN, pinned }),
  scroll,
  height,
});

test("a height is a header, a depth row, or nothing", () => {
  expect(placeAt(scene([]), 5)?.item.kind).toBe("process");
  expect(placeAt(scene([]), HEADER_HEIGHT + PITCH * 2 + 1)?.depth).toBe(2);
  expect(placeAt(scene([], 7), HEADER_HEIGHT + PITCH * 2 + 1 - 7)?.depth).toBe(2);
  expect(placeAt(scene([]), scene([]).layout.height + 50)).toBeNull();
});

test("pinned tracks come before the scrolled ones", () => {
  const pinned = scene([2], 1000);
  const place = placeAt(pinned, 3);
  expect(place?.pinned).toBe(true);
  expect(place?.item.kind === "track" && place.item.thread.track).toBe(2);
  expect(placeAt(scene([2]), pinned.layout.pinnedHeight + 5)?.item.kind).toBe("process");
});

test("pinned tracks that fill the height scroll with the others", () => {
  const { pinnedHeight } = scene([2, 1]).layout;
  const low = scene([2, 1], pinnedHeight - 4, pinnedHeight);
  expect(placeAt(low, 3)?.pinned).toBe(true);
  expect(placeAt(low, 5)).toMatchObject({ pinned: false, item: { kind: "process" } });
  expect(tracksBetween(low, 0, 3)).toEqual([1]);
});

test("a band touches slice tracks of all ranks, each once, in either direction", () => {
  const pinned = scene([2]);
  expect(tracksBetween(pinned, 0, 2000)).toEqual([2, 1]);
  expect(tracksBetween(pinned, 2000, 0)).toEqual([2, 1]);
  const y = pinned.layout.pinnedHeight + HEADER_HEIGHT + 4;
  expect(tracksBetween(pinned, y, y)).toEqual([1]);
  const other = layOut([process("Python", thread(2 + LANE_TRACKS, "main"))], PLAIN);
  expect(tracksBetween({ layout: other, scroll: 0, height: 99 }, 0, 99)).toEqual([2 + LANE_TRACKS]);
});
