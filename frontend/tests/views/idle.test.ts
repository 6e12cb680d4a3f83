import { describe, expect, it } from "vitest";
import type { CauseTime, IdleJson } from "../../src/api/types.gen";
import { causeName, launchSum, launchText, partsOf } from "../../src/views/idle";

const TIMES: CauseTime[] = [
  { cause: "compile", launch: "late", time_ns: 5, gaps: 1 },
  { cause: "host_late", launch: "late", time_ns: 20, gaps: 2 },
  { cause: "compile", launch: "unknown", time_ns: 3, gaps: 1 },
];

describe("causes of idle time", () => {
  it("are one part each, whatever the launch", () => {
    expect(partsOf(TIMES).map(({ id, value }) => [id, value])).toEqual([
      ["compile", 8],
      ["host_late", 20],
    ]);
  });

  it("are summed by launch", () => {
    expect([launchSum(TIMES, "late"), launchSum(TIMES, "before"), launchSum(TIMES, "unknown")]).toEqual([25, 0, 3]);
  });

  it("are named by launch, without sentences about 0 ns", () => {
    const told = (changes: Partial<IdleJson>) =>
      launchText({ causes: TIMES, clock_error_ns: 2, uncertain_ns: 0, ...changes } as IdleJson);
    expect(told({})).toBe("Unknown: 3 ns.");
    expect(told({ uncertain_ns: 4 })).toContain("4 ns are closer");
    expect([told({ causes: [] }), told({ clock_error_ns: null, uncertain_ns: 4 })]).toEqual(["", ""]);
  });

  it("have a name, also if the page does not know them", () => {
    expect([causeName("compile"), causeName("new"), causeName(null)]).toEqual(["Operator compilation", "new", ""]);
  });
});
