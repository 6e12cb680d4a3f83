import { expect, test } from "vitest";
import { shellWord } from "../../src/widgets/shell_command";

test("a path is one word of a command", () => {
  expect(shellWord("/data/runs-1/a.b")).toBe("/data/runs-1/a.b");
  expect(shellWord("/data/my runs")).toBe("'/data/my runs'");
  expect(shellWord("/data/it's $HOME")).toBe("'/data/it'\\''s $HOME'");
  expect(shellWord("/数据")).toBe("'/数据'");
});
