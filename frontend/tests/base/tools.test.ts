import { expect, test } from "vitest";
import { Latest } from "../../src/base/async";
import { Lru } from "../../src/base/lru";

test("the cache drops what was used longest ago", () => {
  const cache = new Lru<string, number>(2);
  cache.set("a", 4);
  cache.set("b", 4);
  expect(cache.get("a")).toBe(4);
  cache.set("c", 4);
  expect(cache.get("b")).toBeUndefined();
  expect(cache.get("a")).toBe(4);
  expect(cache.size).toBe(2);
});

test("only the newest task answers", async () => {
  const latest = new Latest();
  let finishFirst: (value: string) => void = () => {};
  const first = latest.run(() => new Promise<string>((resolve) => (finishFirst = resolve)));
  const second = latest.run(async () => "second");
  finishFirst("first");
  expect(await first).toBeUndefined();
  expect(await second).toBe("second");
});

test("errors of a task that was replaced vanish, those of the newest do not", async () => {
  const latest = new Latest();
  const first = latest.run(async (signal) => {
    await Promise.resolve();
    throw new Error(`aborted: ${signal.aborted}`);
  });
  const second = latest.run(async () => {
    throw new Error("mine");
  });
  await expect(first).resolves.toBeUndefined();
  await expect(second).rejects.toThrow("mine");
});
