import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { LoaderCard } from "../../src/views/data_pipeline/loader";

function text(steps_ns: number | null): string {
  const loader = { calls: 2, total_ns: 300_000_000, longest_ns: 160_000_000, steps_ns, source: "x.csv" };
  const root = document.createElement("div");
  act(() => render(<LoaderCard loader={loader} />, root));
  return root.textContent ?? "";
}

test("waiting for data is told first, with advice where it is much, and without a share where steps are unknown", () => {
  expect(text(320_000_000)).toMatch(/Input-bound: the host waited 150(\.000)? ms per batch, 93\.8 % .*num_workers/);
  expect(text(32_000_000_000)).toContain("The host waited 150.000 ms per batch, 0.9 % of step time");
  expect(text(3_000_000_000)).toContain("num_workers");
  expect(text(3_010_000_000)).not.toContain("num_workers");
  expect(text(null)).not.toContain("host waited 150");
});
