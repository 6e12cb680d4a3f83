import { describe, expect, test } from "vitest";
import { chooseLang, placesOf, textAt, textOf, viewTitle } from "../../src/i18n";
import { sayMessage } from "../../src/i18n/messages";

describe("sayMessage", () => {
  const cells = { code: "found.cells", params: { count: 3, row: "a,{b},$&" } };

  test("the template of the language with its parameters, which stay as they are", () => {
    expect(sayMessage(cells, "en")).toBe("3 cells: a,{b},$&");
    expect(sayMessage(cells, "zh-CN")).toBe("3 个单元格：a,{b},$&");
  });

  test("a parameter may be a message", () => {
    const nested = { code: "found.cells", params: { count: 1, row: { code: "found.folder", params: {} } } };
    expect(sayMessage(nested, "zh-CN")).toBe("1 个单元格：一个目录");
  });

  test("none for a code of a newer server", () => {
    expect(sayMessage({ code: "found.later", params: {} }, "en")).toBeUndefined();
  });
});

test("textOf: a message in the language of the page, data as they are", () => {
  const texts = { lost: { code: "lost.row", params: {} }, action: { code: "action.later", params: {} } };
  const problem = { lost: "This row.", found: "a,b", action: "Later.", texts };
  chooseLang("zh-CN");
  expect([textOf(problem, "lost"), textOf(problem, "found"), textOf(problem, "action")]).toEqual([
    "该行。",
    "a,b",
    "Later.",
  ]);
  chooseLang("en");
  expect(textOf(problem, "lost")).toBe("This row.");
});

test("textAt: the n-th text of a list", () => {
  const answer = { tables: ["Kernels", "later"], texts: { "tables.0": { code: "file.kernels", params: {} } } };
  chooseLang("zh-CN");
  expect([textAt(answer, "tables", 0), textAt(answer, "tables", 1)]).toEqual(["Kernel", "later"]);
  chooseLang("en");
});

test("placesOf: places keep the names of columns", () => {
  const places = "line 3, Name, byte 9";
  const where = { code: "place.more", params: { places, more: 2 } };
  chooseLang("zh-CN");
  expect(placesOf({ where: "", texts: {} })).toBe("");
  expect(placesOf({ where: places, texts: {} })).toBe("第 3 行, Name, 第 9 字节");
  expect(placesOf({ where: `${places} and 2 more`, texts: { where } })).toBe("第 3 行, Name, 第 9 字节 等，另有 2 处");
  expect(viewTitle("memory")).toBe("内存");
  expect(viewTitle("later")).toBe("later");
  chooseLang("en");
});
