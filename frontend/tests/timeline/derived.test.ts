import { expect, test } from "vitest";
import { colourOf, MEANINGS, meaningOf } from "../../src/timeline/colours";
import { FIRST_DERIVED_TRACK, insertDerived, isDerivedRow } from "../../src/timeline/derived";
import { LANE_TRACKS } from "../../src/timeline/lanes";
import { rowNumber } from "../../src/timeline/rows";
import { process, thread } from "./build";

const row = rowNumber(FIRST_DERIVED_TRACK, 0);

test("derived rows have the last numbers of their rank", () => {
  expect([isDerivedRow(row), isDerivedRow(row - 1)]).toEqual([true, false]);
  const next = rowNumber(LANE_TRACKS, 0);
  expect([isDerivedRow(next - 1), isDerivedRow(next), isDerivedRow(next + row)]).toEqual([true, false, true]);
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
