import { expect, test } from "vitest";
import { colourOf, contrast, MEANINGS, palette, parseColour, pixelOf, textOn } from "../../src/timeline/colours";

const TOKENS: Record<string, string> = {
  "--c-compute": "#0072b2",
  "--c-over": "#56b4e9",
  "--c-comm": "#e69f00",
  "--c-wait": "#d55e00",
  "--c-free": "#b9c1cc",
};

test("a name keeps its colour; instance numbers do not change it", () => {
  expect(colourOf("aten::add", "Python")).toBe(colourOf("aten::add", "CANN"));
  expect(colourOf("hcom_allReduce__586_0_1", "HCCL")).toBe(colourOf("hcom_allReduce__12_3_1", "HCCL"));
  const some = new Set(
    ["aten::add", "aten::mm", "Enqueue", "Dequeue", "Node@launch", "main.py"].map((n) => colourOf(n, "")),
  );
  expect(some.size).toBeGreaterThan(3);
});

test("Overlap Analysis rows carry the colours of their meaning", () => {
  const meaning = (name: string) => MEANINGS[colourOf(name, "Overlap Analysis")];
  expect(meaning("Computing")).toBe("--c-compute");
  expect(meaning("Communication")).toBe("--c-comm");
  expect(meaning("Communication(Not Overlapped)")).toBe("--c-comm");
  expect(meaning("Free")).toBe("--c-free");
  expect(MEANINGS[colourOf("Computing", "Python")]).toBeUndefined();
});

test("text on every colour of both modes reads at 4.5 : 1 or better", () => {
  for (const dark of [false, true]) {
    for (const colour of palette(dark, (name) => TOKENS[name] ?? "")) {
      expect(contrast(colour, textOn(colour))).toBeGreaterThanOrEqual(4.5);
    }
  }
});

test("every colour index has a colour", () => {
  const size = palette(false, () => "#000000").length;
  for (let index = 0; index < 500; index++)
    expect(colourOf(`op${"x".repeat(index % 37)}${index}`, "")).toBeLessThan(size);
});

test("CSS colours are read and written as little-endian pixels", () => {
  expect(parseColour(" #0072b2")).toEqual([0, 0x72, 0xb2]);
  expect(parseColour("#fa0")).toEqual([0xff, 0xaa, 0]);
  expect(parseColour("rgb(1, 2, 3)")).toEqual([1, 2, 3]);
  expect(pixelOf([1, 2, 3])).toBe(0xff030201);
});
