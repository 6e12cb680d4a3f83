import { expect, test } from "vitest";
import { t } from "../../src/i18n";
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

test("one thing is told in the singular", () => {
  expect(t("table.rows", { count: 1 })).toBe("1 row");
  expect(t("table.rows", { count: "1" })).toBe("1 row");
  expect(t("table.rows", { count: 2 })).toBe("2 rows");
  expect(t("trace.area.rows", { count: 1 })).toBe("1 row");
});

test("no exclamation marks", () => {
  for (const key of keys) expect(EN[key] + ZH[key]).not.toMatch(/[!！]/);
});
