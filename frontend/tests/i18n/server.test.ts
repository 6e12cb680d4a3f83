import { describe, expect, test } from "vitest";
import { SERVER_ZH, translate, translatePlaces } from "../../src/i18n/server";

const blanks = (text: string) => [...text.matchAll(/\{\d\}/g)].map(String).sort();

test.each(Object.entries(SERVER_ZH))("%s: Chinese, with the same blanks", (english, chinese) => {
  expect(chinese.trim()).not.toBe("");
  expect(blanks(chinese)).toEqual(blanks(english));
  expect(chinese).not.toMatch(/[!！]/);
});

describe("translate", () => {
  test("a text, and a name as it is", () => {
    expect(translate("Operators")).toBe("算子");
    expect(translate("aic_mac_ratio")).toBe("aic_mac_ratio");
  });

  test("what fills the blanks stays, unless it is a text itself", () => {
    expect(translate("Time that the matrix unit was busy on the cube cores.")).toBe("cube 核上矩阵单元的忙碌时间。");
  });
});

test("places keep the names of columns", () => {
  expect(translatePlaces("line 3, Name, line 9, Name and 2 more")).toBe("第 3 行, Name, 第 9 行, Name 等，另有 2 处");
  expect(translatePlaces("byte 812")).toBe("第 812 字节");
  expect(translatePlaces("")).toBe("");
});
