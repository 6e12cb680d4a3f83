import type { ServerText } from "./texts.gen";

/** Texts about results of MindSpore: its columns, its files, what can be wrong with them. */
export const MINDSPORE = {
  "Full Name": "全名",
  "Name as recorded: the launching event, and the kernel.": "采集到的名称：下发事件与 kernel。",
  Scope: "作用域",
  "Where in the network: the scope of the launching event.": "在网络中的位置：下发事件的作用域。",
  "Number of the mark, from 0 in each capture.": "标记编号，每次采集从 0 开始。",
  "Start on the host.": "Host 侧开始时间。",
  "End on the host.": "Host 侧结束时间。",
  "Communication database": "通信数据库",
  "Written when databases are exported.": "导出数据库时写出。",
  "Operator shapes": "算子形状",
  "No shapes of the operators.": "没有算子的输入形状。",
  "Written by the text export when shapes are recorded.": "开启形状采集并以 text 导出时写出。",
  "Written by the text export when memory profiling is on and the host is profiled.":
    "开启内存采集、采集 Host 侧并以 text 导出时写出。",
  "Written by the text export when memory profiling is on.": "开启内存采集并以 text 导出时写出。",
  "Written by the text export when the NPU is profiled.": "采集 NPU 并以 text 导出时写出。",
  "step {0}": "step {0}",
} as const satisfies Partial<Record<ServerText, string>>;
