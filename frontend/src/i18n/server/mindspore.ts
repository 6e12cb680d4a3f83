import type { ServerText } from "./texts.gen";

/** MindSpore results: columns, files, problems. */
export const MINDSPORE = {
  "Full Name": "全名",
  "Name as recorded: the launching event, and the kernel.": "采集到的名称：下发事件与 kernel。",
  Scope: "作用域",
  "Where in the network: the scope of the launching event.": "在网络中的位置：下发事件的作用域。",
  "Number of the mark, from 0 in each capture.": "标记编号，每次采集从 0 开始。",
  "Start on the host.": "Host 侧开始时间。",
  "End on the host.": "Host 侧结束时间。",
  "Communication database": "通信数据库",
  "Operator shapes": "算子形状",
  "step {0}": "step {0}",
} as const satisfies Partial<Record<ServerText, string>>;
