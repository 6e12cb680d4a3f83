import { expect, test } from "vitest";
import type { RunJson } from "../../src/api/types.gen";
import { roleLanes } from "../../src/views/overview/roles_card";

const BASE = 1_750_000_000_000_000_000n;

function worker(role: string, ...captures: ([number, number] | null)[]) {
  const spans = captures.map((times, at) => ({
    id: `${role} ${at}`,
    label: `step ${at}`,
    state: times ? "ready" : "new",
    device_ns: times?.map((time) => String(BASE + BigInt(time))) ?? null,
  }));
  return { role, spans };
}

const run = (...workers: object[]) => ({ workers }) as unknown as RunJson;

test("roles are lanes by their first task, and captures of ranks that overlap are one bar", () => {
  const lanes = roleLanes(
    run(
      worker("actor_update", [50, 80], [150, 180]),
      worker("actor_update", [52, 90], null),
      worker("rollout_generate", [10, 40], [100, 140]),
    ),
  );
  expect(lanes.map(({ role }) => role)).toEqual(["rollout_generate", "actor_update"]);
  expect(lanes[1]?.bars.map(({ start, end, captures }) => [start, end, captures])).toEqual([
    [40, 80, 2],
    [140, 170, 1],
  ]);
  expect(lanes[1]?.unread).toEqual(["actor_update 1"]);
});

test("a run without roles has no lanes", () => {
  expect(roleLanes(run(worker("", [1, 2]), worker("", [1, 2])))).toEqual([]);
});

test("roles that are not read come last", () => {
  const lanes = roleLanes(run(worker("e2e", null), worker("rollout_generate", [1, 2])));
  expect(lanes.map(({ role, unread }) => [role, unread.length])).toEqual([
    ["rollout_generate", 0],
    ["e2e", 1],
  ]);
});
