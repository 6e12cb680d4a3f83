import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { ProblemJson } from "../../src/api/types.gen";
import { ProblemList } from "../../src/widgets/problem_list";
import { ProblemBanner } from "../../src/widgets/states";

function problem(over: Partial<ProblemJson> = {}): ProblemJson {
  return {
    code: "bad_cell",
    file: "a.db",
    where: "TASK, startNs",
    expected: "a valid value",
    found: "soon",
    lost: "This row.",
    action: "Parse the raw data again.",
    count: 1,
    severity: "error",
    texts: {},
    ...over,
  };
}

function shown(problems: ProblemJson[]): HTMLElement {
  const root = document.createElement("div");
  act(() => render(<ProblemList problems={problems} />, root));
  return root;
}

test("the same at several places of a file is said once, with every place and the count of all", () => {
  const root = shown([problem({ count: 3 }), problem({ file: "b.db" }), problem({ where: "OP_MEMORY, size" })]);
  const [first, second, ...none] = root.querySelectorAll(".problem");
  expect(none).toHaveLength(0);
  expect(first?.textContent?.match(/This row\./g)).toHaveLength(1);
  expect(first?.textContent).toContain("4 times");
  expect([...(first?.querySelectorAll(".problem-places li") ?? [])].map((line) => line.textContent)).toEqual([
    "TASK, startNs: found soon · 3 times",
    "OP_MEMORY, size: found soon",
  ]);
  expect(second?.textContent).toContain("b.db TASK, startNs");
});

test("of many places the first are listed, the others on demand", () => {
  const root = shown(Array.from({ length: 9 }, (_, line) => problem({ where: `line ${line}` })));
  expect(root.querySelectorAll(".problem-places li")).toHaveLength(6);
  const more = root.querySelector("button");
  expect(more?.textContent).toBe("4 more places");
  act(() => more?.click());
  expect(root.querySelectorAll(".problem-places li")).toHaveLength(9);
});

test("what is lost or to be done otherwise is a problem of its own", () => {
  expect(shown([problem(), problem({ lost: "Nothing." })]).querySelectorAll(".problem")).toHaveLength(2);
});

test("the banner of a view leaves out what needs no action", () => {
  const root = document.createElement("div");
  const note = problem({ severity: "info", count: 7 });
  act(() => render(<ProblemBanner problems={[note]} />, root));
  expect(root.textContent).toBe("");
  act(() => render(<ProblemBanner problems={[note, problem()]} />, root));
  expect(root.querySelector(".banner .grow")?.textContent).toMatch(/^(1|One) problem/i);
});
