import type { ServerText } from "./texts.gen";

/** Exports of msprof and of msprof-analyze cluster. */
export const MSPROF = {
  "Cluster analysis": "集群分析",
  "Communication groups": "通信域",
  Index: "编号",
  "{0} Index": "{0} 编号",
  "Export it on a host with CANN: {0}": "请在装有 CANN 的主机上导出：{0}",
  "Exported unless --task-time=off.": "除非 --task-time=off，否则会导出。",
  "Exported where a database is asked for.": "要求导出数据库时导出。",
  "Exported where AI CPU tasks were profiled.": "采集 AI CPU 任务时导出。",
  "Exported where CANN's calls were profiled.": "采集 CANN 调用时导出。",
  "Exported where memory was profiled.": "采集内存时导出。",
  "Exported where operators were profiled.": "采集算子时导出。",
  "Exported where the L2 cache was profiled.": "采集 L2 缓存时导出。",
  "msprof's database": "msprof 数据库",
  "No rank can be told: neither {0} nor {1} nor {2} names one.": "无法得知 rank：{0}、{1} 和 {2} 中都没有。",
  "Nothing: the newer one is read.": "无损失：读取较新的文件。",
  "Place in {0}.": "在 {0} 中的位置。",
  "Rank that recorded it.": "记录它的 rank。",
  "Raw data of msprof that was never exported: there is no mindstudio_profiler_output with result files in it.":
    "未导出的 msprof 原始数据：没有含结果文件的 mindstudio_profiler_output。",
  "Remove the older files.": "请删除较旧的文件。",
  "Run msprof-analyze cluster again.": "请重新运行 msprof-analyze cluster。",
  "The rank, or the ranks of a stage.": "rank，或一个 stage 的所有 rank。",
  "Written from database results.": "由数据库结果生成。",
  "Written from text results.": "由 text 结果生成。",
  "a newer one beside it": "旁边有较新的文件",
  "one export": "一次导出",
  "rank or stage.": "rank 或 stage。",
} as const satisfies Partial<Record<ServerText, string>>;
