import { expect, test } from "vitest";
import { optionInChinese } from "../../src/i18n/options";

test("settings stay as they must be written, the words between are Chinese", () => {
  expect(optionInChinese("profiler_level=ProfilerLevel.Level1, more than one rank")).toBe(
    "profiler_level=ProfilerLevel.Level1，多于一个 rank",
  );
  expect(optionInChinese("activities=[ProfilerActivity.NPU, ...], profiler_level other than LevelNone")).toBe(
    "activities=[ProfilerActivity.NPU, ...]，profiler_level 不为 LevelNone",
  );
  expect(optionInChinese("data_process=True, no schedule; or --aicpu=on")).toBe(
    "data_process=True，不设 schedule；或 --aicpu=on",
  );
  expect(optionInChinese("-m all on databases")).toBe("对数据库执行 -m all");
  expect(optionInChinese("l2_cache=True")).toBe("l2_cache=True");
});
