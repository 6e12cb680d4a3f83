import { expect, test } from "vitest";
import { Motion, ViewHistory, viewAfterPress } from "../../src/timeline/motion";
import { ANIMATION_MS, timeAt } from "../../src/timeline/viewport";

const VIEW = { start: 1000, scale: 10 };

test("a press zooms about the pointer or moves by a part of the width; Shift goes further", () => {
  const closer = viewAfterPress(VIEW, "zoomIn", false, 300, 1000);
  expect(closer.scale).toBeLessThan(10);
  expect(timeAt(closer, 300)).toBeCloseTo(timeAt(VIEW, 300), 6);
  expect(viewAfterPress(closer, "zoomOut", false, 300, 1000).scale).toBeCloseTo(10, 9);
  expect(viewAfterPress(VIEW, "zoomIn", true, 300, 1000).scale).toBeLessThan(closer.scale);
  expect(viewAfterPress(VIEW, "panLeft", false, 0, 1000).start).toBeLessThan(VIEW.start);
  expect(viewAfterPress(VIEW, "panRight", false, 0, 1000).start).toBeGreaterThan(VIEW.start);
});

test("an animation ends at its aim in time, without one the aim is shown at once", () => {
  const motion = new Motion();
  const aim = { start: 5000, scale: 2 };
  expect(motion.go(VIEW, aim, 0, 0)).toEqual(aim);
  expect(motion.go(VIEW, aim, 0)).toEqual(VIEW);
  const half = motion.step(VIEW, ANIMATION_MS / 2, 0, 1000);
  expect(half.scale).toBeGreaterThan(2);
  expect(half.scale).toBeLessThan(10);
  expect(motion.step(half, ANIMATION_MS, 0, 1000)).toEqual(aim);
  expect(motion.moving).toBe(false);
});

test("a key that stays down moves on until it is released", () => {
  const motion = new Motion();
  motion.press("panRight", 0);
  expect(motion.step(VIEW, 100, 0, 1000)).toEqual(VIEW);
  const moved = motion.step(VIEW, 200, 0, 1000);
  expect(moved.start).toBeGreaterThan(VIEW.start);
  motion.release("panRight");
  expect(motion.step(moved, 300, 0, 1000)).toEqual(moved);
});

test("Backspace goes back step by step; quick steps are one", () => {
  const history = new ViewHistory();
  history.push({ start: 1, scale: 1 }, 0, false);
  history.push({ start: 2, scale: 1 }, 100, false);
  history.push({ start: 3, scale: 1 }, 5000, false);
  expect(history.pop()?.start).toBe(3);
  expect(history.pop()?.start).toBe(1);
  expect(history.pop()).toBeNull();
});

test("a jump right after a movement is a step of its own", () => {
  const history = new ViewHistory();
  history.push({ start: 1, scale: 1 }, 0, false);
  history.push({ start: 2, scale: 1 }, 100, true);
  expect(history.pop()?.start).toBe(2);
  expect(history.pop()?.start).toBe(1);
});
