import { render } from "preact";
import { expect, test, vi } from "vitest";
import { NoRows } from "../../src/widgets/table/filters";

function drawn(filters: Parameters<typeof NoRows>[0]["filters"]): HTMLElement {
  const box = document.body.appendChild(document.createElement("div"));
  render(<NoRows filters={filters} />, box);
  return box;
}

test("each filter that leaves no row can be taken away, or all of them", () => {
  const [words, change] = [vi.fn(), vi.fn()];
  const box = drawn([
    { label: "words: foo", clear: words },
    { label: "Changed: slower", clear: change },
  ]);
  expect(box.textContent).toContain("words: foo");
  box.querySelector<HTMLElement>("[aria-label='Clear the filter Changed: slower']")?.click();
  expect([words.mock.calls.length, change.mock.calls.length]).toEqual([0, 1]);
  [...box.querySelectorAll("button")].find((button) => button.textContent === "Clear all")?.click();
  expect([words.mock.calls.length, change.mock.calls.length]).toEqual([1, 2]);
});

test("one filter needs no button for all", () => {
  const box = drawn([{ label: "rank 3", clear: () => {} }]);
  expect(box.querySelectorAll("button")).toHaveLength(1);
});
