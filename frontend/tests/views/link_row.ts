import type { Link } from "../../src/api/types.gen";

/** What rank `src` moved to rank `dst` in a step: 100 bytes in 10 ns, where `over` says nothing else. */
export function linkRow(src: number, dst: number, over: Partial<Link> = {}): Link {
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
    size_bytes: 100,
    time_ns: 10,
    bandwidth: 10,
    calls: null,
    ...over,
  };
}
