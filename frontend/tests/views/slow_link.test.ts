import { expect, test } from "vitest";
import type { LinkJson } from "../../src/api/types.gen";
import { slowLink } from "../../src/views/distributed/slow_link";

/** A link that moves `size` bytes at `speed` GB/s. */
function link(src: number, dst: number, speed: number, over: Partial<LinkJson> = {}): LinkJson {
  const size = over.size_bytes ?? 4_000_000;
  return {
    rank: src,
    step: "1",
    group: "g",
    op_type: "allreduce",
    src,
    dst,
    src_rank: src,
    dst_rank: dst,
    transport: "HCCS",
    size_bytes: size,
    time_ns: Math.round(size / speed),
    bandwidth: speed,
    ...over,
  };
}

const mesh = [link(0, 1, 10), link(1, 2, 10.1), link(2, 0, 9.9), link(1, 0, 10), link(0, 2, 10.2)];

test("a link well below the median of its like is named", () => {
  const found = slowLink([...mesh, link(2, 1, 2.5)]);
  expect(found).toMatchObject({ src: 2, dst: 1, peers: 6, transport: "HCCS", opType: "allreduce" });
  expect(found && [found.bandwidth, found.median]).toEqual([2.5, expect.closeTo(10, 2)]);
  expect(slowLink([...mesh, link(2, 1, 9)])).toBeNull();
  expect(slowLink([])).toBeNull();
});

test("pieces of other sizes, other transports and other operators are slower by nature", () => {
  expect(slowLink([...mesh, link(4, 5, 3, { size_bytes: 2_000_000 })])).toBeNull();
  expect(slowLink([...mesh, link(4, 5, 3, { transport: "RDMA" })])).toBeNull();
  expect(slowLink([...mesh, link(4, 5, 3, { op_type: "send" })])).toBeNull();
  expect(slowLink([...mesh, link(4, 4, 3, { transport: "LOCAL" })])).toBeNull();
});

test("too few bytes and too few links are not judged; what is unknown does not count", () => {
  const small = { size_bytes: 100_000 };
  expect(slowLink([...mesh.map((one) => ({ ...one, ...small, time_ns: 10_000 })), link(2, 1, 2, small)])).toBeNull();
  expect(slowLink([link(0, 1, 10), link(1, 0, 2)])).toBeNull();
  expect(slowLink([...mesh, link(2, 1, 2, { time_ns: null }), link(2, 1, 2, { transport: null })])).toBeNull();
});

test("links that scatter are no outliers", () => {
  expect(slowLink([4, 6, 8, 10, 12, 14].map((speed, at) => link(at, at + 1, speed)))).toBeNull();
});

test("several steps are one link; ranks are those of the group where nothing tells", () => {
  const local = { src_rank: null, dst_rank: null };
  const steps = ["1", "2"].flatMap((step) => [...mesh, link(2, 1, 4)].map((one) => ({ ...one, ...local, step })));
  expect(slowLink(steps)).toMatchObject({ src: 2, dst: 1, peers: 6, bandwidth: expect.closeTo(4, 3) });
});
