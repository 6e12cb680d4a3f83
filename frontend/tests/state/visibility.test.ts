import { afterEach, expect, test, vi } from "vitest";
import { followVisibility, shown } from "../../src/state/visibility";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  window.dispatchEvent(new Event("resize"));
});

test("a tab without height is hidden, and so is a page in the background", () => {
  followVisibility();
  expect(shown.value).toBe(true);
  vi.stubGlobal("innerHeight", 0);
  window.dispatchEvent(new Event("resize"));
  expect(shown.value).toBe(false);
  vi.stubGlobal("innerHeight", 600);
  window.dispatchEvent(new Event("resize"));
  expect(shown.value).toBe(true);
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  document.dispatchEvent(new Event("visibilitychange"));
  expect(shown.value).toBe(false);
});
