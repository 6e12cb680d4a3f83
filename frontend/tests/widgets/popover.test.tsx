import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { Popover } from "../../src/widgets/popover";

function opened(): HTMLElement {
  const root = document.body.appendChild(document.createElement("div"));
  act(() => render(<Popover label="Columns">{() => <p>inside</p>}</Popover>, root));
  act(() => root.querySelector("button")?.click());
  expect(root.querySelector(".popover")?.textContent).toBe("inside");
  return root;
}

test("what scrolls inside a panel leaves it open, what scrolls beside it closes it", () => {
  const root = opened();
  act(() => void root.querySelector(".popover p")?.dispatchEvent(new Event("scroll")));
  expect(root.querySelector(".popover")).not.toBeNull();
  act(() => void document.body.dispatchEvent(new Event("scroll")));
  expect(root.querySelector(".popover")).toBeNull();
});
