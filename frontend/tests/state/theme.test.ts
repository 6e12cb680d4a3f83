import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitFor } from "../wait";
import { HostPage, leavePage, within } from "./fresh";

const load = () => import("../../src/state/theme");
const drawn = () => document.documentElement.dataset.theme;

beforeEach(() => localStorage.clear());
afterEach(() => {
  vi.unstubAllGlobals();
  leavePage();
  localStorage.clear();
  delete document.documentElement.dataset.theme;
});

test("the page follows TensorBoard's colours until the user chooses", async () => {
  const host = new HostPage();
  const { followTheme, chooseTheme } = await within(load, host);
  followTheme();
  expect(drawn()).toBe("light");
  host.document.body.className = "dark-mode";
  await waitFor(() => expect(drawn()).toBe("dark"));
  chooseTheme("light");
  expect(drawn()).toBe("light");
  chooseTheme("");
  expect(drawn()).toBe("dark");
});

test("without TensorBoard it follows the system, and its changes", async () => {
  const query = Object.assign(new EventTarget(), { matches: true });
  vi.stubGlobal("matchMedia", (text: string) => (text === "(prefers-color-scheme: dark)" ? query : null));
  const { followTheme } = await within(load);
  followTheme();
  expect(drawn()).toBe("dark");
  query.matches = false;
  query.dispatchEvent(new Event("change"));
  expect(drawn()).toBe("light");
});

test("a choice lasts; a stored value that is none does not count", async () => {
  (await within(load)).chooseTheme("dark");
  expect((await within(load)).theme.value).toBe("dark");
  localStorage.setItem("npu_profiler.theme", "purple");
  expect((await within(load)).themeChoice.value).toBe("");
});
