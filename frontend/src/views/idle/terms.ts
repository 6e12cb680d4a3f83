/** Texts of the Idle view. */
export const en = {
  "idle.none": "No idle time: the trace has no steps on an NPU",
  "idle.causes": "Idle time by cause",
  "idle.causes.help":
    "The time of the steps in which the device neither computed nor communicated (Free). Each moment has one cause.",
  "idle.causes.help.iteration":
    "The time of the iterations in which the device neither computed nor communicated (Free). Each moment has one cause.",
  "idle.causes.help.capture":
    "The time of the capture in which the device neither computed nor communicated (Free). Each moment has one cause.",
  "idle.verdict": "{time} idle in {gaps} gaps, {share} of step time.",
  "idle.verdict.iteration": "{time} idle in {gaps} gaps, {share} of iteration time.",
  "idle.verdict.capture": "{time} idle in {gaps} gaps, {share} of the capture.",
  "idle.verdict.late": "The host launched late for {share} of it ({time}).",
  "idle.no_launches":
    "The trace has no launches of kernels, so it is unknown whether the host was late. To record them, set profiler_level=ProfilerLevel.Level1.",
  "idle.launches":
    "Launched in time: {before}. Unknown: {unknown}. {uncertain} are closer to the start of their gap than the clock error of host and device ({error}): they may be late or in time.",
  "idle.between": "Between the steps, before the first task of a step: {time} idle. It is not part of step time.",
  "idle.between.iteration": "Between the iterations: {time} idle. It is not part of iteration time.",
  "idle.all_steps": "All",
  "idle.by_cause": "By cause and launch",
  "idle.by_place": "By operator and Python function",
  "idle.by_place.help":
    "The operator that launched the task after the gap; for synchronization, garbage collection and data loading the one in which the host waited. Python functions need with_stack=True.",
  "idle.intervals": "Intervals",
  "idle.intervals.help": "Every gap, cut where its cause changes. A click on a row opens it in the trace.",
  "idle.queues": "Launches by stream",
  "idle.queues.help":
    "Latency: from the start of a launch to the start of its task. Empty queue: no launched task was waiting, so the device waited for the host or was about to.",
  "idle.queue":
    "{tasks} tasks; empty queue at launch: {empty}; launch latency: median {p50}, max {max}; queue length: median {length}, max {most}",
  "idle.launch.late": "late",
  "idle.launch.before": "in time",
  "idle.launch.unknown": "unknown",
  "idle.cause.garbage_collection.help": "Python collected garbage while the next task was not launched.",
  "idle.cause.data_loading.help": "The host waited for the next batch.",
  "idle.cause.communication.help": "Communication tasks ran outside any communication operator.",
  "idle.cause.allocator.help": "The host allocated or freed device memory.",
  "idle.cause.compile.help": "The host compiled operators.",
  "idle.cause.synchronization.help": "The host waited until the device was done, and had nothing launched.",
  "idle.cause.host_late.help": "The launch of the next task began after the gap did, for none of the reasons above.",
  "idle.cause.dependency.help": "The next task was launched; copies or events before it on its stream ran.",
  "idle.cause.launch_call.help": "The host was inside the call that launches the next task (GPU traces).",
  "idle.cause.launch_overhead.help": "Gaps below 20 µs before a task that was launched in time.",
  "idle.cause.unknown.help":
    "Nothing that was recorded explains it. With aic_metrics, the profiler itself reads counters between kernels.",
} as const;

export const zh: Record<keyof typeof en, string> = {
  "idle.none": "没有空闲时间：trace 中没有 NPU 上的 step",
  "idle.causes": "空闲时间（按原因）",
  "idle.causes.help": "step 中设备既不计算也不通信的时间（Free）。每个时刻只有一个原因。",
  "idle.causes.help.iteration": "各次迭代中设备既不计算也不通信的时间（Free）。每个时刻只有一个原因。",
  "idle.causes.help.capture": "采集中设备既不计算也不通信的时间（Free）。每个时刻只有一个原因。",
  "idle.verdict": "空闲 {time}，共 {gaps} 段，占迭代耗时的 {share}。",
  "idle.verdict.iteration": "空闲 {time}，共 {gaps} 段，占迭代耗时的 {share}。",
  "idle.verdict.capture": "空闲 {time}，共 {gaps} 段，占采集时长的 {share}。",
  "idle.verdict.late": "其中 {share}（{time}）因 Host 侧下发晚。",
  "idle.no_launches":
    "trace 中没有 kernel 的下发，因此不知道 Host 侧是否下发晚。如需采集，请设置 profiler_level=ProfilerLevel.Level1。",
  "idle.launches":
    "及时下发：{before}。未知：{unknown}。其中 {uncertain} 的下发时刻与空闲起点之差小于 Host 与 Device 的时钟误差（{error}），可能晚也可能及时。",
  "idle.between": "step 之间（step 的首个任务之前）空闲 {time}，不计入迭代耗时。",
  "idle.between.iteration": "迭代之间空闲 {time}，不计入迭代耗时。",
  "idle.all_steps": "全部",
  "idle.by_cause": "按原因和下发",
  "idle.by_place": "按算子和 Python 函数",
  "idle.by_place.help":
    "下发空闲之后首个任务的算子；对于同步、垃圾回收和数据加载，为 Host 侧等待所在的算子。Python 函数需要 with_stack=True。",
  "idle.intervals": "空闲区间",
  "idle.intervals.help": "所有空闲段，在原因变化处切开。点击一行可在时间线中打开。",
  "idle.queues": "各 stream 的下发",
  "idle.queues.help":
    "时延：从下发开始到任务开始。队列为空：下发时没有已下发而等待执行的任务，设备正在或即将等待 Host。",
  "idle.queue":
    "{tasks} 个任务；下发时队列为空：{empty}；下发时延：中位数 {p50}，最大 {max}；队列长度：中位数 {length}，最大 {most}",
  "idle.launch.late": "晚",
  "idle.launch.before": "及时",
  "idle.launch.unknown": "未知",
  "idle.cause.garbage_collection.help": "下一个任务尚未下发时，Python 在进行垃圾回收。",
  "idle.cause.data_loading.help": "Host 侧在等待下一个批次。",
  "idle.cause.communication.help": "通信任务在通信算子之外运行。",
  "idle.cause.allocator.help": "Host 侧在申请或释放设备内存。",
  "idle.cause.compile.help": "Host 侧在编译算子。",
  "idle.cause.synchronization.help": "Host 侧等待设备执行完毕，且没有已下发的任务。",
  "idle.cause.host_late.help": "下一个任务在空闲开始之后才下发，且不属于以上原因。",
  "idle.cause.dependency.help": "下一个任务已下发；同一 stream 上它之前的拷贝或事件在执行。",
  "idle.cause.launch_call.help": "Host 侧处于下发下一个任务的调用中（GPU trace）。",
  "idle.cause.launch_overhead.help": "及时下发的任务之前小于 20 µs 的空闲。",
  "idle.cause.unknown.help": "采集的数据无法解释。设置 aic_metrics 时，采集工具自身会在 kernel 之间读取计数器。",
};
