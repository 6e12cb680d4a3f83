import { expect, test } from "vitest";
import { colourOf, MEANINGS, meaningOf } from "../../src/timeline/colours";
import { isDerivedRow, laneOffset } from "../../src/timeline/lanes";
import { rowNumber } from "../../src/timeline/rows";
import { insertDerived } from "../../src/views/trace/derived_rows";
import { LANE_TRACKS, process, thread } from "./build";

const row = rowNumber(laneOffset(0, 0, "derived").track, 0);

test("derived rows have numbers of their own in each rank", () => {
  expect([isDerivedRow(row), isDerivedRow(row - 1)]).toEqual([true, false]);
  const next = rowNumber(LANE_TRACKS, 0);
  expect([isDerivedRow(next), isDerivedRow(next + row)]).toEqual([false, true]);
});

test("derived rows follow the summary of the device", () => {
  const [derived, overlap, other] = ["Derived", "Overlap Analysis", "Python"].map((name) =>
    process(name, thread(0, "main")),
  );
  if (!derived || !overlap || !other) throw new Error();
  expect(insertDerived([overlap, other], derived)).toEqual([overlap, derived, other]);
  expect(insertDerived([other], derived)).toEqual([other, derived]);
});

test("a derived slice has the colour of its meaning, as in the other views", () => {
  expect(MEANINGS[meaningOf("--c-wait")]).toBe("--c-wait");
  expect(MEANINGS[meaningOf("--new")]).toBe("--c-free");
  expect(MEANINGS[colourOf("Communication(Not Overlapped)", "Overlap Analysis")]).toBe("--c-comm");
});
