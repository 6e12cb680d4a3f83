import type { ServerText } from "./texts.gen";

/** Places in files. */
export const PLACES = {
  "byte {0}": "第 {0} 字节",
  "character {0}": "第 {0} 个字符",
  "event {0}": "第 {0} 个事件",
  "line {0}": "第 {0} 行",
  "{0} and {1} more": "{0} 等，另有 {1} 处",
} as const satisfies Partial<Record<ServerText, string>>;
