import { expect, test } from "vitest";
import { EN, type Key, ZH } from "../../src/i18n/dictionary";

const keys = Object.keys(EN) as Key[];
const blanks = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("both languages have the same keys", () => {
  expect(Object.keys(ZH).sort()).toEqual([...keys].sort());
});

test.each(keys)("%s: not empty, same blanks in both languages", (key) => {
  expect(EN[key].trim()).not.toBe("");
  expect(ZH[key].trim()).not.toBe("");
  expect(blanks(ZH[key])).toEqual(blanks(EN[key]));
});

test("no exclamation marks", () => {
  for (const key of keys) expect(EN[key] + ZH[key]).not.toMatch(/[!！]/);
});
