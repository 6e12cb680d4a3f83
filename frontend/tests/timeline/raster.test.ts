import { expect, test } from "vitest";
import { clearLine, drawRow, firstAfter, heightsOf, type Line, newLine, Picture } from "../../src/timeline/raster";
import { type BarTuple, row } from "./build";

const COLOURS = {
  fill: Uint32Array.from([1, 2, 3]),
  edge: Uint32Array.from([11, 12, 13]),
  numbers: Uint8Array.from([0, 1, 2]),
};

function line(bars: BarTuple[], start: number, scale: number, width: number, bin = 1): Line {
  const drawn = newLine(start, scale, width, 9);
  drawRow(row(bars, undefined, bin), drawn, COLOURS);
  return drawn;
}

/** Colours of the columns that stand; 0 where none does. */
function draw(bars: BarTuple[], start: number, scale: number, width: number, bin = 1): number[] {
  const drawn = line(bars, start, scale, width, bin);
  return [...drawn.colours].map((colour, column) => (heightsOf(drawn, 100)[column] ? colour : 0));
}

function heights(bars: BarTuple[], start: number, scale: number, width: number, height = 10, bin = 1): number[] {
  return [...heightsOf(line(bars, start, scale, width, bin), height)];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test("bars fill the pixels between their rounded ends", () => {
  expect(draw([[2, 4, 1]], 0, 1, 6)).toEqual([0, 0, 2, 2, 0, 0]);
  expect(heights([[2, 4, 1]], 0, 1, 6)).toEqual([0, 0, 10, 10, 0, 0]);
});

test("touching bars have no gap and no overlap at any zoom", () => {
  const touching: BarTuple[] = [
    [0, 7, 0],
    [7, 13, 1],
    [13, 30, 2],
  ];
  for (const scale of [0.37, 1, 1.7, 3.3, 6.5, 9]) {
    const width = Math.floor(30 / scale);
    expect(heights(touching, 0, scale, width), String(scale)).toEqual(Array(width).fill(10));
    const names = draw(touching, 0, scale, width).map((pixel) => pixel % 10);
    expect(names).toEqual([...names].sort());
  }
});

test("a bar that ends where the line starts leaves no stub, one that starts where it stops is not drawn", () => {
  expect(draw([[0, 10, 1]], 10, 1, 3)).toEqual([0, 0, 0]);
  expect(draw([[0, 11, 1]], 10, 1, 3)).toEqual([2, 0, 0]);
  expect(draw([[13, 20, 1]], 10, 1, 3)).toEqual([0, 0, 0]);
});

test("within one pixel the longest bar gives the colour, wherever it stands; all of them the height", () => {
  const bars: BarTuple[] = [
    [0, 1, 0],
    [1, 6, 1],
    [6, 8, 2],
  ];
  expect(draw(bars, 0, 10, 2)).toEqual([2, 0]);
  expect(heights(bars, 0, 10, 2)).toEqual([8, 0]);
  expect(draw(bars.slice(1), 0, 10, 2)).toEqual([2, 0]);
});

test("a merged bar is as high as it is full", () => {
  // 5 slices of 3 ns altogether within 6 of the 10 ns of a pixel.
  expect(draw([[2, 8, 1, 5, 3, 1]], 0, 10, 2)).toEqual([2, 0]);
  expect(heights([[2, 8, 1, 5, 3, 1]], 0, 10, 2)).toEqual([3, 0]);
  // Of a coarser answer: half full over three pixels.
  expect(heights([[0, 30, 1, 5, 15, 12]], 0, 10, 4, 10, 32)).toEqual([5, 5, 5, 0]);
});

test("of slices that start in one pixel the last may be long: it is drawn whole", () => {
  expect(draw([[2, 38, 1, 4, 32, 30]], 0, 10, 5, 8)).toEqual([2, 2, 2, 2, 0]);
  expect(heights([[2, 38, 1, 4, 32, 30]], 0, 10, 5, 10, 8)).toEqual([4, 10, 10, 8, 0]);
});

test("what is painted of a row is the share of the time in which something ran", () => {
  for (const [length, period] of [
    [1, 300],
    [3, 40],
    [7, 11],
    [13, 41],
  ] as const) {
    const bars: BarTuple[] = Array.from({ length: 3000 }, (_, index) => [index * period, index * period + length]);
    const width = 1000;
    const painted = sum(heights(bars, 0, (3000 * period) / width, width, 13)) / (13 * width);
    expect(Math.abs(painted - length / period)).toBeLessThan(0.01);
  }
});

test("a gap of at least a pixel leaves a column that is at most half full", () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const scale = 16;
  const bars: BarTuple[] = [];
  const gaps: [number, number][] = [];
  for (let time = 0; time < 16 * 2000; ) {
    const [length, gap] = [1 + Math.floor(random() * 60), Math.floor(random() * 40)];
    bars.push([time, time + length]);
    if (gap >= scale) gaps.push([time + length, time + length + gap]);
    time += length + gap;
  }
  const drawn = heights(bars, 0, scale, 2100, 20);
  for (const [from, to] of gaps) {
    const columns = Array.from({ length: Math.ceil(to / scale) - Math.floor(from / scale) }, (_, index) =>
      Math.floor(from / scale + index),
    );
    expect(columns.some((column) => (drawn[column] as number) <= 11)).toBe(true);
  }
  expect(gaps.length).toBeGreaterThan(300);
});

test("a lone slice is seen however short it is, a moment in full height", () => {
  expect(sum(heights([[500, 501, 2]], 0, 1000, 4))).toBe(1);
  expect(heights([[5, 5, 2]], 0, 1, 8)).toEqual([0, 0, 0, 0, 0, 10, 0, 0]);
  // Where something ran in the same pixel the moment hides nothing of it.
  expect(
    heights(
      [
        [2, 2, 2],
        [4, 8, 1],
      ],
      0,
      10,
      1,
    ),
  ).toEqual([4]);
});

test("hits are lit in each column, other columns rise in steps", () => {
  const bars: BarTuple[] = [
    [10, 25, 0],
    [110, 125, 0],
    [200, 293, 0],
  ];
  const drawn = line(bars, 0, 100, 4);
  expect([...heightsOf(drawn, 20, { grain: 1, least: 4 })]).toEqual([4, 4, 19, 0]);
  expect([...heightsOf(drawn, 20, { grain: 2, least: 0 })]).toEqual([2, 4, 18, 0]);
  expect([...heightsOf(drawn, 3, { grain: 1, least: 4 })]).toEqual([3, 3, 3, 0]); // never above the row
  expect([...heightsOf(line(bars, 0, 100, 1), 1, { grain: 2, least: 0 })]).toEqual([1]);
});

test("wide bars get an edge on the left, but not where the view cuts them, and straight ends", () => {
  expect(draw([[1, 9, 0]], 0, 1, 10)).toEqual([0, 11, 1, 1, 1, 1, 1, 1, 1, 0]);
  expect(draw([[1, 9, 0]], 2, 1, 8)).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
  expect(heights([[14, 94, 0]], 0, 10, 11)).toEqual([0, 10, 10, 10, 10, 10, 10, 10, 10, 0, 0]);
  // What else is in the column makes it tell all that is there.
  expect(
    heights(
      [
        [0, 2, 1],
        [14, 94, 0],
        [96, 98, 1],
      ],
      0,
      10,
      11,
    ).slice(8),
  ).toEqual([10, 6, 0]);
});

test("bars wide enough for a label are told, by what of them is in sight", () => {
  const drawn = newLine(5, 1, 40, 10);
  drawRow(
    row([
      [0, 14],
      [14, 24],
      [24, 33],
      [33, 80],
    ]),
    drawn,
    COLOURS,
  );
  expect(drawn.wide).toEqual([1, 3]);
});

test("a row is drawn on some of the columns, and a line can be used again", () => {
  const drawn = newLine(0, 1, 10, 9);
  drawRow(row([[0, 10, 0]]), drawn, COLOURS, 2, 4);
  drawRow(row([[3, 10, 1]]), drawn, COLOURS, 6, 8);
  expect([...heightsOf(drawn, 1)]).toEqual([0, 0, 1, 1, 0, 0, 1, 1, 0, 0]);
  clearLine(drawn);
  expect([...heightsOf(drawn, 1)]).toEqual(Array(10).fill(0));
});

test("origin and unit of the answer count", () => {
  const drawn = newLine(100, 1, 6, 9);
  drawRow({ ...row([[1, 2, 0]]), origin: 100, unit: 2 }, drawn, COLOURS);
  expect([...heightsOf(drawn, 1)]).toEqual([0, 0, 1, 1, 0, 0]);
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
  const picture = new Picture(image, 2);
  picture.stampLine(Uint32Array.from([7, 8]), -1, 1);
  picture.stampLine(Uint32Array.from([5, 6]), 3, 9);
  expect([...image]).toEqual([7, 8, 0, 0, 0, 0, 5, 6]);
});

test("columns stand on the bottom of their row, as far as it is in sight", () => {
  const drawn = newLine(0, 10, 2, 9);
  drawRow(
    row([
      [0, 5, 0],
      [10, 20, 1],
    ]),
    drawn,
    COLOURS,
  );
  const image = new Uint32Array(2 * 5);
  new Picture(image, 2).stampColumns(Uint32Array.of(0, 0), [{ line: drawn }], [0, 4], [1, 5]);
  expect([...image]).toEqual([0, 0, 0, 2, 1, 2, 1, 2, 0, 0]);
});

test("the first layer is drawn over the next one, on a background", () => {
  const bars = line(
    [
      [0, 10, 0],
      [15, 20, 0],
      [20, 23, 0],
    ],
    0,
    10,
    3,
  );
  const hits = line(
    [
      [8, 10, 1],
      [25, 30, 1],
    ],
    0,
    10,
    3,
  );
  const image = new Uint32Array(3 * 4);
  const layers = [{ line: hits, steps: { grain: 1, least: 2 } }, { line: bars }];
  new Picture(image, 3).stampColumns(Uint32Array.of(7, 8, 9), layers, [0, 4], [0, 4]);
  expect([...image]).toEqual([1, 8, 9, 1, 8, 9, 2, 1, 2, 2, 1, 2]);
});

test("work gives the colour of a merged bar for its share of the height; waits stand behind", () => {
  const colours = { ...COLOURS, waits: 0 };
  const painted = (bars: BarTuple[], scale: number, width: number, bin = 1) => {
    const drawn = newLine(0, scale, width, 9);
    drawRow(row(bars, undefined, bin), drawn, colours);
    const picture = new Picture(new Uint32Array(10 * width), width);
    picture.stampColumns(new Uint32Array(width), [{ line: drawn }], [0, 10], [0, 10]);
    const column = (at: number) => Array.from({ length: 10 }, (_, y) => picture.pixels[y * width + at]).join("");
    return Array.from({ length: width }, (_, at) => column(at));
  };
  // 80 of 100 ns: 60 of a wait (name 0), 20 of work (name 1).
  expect(painted([[0, 100, 0, 5, 80, 60, 60, 1]], 100, 1, 64)).toEqual(["0011111122"]);
  // The same as three bars.
  const apart: BarTuple[] = [
    [0, 60, 0, 1, 60, 60, 60, 0],
    [60, 80, 1],
  ];
  expect(painted(apart, 100, 1)).toEqual(["0011111122"]);
  expect(painted([[0, 100, 0, 5, 99, 60, 99, 0]], 100, 1, 64)).toEqual(["1111111111"]);
  // 99 % of waiting is no work, but work is seen.
  expect(painted([[0, 1000, 0, 5, 1000, 600, 990, 1]], 1000, 1, 512)).toEqual(["1111111112"]);
  // A long wait is drawn whole; what worked before it, in its own colour.
  expect(painted([[0, 40, 0, 3, 38, 30, 30, 1]], 10, 4, 8)).toEqual(["0022222222", ...Array(3).fill("1111111111")]);
  expect(painted([[0, 40, 1, 3, 38, 30, 8, 1]], 10, 4, 8)).toEqual(["0011111111", ...Array(3).fill("2222222222")]);
  const beside: BarTuple[] = [
    [0, 3, 1],
    [3, 40, 0, 1, 37, 37, 37, 0],
  ];
  expect(painted(beside, 10, 4)).toEqual(["1111111222", ...Array(3).fill("1111111111")]);
  const wide = painted([[0, 100, 0, 1, 100, 100, 100, 0]], 10, 11);
  expect(wide.slice(1)).toEqual([...Array(9).fill("1111111111"), "0000000000"]);
});
