import { expect, test } from "vitest";
import {
  type Arrangement,
  AS_RECORDED,
  barsIn,
  HEADER_HEIGHT,
  itemsIn,
  type LayoutState,
  layOut,
  moved,
  PITCH,
  processKey,
} from "../../src/timeline/rows";
import { process, thread } from "./build";

const PROCESSES = [
  process("Python", thread(1, "main", 4), thread(2, "autograd", 2)),
  process("Ascend Hardware", thread(3, "Stream 2", 1), thread(4, "Stream 4", 2)),
];

function state(changes: Partial<LayoutState> = {}): LayoutState {
  return {
    collapsedProcesses: new Set(),
    collapsedTracks: new Set(),
    pinned: [],
    filter: "",
    arrangement: AS_RECORDED,
    ...changes,
  };
}

const tracks = (layout: ReturnType<typeof layOut>) =>
  layout.items.map((item) => (item.kind === "track" ? item.thread.track : item.process.name));

test("items follow each other without gaps inside a process", () => {
  const layout = layOut(PROCESSES, state());
  expect(tracks(layout)).toEqual(["Python", 1, 2, "Ascend Hardware", 3, 4]);
  const [header, first, second] = layout.items as [
    (typeof layout.items)[0],
    (typeof layout.items)[0],
    (typeof layout.items)[0],
  ];
  expect(first.y).toBe(header.y + HEADER_HEIGHT);
  expect(second.y).toBe(first.y + first.height);
  expect(layout.height).toBeGreaterThan((layout.items[5] as (typeof layout.items)[0]).y);
});

test("a collapsed process keeps its header only, a collapsed thread one row", () => {
  const folded = layOut(PROCESSES, state({ collapsedProcesses: new Set(["Python:1"]) }));
  expect(tracks(folded)).toEqual(["Python", "Ascend Hardware", 3, 4]);
  const thin = layOut(PROCESSES, state({ collapsedTracks: new Set([1]) }));
  const item = thin.items[1];
  expect(item?.kind === "track" && item.depths).toBe(1);
});

test("the filter keeps threads with any of its words and drops empty processes", () => {
  expect(tracks(layOut(PROCESSES, state({ filter: "stream" })))).toEqual(["Ascend Hardware", 3, 4]);
  expect(tracks(layOut(PROCESSES, state({ filter: "MAIN, stream 4" })))).toContain(1);
  expect(layOut(PROCESSES, state({ filter: "nothing" })).items).toEqual([]);
});

test("hidden rows are left out, moved ones come first, and pinned ones stay", () => {
  const arrange = (changes: Partial<Arrangement>) => state({ arrangement: { ...AS_RECORDED, ...changes } });
  expect(tracks(layOut(PROCESSES, arrange({ hiddenProcesses: new Set(["Python:1"]) })))).toEqual([
    "Ascend Hardware",
    3,
    4,
  ]);
  const some = layOut(PROCESSES, { ...arrange({ hiddenTracks: new Set([1, 3, 4]) }), pinned: [3] });
  expect(tracks(some)).toEqual(["Python", 2]);
  expect(some.pinned.map((item) => item.thread.track)).toEqual([3]);
  const key = processKey(PROCESSES[1] as (typeof PROCESSES)[0]);
  expect(tracks(layOut(PROCESSES, arrange({ processOrder: [key], trackOrder: [4, 99, 2] })))).toEqual([
    "Ascend Hardware",
    4,
    3,
    "Python",
    2,
    1,
  ]);
});

test("a row is moved by one place, within the list", () => {
  expect(moved(["a", "b", "c"], "b", -1)).toEqual(["b", "a", "c"]);
  expect(moved(["a", "b", "c"], "b", 1)).toEqual(["a", "c", "b"]);
  for (const [key, step] of [
    ["a", -1],
    ["c", 1],
    ["x", 1],
  ] as const)
    expect(moved(["a", "b", "c"], key, step)).toEqual(["a", "b", "c"]);
});

test("pinned tracks stand on top in the order of pinning; unknown ones are left out", () => {
  const layout = layOut(PROCESSES, state({ pinned: [4, 99, 1] }));
  expect(layout.pinned.map((item) => item.thread.track)).toEqual([4, 1]);
  expect(layout.pinnedHeight).toBe(layout.pinned.reduce((sum, item) => sum + item.height, 0));
});

test("only what is in sight is given out", () => {
  const layout = layOut(PROCESSES, state());
  const main = layout.items[1] as (typeof layout.items)[0];
  const bars = barsIn(layout.items, main.y + PITCH, main.y + PITCH * 2);
  expect(bars.map((bar) => bar.row)).toEqual([4096 + 1]);
  expect(itemsIn(layout.items, main.y, main.y + 1)).toEqual([main]);
  expect(barsIn(layout.items, 0, 5)).toEqual([]);
});

test("5,000 threads are placed and searched without walking them all", () => {
  const many = [process("big", ...Array.from({ length: 5000 }, (_, index) => thread(index, `t${index}`)))];
  const layout = layOut(many, state());
  const item = layout.items[4000] as (typeof layout.items)[0];
  expect(itemsIn(layout.items, item.y, item.y + item.height)).toEqual([item]);
});
