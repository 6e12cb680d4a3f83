import { expect, test } from "vitest";
import type { DistributedJson, LatePeer } from "../../src/api/types.gen";
import { latePeers, latePeerTexts } from "../../src/views/distributed/late_peers";

/** Steps "1" and "2", of 100 ns on each of ranks 0 and 1. */
function run(late_peers: LatePeer[], groups = ["g"]): DistributedJson {
  const parts = {
    computing: 40,
    overlapped: 0,
    communication_not_overlapped: 50,
    copying: null,
    free: 10,
    bubble: null,
    preparing: null,
    exposed_preparing: null,
  };
  const budgets = [0, 1].flatMap((rank) => ["1", "2"].map((step) => ({ rank, step, ...parts })));
  return { late_peers, groups, budgets } as unknown as DistributedJson;
}

function wait(rank: number, peer: number, ns: number, over: Partial<LatePeer> = {}): LatePeer {
  const sums = { total: ns, recoverable: ns, collectives: 1 };
  return { rank, step: "1", group: "g", operator: "allReduce_0", wait: ns, ...sums, peer, peer_rank: peer, ...over };
}

test("a rank that was not recorded is named by the longest wait for it", () => {
  const data = run([wait(0, 5, 30), wait(0, 5, 44, { operator: "allReduce_1" }), wait(1, 5, 28), wait(1, 6, 40)]);
  expect(latePeers(data, "1").map((one) => [one.longest.peer, one.longest.wait, one.seenBy])).toEqual([
    [5, 44, 2],
    [6, 40, 1],
  ]);
  expect(latePeerTexts(data, "1")[0]).toBe(
    "rank 5 (not profiled) arrives last: rank 0 waited up to 44.00 ns for it in allReduce_1. Confirmed by 2 of the profiled ranks.",
  );
});

test("waits of another step, and of little of it, are not told; all steps are those of each", () => {
  const data = run([wait(0, 5, 10), wait(0, 6, 30, { step: "2" })]);
  expect(latePeers(data, "1")).toEqual([]);
  expect(latePeers(data, "*").map((one) => one.longest.peer)).toEqual([6]);
  expect(latePeers(run([wait(0, 5, 50, { step: null })]), "-")).toEqual([]);
});

test("where nothing tells its number in the world, its group does; several groups may wait for each other", () => {
  const [text] = latePeerTexts(run([wait(0, 3, 30, { peer_rank: null })], ["g", "h"]), "1");
  expect(text).toContain(
    "rank 3 of group g (not profiled), or a rank of another group that it waits for, arrives last: rank 0 waited",
  );
});

test("the three that are waited for longest are named", () => {
  const data = run([20, 40, 30, 50].map((ns, peer) => wait(0, peer, ns)));
  expect(latePeers(data, "1").map((one) => one.longest.wait)).toEqual([50, 40, 30]);
});
