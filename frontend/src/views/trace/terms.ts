/** Words of the Trace view; those of its drawer and of its keys are in files of their own. */
import * as help from "./terms_help";
import * as panels from "./terms_panels";

export const en = {
  "trace.title": "Trace",
  "trace.canvas":
    "Timeline. W and S zoom, A and D move, F shows the selected slice, full stop and comma step through the row, slash searches, question mark lists all keys.",
  "trace.empty": "This trace has no events.",
  "trace.loading": "loading",
  "trace.download": "The original trace file",
  "trace.keys": "W S zoom · A D move · F fit · M mark · K flag · ? keys",
  "trace.keys.tip": "All keys",
  "trace.events": "{count} events",

  "trace.reading": "Showing the first {shown} of {total}",
  "trace.reading.cancelled": "Reading was cancelled. Showing the first {shown} of {total}",

  "trace.rows": "Rows",
  "trace.rows.filter": "Filter rows: any of these words",
  "trace.rows.fold": "Fold all",
  "trace.rows.unfold": "Unfold all",
  "trace.rows.unpin": "Unpin all",
  "trace.rows.none": "No row has this name.",
  "trace.rows.count": "{count} rows",
  "trace.rows.pin": "Pin {name} to the top",
  "trace.rows.hide": "Fold {name}",
  "trace.rows.filtered": "Rows: {text}",
  "trace.rows.clear": "Show all rows",

  "trace.flows": "Flows",
  "trace.flows.selection": "Flows: selection",
  "trace.flows.all": "Flows: all {kind}",
  "trace.flows.some": "Flows: all of {count} kinds",
  "trace.flows.off": "Flows: off",
  "trace.flows.about":
    "Of the selected slice: ] and [ follow them. All: every arrow in sight; where many join, a stronger line.",
  "trace.flows.column.slice": "Slice",
  "trace.flows.column.all": "All",
  "trace.flows.show.slice": "Show arrows of {kind} of the selected slice",
  "trace.flows.show.all": "Show all arrows of {kind}",
  "trace.flows.none": "This trace has no flows.",

  "trace.flow.async_npu": "operator to device task",
  "trace.flow.async_mindspore": "MindSpore, from thread to thread",
  "trace.flow.HostToDevice": "CANN launch to device task",
  "trace.flow.async_task_queue": "enqueue to dequeue",
  "trace.flow.fwdbwd": "forward to backward",

  "trace.search": "Search slices",
  "trace.search.tip": "Slices with every word in their name, in any order. Case does not count.",
  "trace.search.clear": "Clear the search",
  "trace.search.none": "no slice",
  "trace.search.place": "{at} of {total}",
  "trace.search.total": "{total} found",
  "trace.search.next": "Next (Enter)",
  "trace.search.previous": "Previous (Shift Enter)",
  "trace.search.list": "List of what was found",
  "trace.search.some": "{from} to {to} of {total}",
  "trace.search.later": "{name} is not read yet. It is shown once it is.",
  "trace.search.missing": "The trace has no slice named {name}.",

  "trace.note.failed": "A part of the timeline could not be loaded: {message}",
  "trace.note.close": "Close",

  "trace.hover.merged": "{count} slices merged at this zoom (total {total}, {share} of this stretch); longest:",

  "trace.said.slice": "{name}, {process} {thread}, start {start}, duration {duration}",
  "trace.said.area": "Range of {duration}, {count} slices",
  "trace.said.area.one": "Range of {duration}, 1 slice",
  "trace.said.mark": "Marked {name} at {start}",
  "trace.said.hits": "{total} slices found",

  ...panels.en,
  ...help.en,
};

export const zh: Record<keyof typeof en, string> = {
  "trace.title": "Trace 时间线",
  "trace.canvas":
    "时间线。W、S 缩放，A、D 平移，F 显示选中的 slice，句号和逗号切换到同一行的后一个、前一个，斜杠搜索，问号列出全部快捷键。",
  "trace.empty": "该 trace 没有事件。",
  "trace.loading": "正在加载",
  "trace.download": "下载原始 trace 文件",
  "trace.keys": "W S 缩放 · A D 平移 · F 定位 · M 标记 · K 旗标 · ? 快捷键",
  "trace.keys.tip": "全部快捷键",
  "trace.events": "{count} 个事件",

  "trace.reading": "显示前 {shown}，共 {total}",
  "trace.reading.cancelled": "读取已取消。显示前 {shown}，共 {total}",

  "trace.rows": "泳道",
  "trace.rows.filter": "筛选泳道：包含任一关键词",
  "trace.rows.fold": "全部折叠",
  "trace.rows.unfold": "全部展开",
  "trace.rows.unpin": "全部取消置顶",
  "trace.rows.none": "没有该名称的泳道。",
  "trace.rows.count": "{count} 条泳道",
  "trace.rows.pin": "置顶 {name}",
  "trace.rows.hide": "折叠 {name}",
  "trace.rows.filtered": "泳道：{text}",
  "trace.rows.clear": "显示全部泳道",

  "trace.flows": "连线",
  "trace.flows.selection": "连线：选中项",
  "trace.flows.all": "连线：全部 {kind}",
  "trace.flows.some": "连线：{count} 类的全部",
  "trace.flows.off": "连线：关闭",
  "trace.flows.about": "选中 slice 的连线：按 ] 和 [ 沿连线跳转。全部：视野内的所有连线，合并越多线越深。",
  "trace.flows.column.slice": "选中项",
  "trace.flows.column.all": "全部",
  "trace.flows.show.slice": "显示选中 slice 的 {kind} 连线",
  "trace.flows.show.all": "显示全部 {kind} 连线",
  "trace.flows.none": "该 trace 没有连线。",

  "trace.flow.async_npu": "算子到 device 任务",
  "trace.flow.async_mindspore": "MindSpore 线程之间",
  "trace.flow.HostToDevice": "CANN 下发到 device 任务",
  "trace.flow.async_task_queue": "Enqueue 到 Dequeue",
  "trace.flow.fwdbwd": "前向到反向",

  "trace.search": "搜索 slice",
  "trace.search.tip": "名称中包含全部关键词的 slice，顺序不限，不区分大小写。",
  "trace.search.clear": "清除搜索",
  "trace.search.none": "没有匹配",
  "trace.search.place": "第 {at} / {total} 个",
  "trace.search.total": "找到 {total} 个",
  "trace.search.next": "下一个（Enter）",
  "trace.search.previous": "上一个（Shift Enter）",
  "trace.search.list": "列出搜索结果",
  "trace.search.some": "第 {from} 到 {to} 个，共 {total} 个",
  "trace.search.later": "{name} 尚未读取，读取后将显示。",
  "trace.search.missing": "该 trace 中没有名为 {name} 的 slice。",

  "trace.note.failed": "时间线的一部分无法加载：{message}",
  "trace.note.close": "关闭",

  "trace.hover.merged": "当前缩放下合并了 {count} 个 slice（共 {total}，占此段的 {share}）；其中最长的是：",

  "trace.said.slice": "{name}，{process} {thread}，开始 {start}，耗时 {duration}",
  "trace.said.area": "区间 {duration}，{count} 个 slice",
  "trace.said.area.one": "区间 {duration}，1 个 slice",
  "trace.said.mark": "已标记 {name}，位于 {start}",
  "trace.said.hits": "找到 {total} 个 slice",

  ...panels.zh,
  ...help.zh,
};
