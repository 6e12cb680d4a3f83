import { expect, test } from "vitest";
import { OverlayPainter } from "../../src/timeline/paint/overlay";
import { AS_RECORDED, type LayoutState } from "../../src/timeline/rows";
import { newScene, type Scene } from "../../src/timeline/scene";
import type { Theme } from "../../src/timeline/theme";

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
