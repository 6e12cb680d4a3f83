"""Style of the report: the colours of the page, light and dark, narrow and printed; and the choice of the language."""

from tb_npu_plugin.analysis.parts import BUDGET

STYLE = """
:root { color-scheme: light dark; --bg: #f5f6f8; --surface: #fff; --line: #e2e6ec; --text: #17202b; --muted: #5b6675;
  --accent: #0b62c4; --c-compute: #0072b2; --c-over: #56b4e9; --c-comm: #e69f00; --c-wait: #d55e00; --c-free: #b9c1cc;
  --c-bubble: #f2c4a0; --c-vec: #009e73; --c-mix: #5a3fb5; --c-prep: #b7a66b; --on-compute: #fff; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --surface: #1d2228; --line: #2e353e; --text: #e6e9ee;
  --muted: #98a3b1; --accent: #6db3ff; --c-compute: #3b9ae0; --c-over: #7cc7f2; --c-comm: #f0b429; --c-wait: #f08a4b;
  --c-free: #5a6470; --c-bubble: #fbdcc6; --c-vec: #2cc295; --c-mix: #7a55d0; --c-prep: #c9bb86; --on-compute: #10151b; --on-free: #fff; } }
@media print { :root { color-scheme: light; --bg: #fff; --surface: #fff; --line: #c9d0d9; --text: #000; --muted: #444;
  --accent: #0b62c4; --c-compute: #0072b2; --c-over: #56b4e9; --c-comm: #e69f00; --c-wait: #d55e00; --c-free: #b9c1cc;
  --c-bubble: #f2c4a0; --c-vec: #009e73; --c-mix: #5a3fb5; --c-prep: #b7a66b; --on-compute: #fff; --on-free: #10151b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1120px; background: var(--bg); color: var(--text);
  font: 14px/1.5 Roboto, "Noto Sans", "Noto Sans SC", system-ui, sans-serif; overflow-wrap: anywhere; }
#en:checked ~ * [lang="zh-CN"], #zh:checked ~ * [lang="en"] { display: none; }
.choice { margin: 0 12px 0 2px; }
h1 { font-size: 20px; margin: 8px 0 4px; }
h2 { font-size: 15px; margin: 0 0 8px; }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px;
  margin: 12px 0; }
p { margin: 4px 0; }
a { color: var(--accent); }
code { font: 0.93em/1.4 "Roboto Mono", "DejaVu Sans Mono", ui-monospace, monospace; background: var(--bg); padding: 0 3px;
  border-radius: 3px; }
.muted { color: var(--muted); }
.verdict { font-size: 17px; font-weight: 600; }
.simulated { border-color: var(--c-wait); border-width: 2px; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; }
ol { list-style: none; margin: 0; padding: 0; }
ol > li { border-left: 4px solid var(--c-free); padding: 2px 0 2px 12px; margin: 12px 0; break-inside: avoid; }
ol > li.high { border-color: var(--c-wait); }
ol > li.medium { border-color: var(--c-comm); }
ul { margin: 4px 0; padding-left: 20px; }
h3 { font-size: 14px; margin: 0; }
h3 .cost { float: right; margin-left: 12px; font-weight: 400; }
.bars { display: grid; grid-template-columns: minmax(60px, max-content) 1fr max-content; gap: 4px 10px;
  align-items: center; }
.name { max-width: 220px; }
.bar { display: flex; height: 18px; }
.bar i, .key { print-color-adjust: exact; -webkit-print-color-adjust: exact; color: #10151b; }
.bar i { font: 11px/18px sans-serif; text-align: center; overflow: hidden; white-space: nowrap; }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 0 0 10px; padding: 0; list-style: none; }
.bar .preparing { margin-right: 2px; }
.bar .computing { color: var(--on-compute); }
.bar .free { color: var(--on-free, #10151b); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 3px 8px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--muted); font-weight: 600; overflow-wrap: normal; }
th:first-child, td:first-child, td.text, th.text { text-align: left; min-width: 140px; }
td.child { padding-left: 26px; }
.ledger :is(th, td):is(:nth-child(2), :nth-child(3), :nth-child(6)) { white-space: nowrap; }
.ledger .sum th { color: var(--text); border-top: 1px solid var(--muted); }
.scroll + .scroll { margin-top: 10px; }
tr { break-inside: avoid; }
data { white-space: nowrap; font-variant-numeric: tabular-nums; }
@media (max-width: 600px) { body { padding: 8px; } section { padding: 10px; } dl { grid-template-columns: 1fr; }
  dd { margin-bottom: 6px; } h3 .cost { float: none; display: block; margin: 0; } }
@media print { body { padding: 0; max-width: none; font-size: 11px; } .languages, .choice, input { display: none; }
  .scroll { overflow: visible; } th, td { padding: 2px 4px; } h2 { break-after: avoid; } }
@page { margin: 14mm; }
"""

STYLE += "".join(f".{part.id} {{ background: var({part.color}); }}\n" for part in BUDGET.values())
