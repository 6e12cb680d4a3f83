import type { ProcessJson, ThreadJson } from "../../src/api/types.gen";
import type { SliceRow } from "../../src/timeline/decode";
import { laneOffset } from "../../src/timeline/lanes";

/** The container of docs/http_api.md, as the server writes it. */
export function frame(
  header: Record<string, unknown>,
  columns: Record<string, { type: "u32" | "f64"; values: number[]; less?: string[] }>,
): ArrayBuffer {
  const entries: Record<string, unknown[]> = {};
  let size = 0;
  for (const [name, { type, values, less }] of Object.entries(columns)) {
    entries[name] = less ? ["packed", size, values.length, less] : [type, size, values.length];
    size += Math.ceil((values.length * (type === "u32" ? 4 : 8)) / 8) * 8;
  }
  let text = JSON.stringify({ ...header, columns: entries });
  while ((8 + new TextEncoder().encode(text).length) % 8) text += " ";
  const bytes = new TextEncoder().encode(text);
  const buffer = new ArrayBuffer(8 + bytes.length + size);
  const view = new DataView(buffer);
  view.setUint32(0, 0x5542504e, true);
  view.setUint32(4, bytes.length, true);
  new Uint8Array(buffer, 8).set(bytes);
  for (const [name, { type, values, less }] of Object.entries(columns)) {
    const start = 8 + bytes.length + (entries[name]?.[1] as number);
    values.forEach((value, index) => {
      if (less) {
        const rest = less.reduce(
          (left, other) => left - ((other === name ? values[index - 1] : columns[other]?.values[index]) ?? 0),
          value,
        );
        for (let byte = 0; byte < 4; byte++) view.setUint8(start + byte * values.length + index, rest >>> (8 * byte));
      } else if (type === "u32") view.setUint32(start + index * 4, value, true);
      else view.setFloat64(start + index * 8, value, true);
    });
  }
  return buffer;
}

/** Start, end, name index, slices merged, their time and the longest of them; time that waits and name index of the longest that does not. */
export type BarTuple = [number, number, number?, number?, number?, number?, number?, number?];

/** A row of bars; `bin`: ns that its bins are wide. */
export function row(bars: BarTuple[], names = ["a", "b", "c"], bin = 1): SliceRow {
  const column = (pick: (bar: BarTuple, index: number) => number) => Uint32Array.from(bars.map(pick));
  return {
    row: 0,
    origin: 0,
    unit: 1,
    bin,
    names,
    categories: names.map(() => ""),
    meanings: [],
    start: column((bar) => bar[0]),
    end: column((bar) => bar[1]),
    dur: column((bar) => bar[5] ?? bar[4] ?? bar[1] - bar[0]),
    busy: column((bar) => bar[4] ?? bar[1] - bar[0]),
    id: column((_, index) => index + 100),
    firstId: 0,
    name: column((bar) => bar[2] ?? 0),
    count: column((bar) => bar[3] ?? 1),
    work: column((bar) => bar[7] ?? bar[2] ?? 0),
    wait: bars.some((bar) => bar[6]) ? column((bar) => bar[6] ?? 0) : new Uint32Array(0),
    far: new Map(),
  };
}

export function thread(track: number, name: string, rows = 1, kind: ThreadJson["kind"] = "slices"): ThreadJson {
  return { track, name, tid: String(track), kind, rows, slices: 1, unit: "", max_value: null };
}

export function process(name: string, ...threads: ThreadJson[]): ProcessJson {
  return { name, pid: "1", label: "", threads };
}

/** Numbers of tracks and of slices in a lane. */
export const { track: LANE_TRACKS, slice: LANE_SLICES } = laneOffset(1, 0);

/** The question of a request. */
export const askedOf = (url: string) => JSON.parse(new URL(url, "http://x").searchParams.get("query") ?? "{}");
