/** Words of the Distributed view. */
export const en = {
  "distributed.title": "Distributed",
  "distributed.ranks": "Ranks profiled: {count}",
  "distributed.world": "{count} of {all} ranks profiled",
  "distributed.world.help":
    "Ranks of this run that have a capture, of all ranks of the job (from profiler_metadata.json, else the largest rank in the links)",
  "distributed.count.failed": "{count} could not be read",
  "distributed.count.missing": "{count} without data",
  "distributed.state.reading": "being read",
  "distributed.state.failed": "could not be read",
  "distributed.state.missing": "no data",
  "distributed.device": "device {device}",
  "distributed.step.all": "all steps",
  "distributed.order": "Order of the ranks",
  "distributed.order.rank": "by rank",
  "distributed.order.time": "longest first",
  "distributed.budget": "Step by rank",
  "distributed.budget.help":
    "Where the step went on the device of each rank. The figure is the step time: computing + exposed communication + copying + free. Click a rank to see its operators only.",
  "distributed.split": "Communication by rank",
  "distributed.split.help":
    "Elapsed time of all communication operators, which is the sum of its four parts. Operators that run at the same time count each.",
  "distributed.part.transit": "Transfer",
  "distributed.part.transit.help": "Data moves over the links",
  "distributed.part.wait": "Wait",
  "distributed.part.wait.help": "Waiting for other ranks, without synchronization",
  "distributed.part.synchronization": "Synchronization",
  "distributed.part.synchronization.help": "Waiting for peers before the first transfer",
  "distributed.part.idle": "Unattributed wait",
  "distributed.part.idle.help":
    "Neither transfer nor a known wait: elapsed − transfer − wait − synchronization. The files count waits for one neighbour only, so most waiting for a late rank is here.",
  "distributed.ops": "Communication operators",
  "distributed.ops.help":
    "Calls of one operator in one group and step. Bytes count each transfer once: SDMA is not added to the HCCS or PCIE that it contains.",
  "distributed.transports": "Transports",
  "distributed.transports.help": "Bytes and time of each kind of link, and the share of packets that are large",
  "distributed.link_use": "Use of the links",
  "distributed.link_use.help":
    "What the profiler sampled over the whole capture, whatever the step: sys_interconnection records PCIe and HCCS, sys_io the network card and RoCE. Average and peak are those of all traffic of the device; the curves are in the Trace view.",
  "distributed.late_peer":
    "{rank} (not profiled) arrives last: {observer} waited up to {time} for it in {operator}. Confirmed by {count} of the profiled ranks.",
  "distributed.late_peer.groups":
    "{rank} (not profiled), or a rank of another group that it waits for, arrives last: {observer} waited up to {time} for it in {operator}. Confirmed by {count} of the profiled ranks.",
  "distributed.late_peer.local": "rank {peer} of group {group}",
  "distributed.links": "Links",
  "distributed.links.help":
    "Traffic from the rank of the row to the rank of the column. Only profiled ranks have a row. Point at a cell to read all figures.",
  "distributed.links.slow":
    "Slow link: {src} → {dst}, {speed} GB/s, {share} below the median of it and {count} others that move as much ({type}).",
  "distributed.links.slow.more": "{count} more links are slow.",
  "distributed.links.slow.more.one": "1 more link is slow.",
  "distributed.links.groupRanks":
    "Numbers are ranks within the group: this capture does not say which ranks of the job they are.",
  "distributed.figure.bandwidth": "Bandwidth",
  "distributed.figure.size_bytes": "Size",
  "distributed.figure.time_ns": "Time",
  "distributed.figure.transport": "Transport",
  "distributed.op": "Operator type",
  "distributed.group": "Group",
  "distributed.local": "Within the device (LOCAL)",
  "distributed.local.help": "Copies of a rank to itself: no link is used",
  "distributed.none.title": "No communication",
  "distributed.none.single":
    "This run has one rank, and it recorded no communication between ranks. There is nothing to compare or to draw links of.",
  "distributed.none.communication": "The ranks of this run recorded no communication.",
  "distributed.none.yet": "No rank that is read so far recorded communication.",
  "distributed.none.figures": "The files do not give these figures.",
  "distributed.none.step": "nothing in this step",
  "distributed.none.links": "No links of this kind in this step.",
};

export const zh: Record<keyof typeof en, string> = {
  "distributed.title": "分布式",
  "distributed.ranks": "已采集 {count} 个 rank",
  "distributed.world": "已采集 {count} / {all} 个 rank",
  "distributed.world.help":
    "本次运行中有采集结果的 rank 数 / 作业的全部 rank 数（来自 profiler_metadata.json，否则取链路中最大的 rank）",
  "distributed.count.failed": "{count} 个无法读取",
  "distributed.count.missing": "{count} 个没有数据",
  "distributed.state.reading": "正在读取",
  "distributed.state.failed": "无法读取",
  "distributed.state.missing": "没有数据",
  "distributed.device": "设备 {device}",
  "distributed.step.all": "全部 step",
  "distributed.order": "rank 的顺序",
  "distributed.order.rank": "按 rank",
  "distributed.order.time": "最长在前",
  "distributed.budget": "各 rank 的迭代耗时",
  "distributed.budget.help":
    "每个 rank 的设备时间分布。数值为迭代耗时：计算 + 未被掩盖的通信 + 拷贝 + 空闲。单击某个 rank 只看它的算子。",
  "distributed.split": "各 rank 的通信耗时",
  "distributed.split.help": "所有通信算子的耗时，等于四部分之和。同时运行的算子分别计入。",
  "distributed.part.transit": "传输",
  "distributed.part.transit.help": "数据在链路上传输",
  "distributed.part.wait": "等待",
  "distributed.part.wait.help": "等待其他 rank，不含同步",
  "distributed.part.synchronization": "同步",
  "distributed.part.synchronization.help": "首次传输之前对其他 rank 的等待",
  "distributed.part.idle": "未归因等待",
  "distributed.part.idle.help":
    "既不是传输也不是已知等待的时间：总耗时 − 传输 − 等待 − 同步。文件只统计对一个相邻 rank 的等待，因此等待慢卡的大部分时间在这里。",
  "distributed.ops": "通信算子",
  "distributed.ops.help":
    "同一通信域、同一 step 中一个算子的所有调用。每次传输只计一次字节：SDMA 不与它包含的 HCCS 或 PCIE 相加。",
  "distributed.transports": "链路类型",
  "distributed.transports.help": "每类链路的字节数和时间，以及大包占比",
  "distributed.link_use": "链路利用",
  "distributed.link_use.help":
    "采集工具在整个采集期间的采样结果，与 step 无关：sys_interconnection 采集 PCIe 和 HCCS，sys_io 采集网卡和 RoCE。平均值和峰值包含设备的全部流量；曲线见 Trace 视图。",
  "distributed.late_peer":
    "{rank}（未采集）到达最晚：{observer} 在 {operator} 中等待它最长 {time}。已由 {count} 个 rank 证实。",
  "distributed.late_peer.groups":
    "{rank}（未采集）或它在另一个通信域中等待的 rank 到达最晚：{observer} 在 {operator} 中等待它最长 {time}。已由 {count} 个 rank 证实。",
  "distributed.late_peer.local": "通信域 {group} 内的 rank {peer}",
  "distributed.links": "链路",
  "distributed.links.help":
    "从行所示 rank 到列所示 rank 的流量。只有已采集的 rank 有对应的行。指针停在单元格上可看到全部数值。",
  "distributed.links.slow":
    "慢链路：{src} → {dst}，{speed} GB/s，比它与另外 {count} 条数据量相近的链路（{type}）的中位数低 {share}。",
  "distributed.links.slow.more": "另有 {count} 条慢链路。",
  "distributed.links.slow.more.one": "另有 1 条慢链路。",
  "distributed.links.groupRanks": "编号是通信域内的 rank：该采集结果没有说明它们是作业中的哪些 rank。",
  "distributed.figure.bandwidth": "带宽",
  "distributed.figure.size_bytes": "大小",
  "distributed.figure.time_ns": "时间",
  "distributed.figure.transport": "链路类型",
  "distributed.op": "算子类型",
  "distributed.group": "通信域",
  "distributed.local": "设备内（LOCAL）",
  "distributed.local.help": "rank 到自身的拷贝：不经过链路",
  "distributed.none.title": "没有通信",
  "distributed.none.single": "本次运行只有一个 rank，并且没有记录 rank 间通信，因此没有可对比的内容，也没有链路。",
  "distributed.none.communication": "本次运行的各 rank 没有记录通信。",
  "distributed.none.yet": "目前已读取的 rank 都没有记录通信。",
  "distributed.none.figures": "文件中没有这些数值。",
  "distributed.none.step": "该 step 中没有数据",
  "distributed.none.links": "该 step 中没有这类链路。",
};
