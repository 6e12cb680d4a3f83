/** Words between the names of settings; the names are not translated. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/more than one rank/g, "多于一个 rank"],
  [/no schedule/g, "不设 schedule"],
  [/distributed training/g, "分布式训练"],
  [/Profiler\(\) in graph mode/g, "图模式下的 Profiler()"],
  [/Profiler\(\) on every rank/g, "每个 rank 上的 Profiler()"],
  [/-m all on databases/g, "对数据库执行 -m all"],
  [/ other than /g, " 不为 "],
  [/ with /g, " 含 "],
  [/; or /g, "；或 "],
  [/, or /g, "，或 "],
  [/ or /g, " 或 "],
  [/, (?![^[]*\])/g, "，"],
];

/** Chinese text for capture settings. */
export function optionInChinese(text: string): string {
  return WORDS.reduce((said, [english, chinese]) => said.replace(english, chinese), text);
}
