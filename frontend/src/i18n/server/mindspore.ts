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
  "a folder name that ends in {0}": "以 {0} 结尾的目录名",
  "kernels within the steps that the host marked": "位于主机标记的 step 之内的 kernel",
  "Which step these belong to: the profiler counts them to the last one; here they belong to none.":
    "它们属于哪个 step：采集工具把它们计入最后一个 step；这里不计入任何 step。",
  "Nothing to do: they ran before the step began to which they are counted.":
    "无需处理：它们在所计入的 step 开始之前就已执行。",
  "step {0}": "step {0}",
  "one process for a rank": "每个 rank 对应一个进程",
  "{0} processes that say rank {1}": "{0} 个进程都声称是 rank {1}",
  "Which rank this is. The processes are shown apart, by host, process and device.":
    "真实的 rank 编号。各进程按主机、进程和 device 分开显示。",
  "Create the profiler after the communication is initialised, or set RANK_ID.":
    "请在初始化通信之后再创建 profiler，或设置 RANK_ID。",
  "Parse the raw data again with the profiler's analyse function, or copy the file again.":
    "请用采集工具的 analyse 函数重新解析原始数据，或重新拷贝该文件。",
} as const satisfies Partial<Record<ServerText, string>>;
