import { expect, test } from "vitest";
import type { LinkJson } from "../../src/api/types.gen";
import { slowLinks } from "../../src/views/distributed/slow_link";
import { linkRow } from "./link_row";

/** A link that moves 4 MB at `speed` GB/s, or what `over` says. */
function link(src: number, dst: number, speed: number, over: Partial<LinkJson> = {}): LinkJson {
  const size_bytes = over.size_bytes ?? 4_000_000;
  return linkRow(src, dst, {
    size_bytes,
    time_ns: Math.round(size_bytes / speed),
    bandwidth: speed,
    calls: 4,
    ...over,
  });
}

const mesh = [link(0, 1, 10), link(1, 2, 10.1), link(2, 0, 9.9), link(1, 0, 10), link(0, 2, 10.2)];

const named = (links: LinkJson[]) => slowLinks(links).map((one) => `${one.src}-${one.dst}`);

test("a link well below the median of its like is named", () => {
  const [found] = slowLinks([...mesh, link(2, 1, 2.5)]);
  expect(found).toMatchObject({ src: 2, dst: 1, peers: 6, transport: "HCCS", opType: "allreduce" });
  expect(found && [found.bandwidth, found.median]).toEqual([2.5, expect.closeTo(10, 2)]);
  expect(named([...mesh, link(2, 1, 9)])).toEqual([]);
  expect(named([])).toEqual([]);
});

test("several are named, the slowest first; both directions and all types between two ranks are one", () => {
  const more = [link(3, 0, 10), link(0, 3, 10), link(3, 1, 10), link(1, 3, 10.1), link(3, 2, 3)];
  const send = [link(0, 1, 10), link(1, 2, 10), link(2, 1, 1)].map((one) => ({ ...one, op_type: "send" }));
  expect(named([...mesh, link(2, 1, 2.5), ...more])).toEqual(["2-1", "3-2"]);
  expect(named([...mesh.slice(2), ...more, link(2, 1, 2.5), link(1, 2, 2), ...send])).toEqual(["2-1", "3-2"]);
});

test("pieces of other sizes, other transports and other operators are slower by nature", () => {
  expect(named([...mesh, link(4, 5, 3, { size_bytes: 2_000_000 })])).toEqual([]);
  expect(named([...mesh, link(4, 5, 3, { transport: "RDMA" })])).toEqual([]);
  expect(named([...mesh, link(4, 5, 3, { op_type: "send" })])).toEqual([]);
  expect(named([...mesh, link(4, 4, 3, { transport: "LOCAL" })])).toEqual([]);
});

test("what moves as much in more pieces is slower, what moves more in pieces as large is not", () => {
  expect(named([...mesh, link(4, 5, 3, { calls: 40 })])).toEqual([]);
  expect(named([...mesh, link(4, 5, 3, { calls: 40, size_bytes: 40_000_000 })])).toEqual(["4-5"]);
  // Unknown: then as much in all.
  const unknown = mesh.map((one) => ({ ...one, calls: null }));
  expect(named([...unknown, link(4, 5, 3, { calls: null })])).toEqual(["4-5"]);
  expect(named([...unknown, link(4, 5, 3, { calls: null, size_bytes: 4_800_000 })])).toEqual([]);
  expect(named([...unknown, link(4, 5, 3)])).toEqual([]);
});

test("too few bytes and too few links are not judged; what is unknown does not count", () => {
  const small = { size_bytes: 100_000 };
  expect(named([...mesh.map((one) => ({ ...one, ...small, time_ns: 10_000 })), link(2, 1, 2, small)])).toEqual([]);
  expect(named([link(0, 1, 10), link(1, 0, 2)])).toEqual([]);
  expect(named([...mesh, link(2, 1, 2, { time_ns: null }), link(2, 1, 2, { transport: null })])).toEqual([]);
});

test("what a link loses counts, not how much it moves: more than healthy ones of real runs do", () => {
  const of = (size_bytes: number, slow: number) =>
    named([...mesh.map((one) => link(one.src, one.dst, 10, { size_bytes })), link(2, 1, slow, { size_bytes })]);
  // 30 us at 10 GB/s: 60 us are lost at a third of it, 30 at half.
  expect(of(300_000, 3.33)).toEqual(["2-1"]);
  expect(of(300_000, 5)).toEqual([]);
  expect(of(1_200_000, 7.5)).toEqual([]);
  expect(of(1_800_000, 7.5)).toEqual(["2-1"]);
  expect(of(60_000, 0.5)).toEqual([]);
});

test("links that scatter are no outliers", () => {
  expect(named([4, 6, 8, 10, 12, 14].map((speed, at) => link(at, at + 1, speed)))).toEqual([]);
});

test("several steps are one link; ranks are those of the group where nothing tells", () => {
  const local = { src_rank: null, dst_rank: null };
  const steps = ["1", "2"].flatMap((step) => [...mesh, link(2, 1, 4)].map((one) => ({ ...one, ...local, step })));
  expect(slowLinks(steps)).toMatchObject([{ src: 2, dst: 1, peers: 6, bandwidth: expect.closeTo(4, 3) }]);
});
