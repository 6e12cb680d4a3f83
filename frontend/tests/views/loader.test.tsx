import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { LoaderCard } from "../../src/views/data_pipeline";

function text(steps_ns: number | null): string {
  const loader = { calls: 2, total_ns: 300_000_000, longest_ns: 160_000_000, steps_ns, source: "x.csv" };
  const root = document.createElement("div");
  act(() => render(<LoaderCard loader={loader} />, root));
  return root.textContent ?? "";
}

test("waiting for data is told first, without a share where steps are unknown", () => {
  expect(text(32_000_000_000)).toContain("The host waited 150.000 ms per batch, 0.9 % of step time");
  expect(text(null)).not.toContain("host waited 150");
});
