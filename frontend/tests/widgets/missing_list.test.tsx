import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { MissingList } from "../../src/widgets/states";

test("what is missing names its file", () => {
  const root = document.createElement("div");
  const item = {
    table: "kernels",
    file: "kernel_details.csv",
    title: "Kernels",
    views: ["kernel"],
    option: "",
    text: "Nothing in it could be read: see the problems.",
    texts: {},
  };
  act(() => render(<MissingList missing={[item, { ...item, table: "x", title: "", file: "x.csv" }]} />, root));
  const [named, untitled] = [...root.querySelectorAll("li")].map((line) => line.textContent);
  expect(named).toMatch(/^Kernels kernel_details\.csv Nothing/);
  expect(untitled).toMatch(/^x\.csv +Nothing/);
});
