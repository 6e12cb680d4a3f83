import type { ServerText } from "./texts.gen";

/** Traces of torch.profiler on GPUs. */
export const KINETO = {
  Activity: "活动",
  Block: "Block",
  Bytes: "字节数",
  "Blocks per SM": "每个 SM 的 block 数",
  Correlation: "关联 ID",
  "Est. occupancy": "估计占用率",
  Grid: "Grid",
  Registers: "寄存器",
  "Shared memory": "共享内存",
  "Trace of torch.profiler": "torch.profiler 的 trace",
  "Warps per SM": "每个 SM 的 warp 数",
  "Bandwidth of a copy or set, as the profiler gives it.": "拷贝或置值的带宽，由采集工具给出。",
  "Blocks / multiprocessors.": "block 数 / 多处理器数。",
  "Blocks in each dimension.": "各维度的 block 数。",
  "Bytes that a copy or set moved.": "拷贝或置值的字节数。",
  "Id that it shares with the call that launched it.": "与下发它的调用共用的 ID。",
  "KERNEL, MEMCPY, MEMSET, or COMMUNICATION: kernels of NCCL.":
    "KERNEL、MEMCPY、MEMSET 或 COMMUNICATION（NCCL 的 kernel）。",
  "Kernel or copy.": "kernel 或拷贝。",
  "Kind of computation, by the kernel's name; unknown where that does not tell.":
    "计算的种类，由 kernel 名称判断；名称无法判断时未知。",
  "Occupancy that the profiler estimated, 0 to 100.": "采集工具估计的占用率，0 到 100。",
  "Registers of a thread.": "每个线程的寄存器数。",
  "Shared memory of a block.": "每个 block 的共享内存。",
  "Since everything before it on this GPU, any stream, has ended.": "距该 GPU 上（任意流）之前的活动全部结束的时间。",
  "Start on the GPU.": "在 GPU 上的开始时间。",
  "Step that launched it, by the host time of the launch.": "下发它的 step，按 Host 侧下发时间判断。",
  "Threads of a block in each dimension.": "block 各维度的线程数。",
  "Time on the GPU.": "在 GPU 上的时间。",
  "Warps / multiprocessors.": "warp 数 / 多处理器数。",
} as const satisfies Partial<Record<ServerText, string>>;
