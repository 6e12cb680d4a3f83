import type { ServerText } from "./texts.gen";

/** Folders that were not taken, wrong settings and requests; places in files. */
export const PROBLEMS = {
  TB_NPU_SCAN_THREADS: "TB_NPU_SCAN_THREADS",
  "Check the disk or the mount that it is on. It is looked at again by itself.":
    "请检查其所在的磁盘或挂载点。稍后会自动重新扫描。",
  "Filter by fewer words.": "请减少筛选词。",
  "Give fewer conditions.": "请减少条件。",
  "Named as a result file, but it is {0}.": "名称是结果文件，但实际是{0}。",
  "Named as a result folder, but it is no folder.": "名称是结果目录，但实际不是目录。",
  "Named as a trace of torch.profiler, but its name does not end in .pt.trace.json or .pt.trace.json.gz.":
    "名称像 torch.profiler 的 trace，但不以 .pt.trace.json 或 .pt.trace.json.gz 结尾。",
  "No permission to read this file.": "没有读取该文件的权限。",
  "Put the file itself there, or remove it.": "请将文件本身放在此处，或将其删除。",
  'Set it to "c" or "python", or unset {0}.': '请设为 "c" 或 "python"，或取消设置 {0}。',
  "Set it to a positive number, or unset {0}.": "请设为正整数，或取消设置 {0}。",
  "Skipped for now: the file system does not answer.": "暂时跳过：文件系统没有响应。",
  "Unpack it, or give it its own name again.": "请将其解压，或恢复原来的文件名。",
  "Unpack or copy the result folder itself.": "请解压或复制结果目录本身。",
  "Unset {0} to read in Python, or install a C compiler and install tb-npu-plugin again.":
    "取消设置 {0} 以使用 Python 读取，或安装 C 编译器后重新安装 tb-npu-plugin。",
  "the filter has more than {0} words": "筛选条件超过 {0} 个词",
  "there are more than {0} conditions": "条件超过 {0} 个",
  "{0} is {1}": "{0} 的值为 {1}",
  "{0} is {1}, but the C code was not built: {2}": "{0} 的值为 {1}，但 C 代码未构建：{2}",

  // Places.
  "byte {0}": "第 {0} 字节",
  "character {0}": "第 {0} 个字符",
  "event {0}": "第 {0} 个事件",
  "line {0}": "第 {0} 行",
  "{0} and {1} more": "{0} 等，另有 {1} 处",
} as const satisfies Partial<Record<ServerText, string>>;
