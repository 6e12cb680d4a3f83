import { afterEach, describe, expect, test } from "vitest";
import { VIEW_IDS } from "../../src/api/types.gen";
import { chooseLang } from "../../src/i18n";
import { VENDOR_WORDS } from "../../src/i18n/vendor_words.gen";
import { isUsed, vendorWords } from "../../src/widgets/glossary";
import { withVendorWords } from "../../src/widgets/vendor";

test.each([
  ["free (idle)", "Free: nothing runs on the device.", true],
  ["free (idle)", "the idle time of each rank", true],
  ["wait", "Unattributed wait, in ms", true],
  ["wait", "the rank that others awaited", false],
  ["慢卡", "其他 rank 等待的慢卡", true],
  ["空闲", "计算与通信", false],
])("term %s in “%s”: %s", (term, text, expected) => {
  expect(isUsed(term, text)).toBe(expected);
});

describe("words of the vendor's documents", () => {
  afterEach(() => chooseLang("en"));

  test.each(VIEW_IDS)("%s is reached by one in each language, and its entry in the sidebar names one", (view) => {
    const words = VENDOR_WORDS.filter((item) => item.view === view);
    expect(words.some((item) => item.words.en.length > 0)).toBe(true);
    expect(words.some((item) => item.words.zh.length > 0)).toBe(true);
    expect(withVendorWords("", "view", view)).toContain("In the vendor's documents: ");
  });

  test.each([
    ["Step Tail", "step_trace"],
    ["迭代拖尾", "step_trace"],
    ["view callstack", "operator"],
    ["Communication(Not Overlapped)", "overview"],
    ["快慢卡", "distributed"],
    ["专家建议", "overview"],
    ["性能比对", "diff"],
    ["Group By Statistic", "kernel"],
  ])("%s leads to %s", (word, view) => {
    expect(vendorWords(word).map((item) => item.view)).toEqual([view]);
  });

  test("a word stands once in a language, or a search leads to two places", () => {
    for (const language of ["en", "zh"] as const) {
      const forms = VENDOR_WORDS.flatMap(({ words }) => words[language]);
      expect(forms.filter((form, at) => forms.indexOf(form) !== at)).toEqual([]);
    }
  });

  test("a column's tooltip names those of the language, without what equals our word", () => {
    expect(withVendorWords("Tip.", "tail_ns")).toBe("Tip.\n\nIn the vendor's documents: Step Tail, Parameter Update");
    chooseLang("zh-CN");
    expect(withVendorWords("", "tail_ns")).toBe("厂商文档中：迭代拖尾、参数更新");
    expect(withVendorWords("Tip.", "baseline_calls")).toBe("Tip.\n\n厂商文档中：Baseline");
    chooseLang("en");
    expect(withVendorWords("Tip.", "baseline_calls")).toBe("Tip.");
    expect(withVendorWords("Tip.", "hit_rate")).toBe("Tip.");
  });
});
