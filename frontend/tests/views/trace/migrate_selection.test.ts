import { describe, expect, test } from "vitest";
import type { ProcessJson, TraceJson } from "../../../src/api/types.gen";
import { migrateSelection } from "../../../src/views/trace/selection/migrate_selection";
import { process, thread } from "../../timeline/build";

function trace(...processes: ProcessJson[]): TraceJson {
  return { processes, start: 0, end: 1000 } as unknown as TraceJson;
}

/** Of the beginning: the device has no name yet, and a thread of the host is still to come. */
const BEFORE = trace(
  { ...process("Python", thread(0, "main"), thread(1, "worker")), pid: "7" },
  { ...process("", thread(2, "Stream 2")), pid: "9" },
);
const AFTER = trace(
  { ...process("Python", thread(0, "backward")), pid: "7" },
  { ...process("Ascend Hardware", { ...thread(4, "Stream 2"), tid: "2" }), pid: "9" },
  { ...process("Python", { ...thread(5, "main"), tid: "0" }), pid: "8" },
);
// Threads are known by their tid: that of "main" is "0", in the process 7 it is now called "backward".
const migration = migrateSelection({ data: BEFORE, base: "1000" }, { data: AFTER, base: "400" });

describe("migrateSelection", () => {
  test("times move by the difference of the origins", () => {
    expect(migration.shift).toBe(600);
    expect(migration.range({ start: 5, end: 10 })).toEqual({ start: 605, end: 610 });
  });

  test("a slice goes to the number that its thread has now; one whose thread is gone goes", () => {
    const slice = { id: 1, name: "a", track: 2, depth: 3, start: 0, end: 5 };
    expect(migration.slice(slice)).toEqual({ ...slice, track: 4, start: 600, end: 605 });
    expect(migration.slice({ ...slice, track: 1 })).toBeNull();
    expect(migration.flow({ kind: "a", from: slice, to: { ...slice, track: 1 } })).toBeNull();
  });

  test("an area keeps the rows that are there; without any it goes", () => {
    expect(migration.area({ start: 0, end: 1, tracks: [1, 2] })?.tracks).toEqual([4]);
    expect(migration.area({ start: 0, end: 1, tracks: null })).toEqual({ start: 600, end: 601, tracks: null });
    expect(migration.area({ start: 0, end: 1, tracks: [1] })).toBeNull();
  });

  test("folded processes are known by number, and keys from a link wait for their process", () => {
    const state = {
      collapsedProcesses: new Set([":9", "CANN:12"]),
      collapsedTracks: new Set([2]),
      pinned: [2, 0, 1],
      filter: "x",
      arrangement: {
        hiddenProcesses: new Set([":9"]),
        hiddenTracks: new Set([1, 2]),
        processOrder: ["CANN:12", ":9"],
        trackOrder: [2, 0],
      },
    };
    expect(migration.layout(state)).toEqual({
      collapsedProcesses: new Set(["Ascend Hardware:9", "CANN:12"]),
      collapsedTracks: new Set([4]),
      pinned: [4, 0],
      filter: "x",
      arrangement: {
        hiddenProcesses: new Set(["Ascend Hardware:9"]),
        hiddenTracks: new Set([4]),
        processOrder: ["CANN:12", "Ascend Hardware:9"],
        trackOrder: [4, 0],
      },
    });
  });
});
