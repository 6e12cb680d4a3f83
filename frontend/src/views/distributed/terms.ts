/** Texts of the Distributed view. */
export const en = {
  "distributed.title": "Distributed",
  "distributed.ranks": "Ranks profiled: {count}",
  "distributed.world": "{count} of {all} ranks profiled",
  "distributed.world.help":
    "Profiled ranks of this run, of all ranks of the job (from profiler_metadata.json, else the largest rank in the links)",
  "distributed.count.failed": "{count} could not be read",
  "distributed.count.missing": "{count} without data",
  "distributed.state.reading": "being read",
  "distributed.state.failed": "could not be read",
  "distributed.state.missing": "no data",
  "distributed.device": "device {device}",
  "distributed.step.all": "all steps",
  "distributed.step.all.iteration": "all iterations",
  "distributed.order": "Order of the ranks",
  "distributed.order.rank": "by rank",
  "distributed.order.time": "longest first",
  "distributed.budget": "Step by rank",
  "distributed.budget.iteration": "Iteration by rank",
  "distributed.budget.help":
    "Where the step went on the device of each rank. The figure is the step time: computing + exposed communication + copying + free. Click a rank to see its operators only.",
  "distributed.budget.help.iteration":
    "Where the iteration went on the device of each rank. The figure is the iteration time: computing + exposed communication + copying + free. Click a rank to see its operators only.",
  "distributed.split": "Communication by rank",
  "distributed.split.help":
    "Elapsed time of all communication operators: the sum of its parts. Concurrent operators each count in full.",
  "distributed.part.before_transfer.help": "Before the first transfer, without the waiting for the last rank",
  "distributed.part.transfer.help": "Data moves over the links of the main plane",
  "distributed.part.small_packets.help":
    "Transfer in packets below 16 MB (RDMA: 1 MB), which do not reach the bandwidth of the link",
  "distributed.part.rest.help":
    "Neither of these. Where it is unknown which rank arrives last, the waiting for it is here, too: it needs the trace, from Level1, or two profiled ranks with two collectives in common.",
  "distributed.arrivals": "Arrival at a collective",
  "distributed.arrivals.sub": "{unit} after the first rank",
  "distributed.arrivals.help":
    "When each rank of the group started the collective. Profiled ranks by their start, with clocks aligned by the ends of the collectives; other ranks by the time at which profiled ranks stop waiting for them. A dash: no profiled rank shows it.",
  "distributed.arrivals.choose": "Collective",
  "distributed.arrivals.start": "profiled",
  "distributed.arrivals.before": "at this time or earlier: no profiled rank waits for it",
  "distributed.arrivals.wait": "not profiled: a profiled rank waits for it until then",
  "distributed.arrivals.unknown": "not profiled, and no profiled rank shows when it arrives",
  "distributed.arrivals.clock":
    "Clock offset rank {rank} − rank {reference}: {offset} ({low} … {high}, {count} collectives)",
  "distributed.arrivals.clocks": "Clocks of {count} ranks are aligned by the ends of collectives, error up to {error}",
  "distributed.ops": "Communication operators",
  "distributed.ops.help":
    "Calls of one operator in one group and step. Bytes count each transfer once: SDMA is not added to the HCCS or PCIE that it contains.",
  "distributed.experts": "Experts",
  "distributed.experts.help":
    "Time of the matrix products of experts (MoE) on each rank, in the order of the layers. It is time, not load: the files hold no counts of tokens, and small decode batches follow the number of active experts.",
  "distributed.calls": "Calls",
  "distributed.calls.help":
    "Each communication operator as in the file; Wait includes Synchronization. Click a rank to choose it.",
  "distributed.packets": "Packets",
  "distributed.packets.help":
    "Size distribution: packets of each size that an operator sent over a transport, and their time",
  "distributed.matrix": "Operators on links",
  "distributed.matrix.help":
    "For each operator type and link: the operators with the highest, median and lowest bandwidth, and the total. Numbers are ranks within the group.",
  "distributed.transports": "Transports",
  "distributed.transports.help": "Bytes and time of each kind of link, and the share of packets that are large",
  "distributed.link_use": "Use of the links",
  "distributed.link_use.help":
    "Sampled over the whole capture, not per step: sys_interconnection records PCIe and HCCS, sys_io the network card and RoCE. Average and peak cover all traffic of the device; the Trace view shows the curves.",
  "distributed.links": "Links",
  "distributed.links.help":
    "Traffic from the rank of the row to the rank of the column. Only profiled ranks have a row. Point at a cell to read all figures.",
  "distributed.links.groupRanks":
    "Numbers are ranks within the group: this capture does not map them to ranks of the job.",
  "distributed.figure.bandwidth": "Bandwidth",
  "distributed.figure.size_bytes": "Size",
  "distributed.figure.time_ns": "Time",
  "distributed.figure.transport": "Transport",
  "distributed.op": "Operator type",
  "distributed.group": "Group",
  "distributed.local": "Within the device (LOCAL)",
  "distributed.local.help": "Copies within a rank: no link is used",
  "distributed.none.title": "No communication",
  "distributed.none.single": "This run has one rank, and it recorded no communication between ranks.",
  "distributed.none.communication": "The ranks of this run recorded no communication.",
  "distributed.none.yet": "No rank loaded so far recorded communication.",
  "distributed.none.figures": "The files do not hold these figures.",
  "distributed.none.step": "nothing here",
  "distributed.none.links": "No links of this kind in this step.",
  "distributed.none.range": "No communication operator of known time overlaps the range.",
  "distributed.range": "in the range",
  "distributed.range.budget": "Device by rank",
  "distributed.range.budget.help":
    "What the device of each rank did in the range, by the clock of the rank. The figure is the time from its first to its last task inside the range.",
  "distributed.range.links":
    "Unknown for a range: the files hold links as totals of a step, and the use of the links as that of the whole capture.",
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
  "distributed.step.all.iteration": "全部迭代",
  "distributed.order": "rank 的顺序",
  "distributed.order.rank": "按 rank",
  "distributed.order.time": "最长在前",
  "distributed.budget": "各 rank 的迭代耗时",
  "distributed.budget.iteration": "各 rank 的迭代耗时",
  "distributed.budget.help":
    "每个 rank 的设备时间分布。数值为迭代耗时：计算 + 未被掩盖的通信 + 拷贝 + 空闲。单击某个 rank 只看它的算子。",
  "distributed.budget.help.iteration":
    "每个 rank 的设备时间分布。数值为迭代耗时：计算 + 未被掩盖的通信 + 拷贝 + 空闲。单击某个 rank 只看它的算子。",
  "distributed.split": "各 rank 的通信耗时",
  "distributed.split.help": "所有通信算子的耗时，等于各部分之和。同时运行的算子分别计入。",
  "distributed.part.before_transfer.help": "首次传输之前的时间，不含对最晚到达的 rank 的等待",
  "distributed.part.transfer.help": "数据在主平面的链路上传输",
  "distributed.part.small_packets.help": "以小于 16 MB（RDMA：1 MB）的包传输，达不到链路带宽",
  "distributed.part.rest.help":
    "不属于以上任何一项。无法得知哪个 rank 最晚到达时，对它的等待也在这里：需要 Level1 及以上的 trace，或两个已采集 rank 的两个共同集合通信。",
  "distributed.arrivals": "到达集合通信的时间",
  "distributed.arrivals.sub": "在首个 rank 之后，{unit}",
  "distributed.arrivals.help":
    "通信域内每个 rank 开始该集合通信的时间。已采集的 rank 取其开始时间，各 rank 的时钟按集合通信的结束时间对齐；未采集的 rank 取已采集 rank 停止等待它的时间。短横线表示没有已采集的 rank 能说明。",
  "distributed.arrivals.choose": "集合通信",
  "distributed.arrivals.start": "已采集",
  "distributed.arrivals.before": "此时或更早：没有已采集的 rank 等待它",
  "distributed.arrivals.wait": "未采集：已采集的 rank 等待它直到此时",
  "distributed.arrivals.unknown": "未采集，且没有已采集的 rank 能说明它何时到达",
  "distributed.arrivals.clock":
    "时钟偏差 rank {rank} − rank {reference}：{offset}（{low} … {high}，{count} 个集合通信）",
  "distributed.arrivals.clocks": "{count} 个 rank 的时钟按集合通信的结束时间对齐，误差不超过 {error}",
  "distributed.ops": "通信算子",
  "distributed.ops.help":
    "同一通信域、同一 step 中一个算子的所有调用。每次传输只计一次字节：SDMA 不与它包含的 HCCS 或 PCIE 相加。",
  "distributed.experts": "专家",
  "distributed.experts.help":
    "各 rank 上专家（MoE）矩阵乘的耗时，按层的顺序。这是耗时而不是负载：文件中没有 token 数，decode 小 batch 的耗时取决于激活的专家数。",
  "distributed.calls": "单次调用",
  "distributed.calls.help": "文件中的每个通信算子；等待时间包含同步时间。单击某个 rank 可选择它。",
  "distributed.packets": "通信包",
  "distributed.packets.help": "包大小分布：算子在某类链路上每种大小的包数及其耗时",
  "distributed.matrix": "链路上的算子",
  "distributed.matrix.help": "每种算子类型和链路：带宽最高、中位和最低的算子，以及合计。编号是通信域内的 rank。",
  "distributed.transports": "链路类型",
  "distributed.transports.help": "每类链路的字节数和时间，以及大包占比",
  "distributed.link_use": "链路利用",
  "distributed.link_use.help":
    "采集工具在整个采集期间的采样结果，与 step 无关：sys_interconnection 采集 PCIe 和 HCCS，sys_io 采集网卡和 RoCE。平均值和峰值包含设备的全部流量；曲线见 Trace 视图。",
  "distributed.links": "链路",
  "distributed.links.help":
    "从行所示 rank 到列所示 rank 的流量。只有已采集的 rank 有对应的行。指针停在单元格上可看到全部数值。",
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
  "distributed.none.single": "本次运行只有一个 rank，并且没有记录 rank 间通信。",
  "distributed.none.communication": "本次运行的各 rank 没有记录通信。",
  "distributed.none.yet": "目前已读取的 rank 都没有记录通信。",
  "distributed.none.figures": "文件中没有这些数值。",
  "distributed.none.step": "此处没有数据",
  "distributed.none.links": "该 step 中没有这类链路。",
  "distributed.none.range": "没有已知时间的通信算子与该区间重叠。",
  "distributed.range": "区间内",
  "distributed.range.budget": "各 rank 的 Device 耗时",
  "distributed.range.budget.help":
    "区间内各 rank 的 Device 在做什么，按该 rank 的时钟计。数值为该 rank 的首个任务到末个任务之间落在区间内的时间。",
  "distributed.range.links": "区间内未知：文件中的链路数据为每个 step 的合计，链路使用率为整个采集的统计。",
};
