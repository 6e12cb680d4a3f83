import { expect, test } from "vitest";
import { TextFitter } from "../../src/timeline/paint/text";

const context = { measureText: (text: string) => ({ width: 10 * text.length }) } as CanvasRenderingContext2D;

test("a name keeps its beginning, or both ends, in the room that it has", () => {
  const fitter = new TextFitter(context);
  const name = "Communication with rank 5";
  expect(fitter.fit(name, 140)).toBe("Communication…");
  expect(fitter.fitEnds(name, 145)).toBe("Communi…rank 5");
  expect(fitter.fitEnds(name, 250)).toBe(name);
  expect([fitter.fitEnds(name, 30), fitter.fitEnds(name, 29)]).toEqual(["C…5", ""]);
});
