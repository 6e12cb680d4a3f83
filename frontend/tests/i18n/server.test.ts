import { describe, expect, test } from "vitest";
import { SERVER_ZH, translate, translatePlaces } from "../../src/i18n/server";

const blanks = (text: string) => [...text.matchAll(/\{\d\}/g)].map(String).sort();

test.each(Object.entries(SERVER_ZH))("%s: Chinese, with the same blanks", (english, chinese) => {
  expect(chinese.trim()).not.toBe("");
  expect(blanks(chinese)).toEqual(blanks(english));
  expect(chinese).not.toMatch(/[!！]/);
});

describe("translate", () => {
  test("takes two whole texts before one with blanks that would take in the first", () => {
    const cost = "Times by operator are rebuilt from the trace, where that is there.";
    const when = "Always written by the text export.";
    expect(translate(`${cost} ${when}`)).toBe(translate(cost) + translate(when));
    expect(translate(`${cost} ${when}`)).not.toMatch(/[a-z]{2,} [a-z]{2,}/);
  });

  test("a text, and a name as it is", () => {
    expect(translate("Ask again.")).toBe("请再次请求。");
    expect(translate("aic_mac_ratio")).toBe("aic_mac_ratio");
  });

  test("what fills the blanks stays, unless it is a text itself", () => {
    expect(translate("npu_module_mem.csv not found.")).toBe("npu_module_mem.csv 不存在。");
    expect(translate("Not in results of MindSpore Profiler up to 2.2 (MindInsight).")).toBe(
      "MindSpore 2.2 及更早版本的 Profiler（MindInsight） 的结果中没有。",
    );
    expect(translate("Time that the matrix unit was busy on the cube cores.")).toBe("cube 核上矩阵单元的忙碌时间。");
    expect(translate("a.csv is there. Nothing in it could be read: see the problems.")).toBe(
      "a.csv 存在。其中没有可以读取的内容：请查看问题列表。",
    );
  });

  test("two texts one after the other", () => {
    expect(translate("No timeline. Always written by the text export.")).toBe("没有时间线。导出 text 时总会写出。");
  });
});

test("places keep the names of columns", () => {
  expect(translatePlaces("line 3, Name, line 9, Name and 2 more")).toBe("第 3 行, Name, 第 9 行, Name 等，另有 2 处");
  expect(translatePlaces("byte 812")).toBe("第 812 字节");
  expect(translatePlaces("")).toBe("");
});
