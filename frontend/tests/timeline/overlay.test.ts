import { expect, test } from "vitest";
import { OverlayPainter } from "../../src/timeline/paint/overlay";
import { AS_RECORDED, type LayoutState } from "../../src/timeline/rows";
import { newScene, type Scene } from "../../src/timeline/scene";
import type { Theme } from "../../src/timeline/theme";
import { LANE_TRACKS, process, thread } from "./build";

const LAYOUT: LayoutState = {
  collapsedProcesses: new Set(),
  collapsedTracks: new Set(),
  pinned: [],
  filter: "",
  arrangement: AS_RECORDED,
};

test("an empty overlay is cleared once and then left alone", () => {
  let cleared = 0;
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) => () => {
      if (name === "clearRect") cleared += 1;
    },
    set: () => true,
  });
  const theme = { mark: () => ({ fill: "", text: "" }) } as unknown as Theme;
  const trace = { processes: [], limits: { start: 0, end: 100 }, labels: new Map() } as unknown as Scene;
  const scene = newScene(trace, LAYOUT, theme);
  const painter = new OverlayPainter(context);
  const clearedBy = (changes: Partial<Scene>) => {
    cleared = 0;
    painter.paint(Object.assign(scene, changes));
    return cleared;
  };
  expect([clearedBy({}), clearedBy({})]).toEqual([1, 0]);
  const marks = [{ start: 1, end: 1, name: "m" }];
  expect([clearedBy({ marks }), clearedBy({ marks })]).toEqual([1, 1]);
  expect([clearedBy({ marks: [] }), clearedBy({})]).toEqual([1, 0]);
  expect([clearedBy({ pointer: { x: 900, y: 1 } }), clearedBy({ pointer: null }), clearedBy({})]).toEqual([1, 1, 0]);
});

test("a range of ranks tints the rows of these ranks alone", () => {
  const tinted: number[] = [];
  const state: Record<string, unknown> = {};
  const context = new Proxy(state as unknown as CanvasRenderingContext2D, {
    get: (_, name) => (name === "measureText" ? () => ({ width: 0 }) : name === "fillRect" ? fill : () => {}),
    set: (_, name, value) => Reflect.set(state, name, value),
  });
  const fill = (_x: number, y: number) => {
    if (state.globalAlpha === 0.14 || state.globalAlpha === 0.05) tinted.push(y);
  };
  const theme = { mark: () => ({ fill: "", text: "" }), accent: "", surfaceText: "" } as unknown as Theme;
  const processes = [process("own", thread(0, "a")), process("other", thread(LANE_TRACKS, "b"))];
  const trace = { processes, limits: { start: 0, end: 100 }, labels: new Map() } as unknown as Scene;
  const scene = Object.assign(newScene(trace, LAYOUT, theme), { width: 900, height: 400 });
  const tintedBy = (area: Scene["area"]) => {
    tinted.length = 0;
    new OverlayPainter(context).paint(Object.assign(scene, { area }));
    return [...tinted];
  };
  const [own, other] = [
    tintedBy({ start: 0, end: 50, tracks: null, lanes: [0] }),
    tintedBy({ start: 0, end: 50, tracks: null, lanes: [1] }),
  ];
  expect([own.length, other.length]).toEqual([1, 1]);
  expect(own[0]).toBeLessThan(other[0] as number);
  expect(tintedBy({ start: 0, end: 50, tracks: null, lanes: [0, 1] })).toEqual([...own, ...other]);
  expect(tintedBy({ start: 0, end: 50, tracks: null })).toEqual([0]);
});
