import { expect, test } from "vitest";
import { resizeCanvas } from "../../src/timeline/surface";

test("a page zoomed by two keeps the device pixels of a canvas and halves its size", () => {
  const canvas = document.createElement("canvas");
  resizeCanvas(canvas, 800, 400, 1);
  resizeCanvas(canvas, 400, 200, 2);
  expect([canvas.width, canvas.height]).toEqual([800, 400]);
  expect([canvas.style.width, canvas.style.height]).toEqual(["400px", "200px"]);
});
