import { signal } from "@preact/signals";
import { expect, test, vi } from "vitest";
import type { Packing } from "../../../src/timeline/display";
import { tracksBetween } from "../../../src/timeline/hit";
import { laneOffset, ROWS_PER_TRACK, sourceOfRow } from "../../../src/timeline/lanes";
import { AS_RECORDED, barsIn, findTrack, layOut, togglePinned } from "../../../src/timeline/rows";
import { RepackedRows, replaceTracks } from "../../../src/views/trace/derived_rows";
import { askedOf, LANE_TRACKS, process, thread } from "../../timeline/build";

const STREAMS = { layer: "streams" as const, tracks: [3, 4], rows: 3, slices: 20 };
const FRAMES = { layer: "frames" as const, tracks: [1], rows: 1, slices: 5 };
const ALL_FRAMES = { layer: "frames" as const, tracks: [2], rows: 0, slices: 0 };
const [STREAMS_TRACK, FRAMES_TRACK] = [laneOffset(0, 0, "streams").track + 3, laneOffset(0, 0, "frames").track + 1];
const PROCESSES = [
  process("Python", thread(1, "main", 4), thread(2, "only frames", 2)),
  process("Ascend Hardware", thread(3, "Stream 2", 1), thread(4, "Stream 4", 2)),
];
const STATE = {
  collapsedProcesses: new Set<string>(),
  collapsedTracks: new Set<number>(),
  pinned: [],
  filter: "",
  arrangement: AS_RECORDED,
};

test("rows are asked for by their own numbers, their thread keeps the place and number of its first track", () => {
  const shown = replaceTracks(PROCESSES, [STREAMS, FRAMES, ALL_FRAMES], 0);
  expect(shown.map(({ threads }) => threads.map(({ track, rows }) => [track, rows]))).toEqual([[[1, 1]], [[3, 3]]]);
  const layout = layOut(shown, STATE);
  const rows = barsIn(layout.items, 0, layout.height).map(({ row }) => row);
  const first = [FRAMES_TRACK, STREAMS_TRACK].map((track) => track * ROWS_PER_TRACK) as [number, number];
  expect(rows).toEqual([first[0], first[1], first[1] + 1, first[1] + 2]);
  expect(new Set(rows.map(sourceOfRow)).size).toBe(2);
  expect(findTrack(shown, 4)?.thread.track).toBe(3);
  const scene = { layout, height: layout.height, scroll: 0 };
  expect(tracksBetween(scene, 0, layout.height)).toEqual([1, 3, 4]);
});

test("rows of another rank are moved with its tracks", () => {
  const moved = PROCESSES.map((one) => ({
    ...one,
    threads: one.threads.map((each) => ({ ...each, track: each.track + LANE_TRACKS })),
  }));
  const shown = replaceTracks([...PROCESSES, ...moved], [STREAMS], LANE_TRACKS);
  expect(shown.map(({ threads }) => threads.map(({ track }) => track % LANE_TRACKS))).toEqual([
    [1, 2],
    [3, 4],
    [1, 2],
    [3],
  ]);
  expect(shown[3]?.threads[0]).toMatchObject({
    rowTrack: STREAMS_TRACK + LANE_TRACKS,
    tracks: [3 + LANE_TRACKS, 4 + LANE_TRACKS],
  });
});

test("a pinned stream pins the merged one, once; unpinning it unpins all its streams", () => {
  const shown = replaceTracks(PROCESSES, [STREAMS], 0);
  const layout = layOut(shown, { ...STATE, pinned: [4, 3, 1] });
  expect(layout.pinned.map(({ thread: { track } }) => track)).toEqual([3, 1]);
  const merged = findTrack(shown, 3)?.thread ?? thread(0, "", 0);
  expect(togglePinned([4, 3, 1], merged)).toEqual([1]);
  expect(togglePinned([1], merged)).toEqual([1, 3]);
});

test("what is chosen is loaded once for a complete reading, and shown until it is chosen no more", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(askedOf(url).sources[0].layer);
    const answer = JSON.stringify({ replaced: [{ tracks: [3, 4], rows: 3, slices: 20 }] });
    return Promise.resolve(new Response(answer, { headers: { "Content-Type": "application/json" } }));
  });
  const chosen = signal<Packing[]>(["streams"]);
  const repacked = new RepackedRows(chosen);
  const tracks = () =>
    repacked.apply(PROCESSES, "s", "v", 0).flatMap(({ threads }) => threads.map(({ track }) => track));
  await repacked.load({ span: "s", version: "v", partial: 5 });
  expect([asked, tracks()]).toEqual([[], [1, 2, 3, 4]]);
  const reading = { span: "s", version: "v", partial: null };
  await Promise.all([repacked.load(reading), repacked.load(reading)]);
  expect([asked, tracks(), repacked.shownOf("s", "v")]).toEqual([["streams"], [1, 2, 3], ["streams"]]);
  expect(repacked.shownOf("s", "w")).toEqual([]);
  const before = repacked.loaded.value;
  chosen.value = [];
  expect([tracks(), repacked.shownOf("s", "v"), repacked.loaded.value === before]).toEqual([[1, 2, 3, 4], [], false]);
});
