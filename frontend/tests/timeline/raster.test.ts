import { expect, test } from "vitest";
import { drawRow, firstAfter, stamp } from "../../src/timeline/raster";
import { row } from "./build";

const COLOURS = Uint32Array.from([1, 2, 3]);
const EDGES = Uint32Array.from([11, 12, 13]);

function draw(bars: Parameters<typeof row>[0], start: number, scale: number, width: number): number[] {
  const pixels = new Uint32Array(width);
  drawRow(row(bars), { start, scale, pixels, wide: [], wideFrom: 9 }, COLOURS, EDGES);
  return [...pixels];
}

test("bars fill the pixels between their cut ends", () => {
  expect(draw([[2, 4, 1]], 0, 1, 6)).toEqual([0, 0, 2, 2, 0, 0]);
});

test("touching bars have no gap and no overlap at any zoom", () => {
  for (const scale of [0.37, 1, 1.7, 3.3]) {
    const pixels = draw(
      [
        [0, 7, 0],
        [7, 13, 1],
        [13, 30, 2],
      ],
      0,
      scale,
      Math.floor(30 / scale),
    );
    expect(pixels).not.toContain(0);
    expect(pixels.map((pixel) => pixel % 10)).toEqual([...pixels].map((pixel) => pixel % 10).sort());
  }
});

test("a bar that ends where the line starts leaves no stub", () => {
  expect(draw([[0, 10, 1]], 10, 1, 3)).toEqual([0, 0, 0]);
  expect(draw([[0, 10, 1]], 9.5, 1, 3)).toEqual([0, 0, 0]);
  expect(draw([[0, 11, 1]], 10, 1, 3)).toEqual([2, 0, 0]);
});

test("a bar that starts where the line stops is not drawn", () => {
  expect(draw([[13, 20, 1]], 10, 1, 3)).toEqual([0, 0, 0]);
});

test("within one pixel the longest bar wins, wherever it stands", () => {
  expect(
    draw(
      [
        [0, 1, 0],
        [1, 6, 1],
        [6, 8, 2],
      ],
      0,
      10,
      2,
    ),
  ).toEqual([2, 0]);
  expect(
    draw(
      [
        [0, 6, 1],
        [6, 8, 2],
      ],
      0,
      10,
      2,
    ),
  ).toEqual([2, 0]);
  // A short bar at the start of a long one's first pixel.
  expect(
    draw(
      [
        [0, 1, 0],
        [1, 30, 1],
      ],
      0,
      10,
      3,
    ),
  ).toEqual([2, 2, 2]);
});

test("a bar without length is one pixel", () => {
  expect(draw([[5, 5, 2]], 0, 1, 8)).toEqual([0, 0, 0, 0, 0, 3, 0, 0]);
});

test("wide bars get an edge on the left, but not where the view cuts them", () => {
  expect(draw([[1, 6, 0]], 0, 1, 7)).toEqual([0, 11, 1, 1, 1, 1, 0]);
  expect(draw([[1, 6, 0]], 2, 1, 5)).toEqual([1, 1, 1, 1, 0]);
});

test("bars wide enough for a label are told, by what of them is in sight", () => {
  const line = { start: 5, scale: 1, pixels: new Uint32Array(10), wide: [] as number[], wideFrom: 3 };
  drawRow(
    row([
      [0, 7],
      [7, 10],
      [10, 12],
      [12, 40],
    ]),
    line,
    COLOURS,
    EDGES,
  );
  expect(line.wide).toEqual([1, 3]);
});

test("origin and unit of the answer count", () => {
  const pixels = new Uint32Array(6);
  drawRow(
    { ...row([[1, 2, 0]]), origin: 100, unit: 2 },
    { start: 100, scale: 1, pixels, wide: [], wideFrom: 9 },
    COLOURS,
    EDGES,
  );
  expect([...pixels]).toEqual([0, 0, 1, 1, 0, 0]);
});

test("the search for the first bar skips those that ended", () => {
  const bars = row([
    [0, 10],
    [10, 20],
    [25, 30],
  ]);
  expect([0, 10, 20, 29, 30].map((time) => firstAfter(bars, time))).toEqual([0, 1, 2, 2, 3]);
});

test("a line is copied to the rows of the bar that are on the image", () => {
  const image = new Uint32Array(2 * 4);
  stamp(image, Uint32Array.from([7, 8]), -1, 1);
  stamp(image, Uint32Array.from([5, 6]), 3, 9);
  expect([...image]).toEqual([7, 8, 0, 0, 0, 0, 5, 6]);
});

test("merged bars own the last pixel that they touch, so that they do not stand apart", () => {
  const bars: Parameters<typeof row>[0] = [
    [0, 21, 1, 3],
    [30, 50, 2, 2],
  ];
  expect(draw(bars, 0, 10, 6)).toEqual([2, 2, 2, 3, 3, 0]);
  expect(draw([[0, 21, 1, 1]], 0, 10, 6)).toEqual([2, 2, 0, 0, 0, 0]);
});
