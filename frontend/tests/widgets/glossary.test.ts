import { expect, test } from "vitest";
import { isUsed } from "../../src/widgets/glossary";

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
