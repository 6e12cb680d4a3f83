import { expect, test } from "vitest";
import { t } from "../../src/i18n";
import { type Key, TEXTS } from "../../src/i18n/dictionary";

const keys = Object.keys(TEXTS) as Key[];
const blanks = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test.each(keys)("%s: not empty, same blanks in both languages", (key) => {
  const { en, zh } = TEXTS[key];
  expect(en.trim()).not.toBe("");
  expect(zh.trim()).not.toBe("");
  expect(blanks(zh)).toEqual(blanks(en));
  expect(en + zh).not.toMatch(/[!！]/);
});

test("one thing is told in the singular", () => {
  expect(t("table.rows", { count: 1 })).toBe("1 row");
  expect(t("table.rows", { count: "1" })).toBe("1 row");
  expect(t("table.rows", { count: 2 })).toBe("2 rows");
  expect(t("trace.area.rows", { count: 1 })).toBe("1 row");
});
