import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError, getJson } from "../../src/api/client";

const answers: Response[] = [];
const asked = vi.fn(async () => answers.shift() as Response);

const json = (content: unknown, status: number, headers: HeadersInit = {}) =>
  new Response(JSON.stringify(content), { status, headers });
const refused = () =>
  json({ code: "refused", message: "no descriptors", hint: "", texts: {} }, 503, { "Retry-After": "1" });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", asked);
  answers.length = 0;
  asked.mockClear();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("sends a request again that the server refused for now", async () => {
  answers.push(refused(), refused(), json({ a: 1 }, 200));
  const found = getJson("catalog");
  await vi.advanceTimersByTimeAsync(1_900);
  expect(asked).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(200);
  expect(await found).toEqual({ a: 1 });
});

it("shows the refusal when it lasts", async () => {
  answers.push(...Array.from({ length: 9 }, refused));
  const failed = getJson("catalog").catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await failed).toMatchObject({ code: "refused", status: 503 });
  expect(asked).toHaveBeenCalledTimes(6);
});

it("does not send again what waits for reading, or was aborted", async () => {
  answers.push(json({ code: "not_ready", message: "", hint: "", texts: {} }, 503));
  await expect(getJson("timeline/derived")).rejects.toBeInstanceOf(ApiError);
  const stop = new AbortController();
  answers.push(refused(), json({}, 200));
  const failed = getJson("catalog", {}, stop.signal).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(500);
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await failed).toMatchObject({ name: "AbortError" });
  expect(asked).toHaveBeenCalledTimes(2);
});
