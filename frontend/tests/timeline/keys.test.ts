import { expect, test } from "vitest";
import { actionOf, helpRows, type KeyPress, takesText } from "../../src/timeline/keys";

function press(changes: Partial<KeyPress>): KeyPress {
  return { code: "", key: "", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...changes };
}

test("letters go by place, signs by what they write", () => {
  expect(actionOf(press({ code: "KeyW", key: "ц" }))).toBe("zoomIn");
  expect(actionOf(press({ code: "KeyD", key: "D", shiftKey: true }))).toBe("panRight");
  expect(actionOf(press({ code: "Slash", key: "?", shiftKey: true }))).toBe("help");
  expect(actionOf(press({ code: "Digit7", key: "/", shiftKey: true }))).toBe("search");
  expect(actionOf(press({ code: "Enter", key: "Enter", shiftKey: true }))).toBe("previousHit");
  expect(actionOf(press({ code: "KeyK", key: "k" }))).toBe("flag");
});

test("browser combinations are left alone, but for Ctrl 0", () => {
  for (const code of ["KeyF", "KeyP", "KeyW", "KeyA", "KeyS"]) {
    expect(actionOf(press({ code, ctrlKey: true }))).toBeNull();
    expect(actionOf(press({ code, metaKey: true }))).toBeNull();
    expect(actionOf(press({ code, altKey: true }))).toBeNull();
  }
  expect(actionOf(press({ code: "Digit0", ctrlKey: true }))).toBe("reset");
  expect(actionOf(press({ code: "Digit0" }))).toBeNull();
});

test("fields keep their keys", () => {
  expect(takesText(document.createElement("input"))).toBe(true);
  expect(takesText(document.createElement("select"))).toBe(true);
  expect(takesText(document.createElement("div"))).toBe(false);
  expect(takesText(null)).toBe(false);
});

test("every action is in the help", () => {
  const rows = helpRows();
  expect(rows.find((row) => row.action === "zoomIn")?.keys).toEqual(["W", "↑"]);
  expect(rows.every((row) => row.keys.length > 0)).toBe(true);
});
