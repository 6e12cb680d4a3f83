import { expect, test } from "vitest";
import { PieceCache } from "../../src/timeline/cache";
import { type ArrowSet, decodeArrows } from "../../src/timeline/decode";
import { curvesOf, strengthOf } from "../../src/timeline/paint/arrows";
import { AS_RECORDED } from "../../src/timeline/rows";
import { newScene, type Scene } from "../../src/timeline/scene";
import type { Theme } from "../../src/timeline/theme";
import { frame, process, thread } from "./build";

type Arrow = [fromTrack: number, fromTime: number, toTrack: number, toTime: number, count?: number];

function answer(arrows: Arrow[], header: object = { base: "1000", unit: 2 }): ArrayBuffer {
  const column = (pick: (arrow: Arrow) => number) => ({ type: "u32" as const, values: arrows.map(pick) });
  return frame(
    { ...header },
    {
      from_track: column((arrow) => arrow[0]),
      from_depth: column(() => 0),
      from_time: column((arrow) => arrow[1]),
      to_track: column((arrow) => arrow[2]),
      to_depth: column(() => 0),
      to_time: column((arrow) => arrow[3]),
      count: column((arrow) => arrow[4] ?? 1),
    },
  );
}

function sceneWith(arrows: Arrow[], collapsed: string[] = []): Scene {
  const caches = {
    slices: new PieceCache<never>(1),
    hits: new PieceCache<never>(1),
    counters: new PieceCache<never>(1),
    arrows: new PieceCache<ArrowSet>(1e6),
  };
  const data = decodeArrows(answer(arrows, { base: "0", unit: 1 }), "0");
  caches.arrows.add(new Map([[0, { window: { level: 0, start: 0, end: 1000 }, asked: 0, exact: false, data }]]), 1);
  const processes = [process("Python", thread(0, "main")), { ...process("NPU", thread(1, "Stream 2")), pid: "2" }];
  const state = {
    collapsedProcesses: new Set(collapsed),
    collapsedTracks: new Set<number>(),
    pinned: [],
    filter: "",
    arrangement: AS_RECORDED,
  };
  const trace = {
    processes,
    labels: new Map(),
    limits: { start: 0, end: 1000 },
    zero: 0,
    flowKinds: ["HostToDevice"],
    caches,
  };
  const scene = newScene(trace, state, {} as Theme);
  return { ...scene, gutter: 100, width: 600, height: 300, view: { start: 200, scale: 1 }, arrows: [0] };
}

test("times count from the answer's base, in its unit", () => {
  const data = decodeArrows(answer([[0, 5, 1, 50, 7]]), "400");
  expect([data.fromTime[0], data.toTime[0], data.count[0]]).toEqual([610, 700, 7]);
  expect([data.fromRow[0], data.toRow[0]]).toEqual([0, 4096]);
});

test("an arrow goes from the middle of its row to the middle of the other", () => {
  const [curve] = curvesOf(sceneWith([[0, 250, 1, 300]]), 0);
  expect(curve).toMatchObject({ x0: 150, x1: 200 });
  expect(curve?.y1).toBeGreaterThan(curve?.y0 ?? 0);
});

test("what does not cross the view is left out; what passes through is not", () => {
  const times: [number, number][] = [
    [10, 20],
    [800, 900],
    [100, 900],
    [150, 210],
  ];
  expect(curvesOf(sceneWith(times.map(([from, to]) => [0, from, 1, to])), 0)).toHaveLength(2);
});

test("ends in a folded process stand at its header; ends in hidden rows hide the arrow", () => {
  const scene = sceneWith([[0, 250, 1, 300]], ["NPU:2"]);
  expect(curvesOf(scene, 0)[0]?.y1).toBe(
    (scene.layout.items.find((item) => item.kind === "process" && item.collapsed)?.y ?? 0) + 11,
  );
  expect(curvesOf(sceneWith([[0, 250, 9, 300]]), 0)).toEqual([]);
});

test("the more arrows one stands for, the stronger it is", () => {
  expect([1, 2, 3, 4, 15, 16, 1000].map(strengthOf)).toEqual([0, 1, 1, 2, 2, 3, 3]);
});
