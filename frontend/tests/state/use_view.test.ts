import { describe, expect, it } from "vitest";
import type { ViewJson } from "../../src/api/types.gen";
import { isSame } from "../../src/state/use_view";

const answer: ViewJson = {
  view: "distributed",
  state: "ready",
  fingerprint: "a",
  base_ns: "0",
  data: { ranks: [{ state: "reading" }] },
  tables: {},
  problems: [],
  missing: [],
  progress: [],
} as unknown as ViewJson;

describe("isSame", () => {
  it("knows an answer of the same data again", () => {
    expect(isSame(answer, structuredClone(answer))).toBe(true);
  });

  it("sees other data, other ranks, new problems, and what only now is ready", () => {
    expect(isSame(answer, { ...answer, fingerprint: "b" })).toBe(false);
    expect(isSame(answer, { ...answer, data: { ranks: [{ state: "ready" }] } } as unknown as ViewJson)).toBe(false);
    expect(isSame(answer, { ...answer, problems: [{}] } as unknown as ViewJson)).toBe(false);
    const reading: ViewJson = { ...answer, state: "reading" };
    expect(isSame(reading, reading)).toBe(false);
  });
});
