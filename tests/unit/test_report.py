"""The HTML report: well-formed, inert, in both languages, bounded, and with the figures of the JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tb_npu_plugin.analysis.communication.statistics import UNKNOWN_SPLIT
from tb_npu_plugin.analysis.findings.ledger_rows import rows_of
from tb_npu_plugin.analysis.findings.model import Confidence, Finding, Subject
from tb_npu_plugin.analysis.ledger.model import ChainEnd, Entry, RankLedger
from tb_npu_plugin.analysis.run.budgets import RankBudget
from tb_npu_plugin.analysis.steps.parts import StepParts
from tb_npu_plugin.json_encoding import to_plain
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture, SpanData
from tb_npu_plugin.report.markup import address
from tb_npu_plugin.report.page import ReportSource, report_html, write_report
from tb_npu_plugin.views.ledger_layout import needs_json, row_json
from tests.support.cli import run
from tests.support.fixtures import FIXTURES

VOID = {"meta", "input", "br"}
URL = "http://localhost:6006"
ENTRIES: Any = (
    ("computing", "", 5, None, ""),
    ("waiting", "p2p", 3, 1, ""),
    ("waiting", "p2p", 1, 2, ""),
    ("unexplained", "idle", 1, None, "trace"),
)
HOSTILE = "<script>alert('x')</script>\"&\x1b[31m\u202e\ud800" + "<" * 5000


class Page(HTMLParser):
    """Elements, attributes and texts of a page. Fails for tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.values: list[float] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        given = dict(attrs)
        if tag == "data":
            self.values.append(float(given["value"] or ""))
        if tag not in VOID:
            self.open.append((tag, given.get("lang") or (self.open[-1][1] if self.open else "")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.setdefault(self.open[-1][1], []).append(data)


def budget(rank: int, step: str | None, name: str) -> RankBudget:
    """Step of 10 ms: 5 computing, of it 1 overlapped, 4 exposed communication, of it 3 waiting for rank 1, 1 free."""
    ms, split = 10**6, UNKNOWN_SPLIT
    communication = (split.elapse, split.transit, split.wait, split.synchronization, split.idle, split.incomplete)
    times = (5 * ms, ms, 4 * ms, None, ms, 10 * ms, 0, 2 * ms, 2 * ms)
    waits: Any = ({"rank": 1, "peer": None, "group": None, "time": 3 * ms, "exposed": 3 * ms, "collectives": 2},)
    found = RankBudget(f"s{rank}", name, rank, None, step, *times, *communication)
    parts = StepParts(2 * ms, 4 * ms, ms, 3 * ms, ms, 0, None, ms)
    return replace(found, exposed_waiting=3 * ms, waiting_for=waits, parts=parts)


def source(name: str, ranks: int = 2, steps: int = 2, findings: int = 1) -> ReportSource:
    title, message = (
        Message("rule.straggler"),
        Message("finding.straggler.computes", rank=name, time="3 ms", share="1 %"),
    )
    fix = Message("fix.ai_cpu.types", kernels=name, types=name, targets=name)
    evidence = {"view": "trace", "span": "s1", "table": "t", "row": name, "start_ns": 10**18 + 1, "end_ns": 10**18 + 6}
    texts = {"title": title.as_json(), "message": message.as_json(), "check": title.as_json(), "fix.0": fix.as_json()}
    finding = {
        **{"rule": "straggler", "title": title, "severity": "high", "confidence": {"kind": "confirmed", "ranks": 2}},
        **{"kind": "upper bound", "subject": {"rank": 1}, "message": message, "ms_per_step": 2.5, "fix": [fix]},
        **{
            "check": title,
            "evidence": [evidence] * 4,
            "causes": ["straggler"],
            "texts": texts,
        },
    }
    waiting = {"worker": name, "reason": name, "texts": {}}
    chain = [ChainEnd(1, "computing", 10**6)]
    entries = [
        Entry(kind, detail, ms * 10**6, ms * 10**6, ms * 10**6, rank, chain if rank else [], needs)
        for kind, detail, ms, rank, needs in ENTRIES
    ]
    spans = SimpleNamespace(worker_label=name, capture=Capture(), format="torch_npu", files=(), kinds={})
    own = RankLedger(cast(SpanData, spans), None, 10**7, 2 * 10**6, 0, 0, 10**6, tuple(entries))
    late = Finding("straggler", "ranks", Subject(rank=1), title, 2500000, "waiting", Confidence("measured"))
    table = {"name": name, "rows": [row_json(row) for row in rows_of(own, [late])], "needs": needs_json(own)}
    ledger = {"worker": name, "window_ns": 10**7}
    missing = {"rule": "leak", "reason": "not_recorded", "title": name, "missing": name, "option": name, "texts": {}}
    diagnosis = {
        **{"run": name, "steps": [{"step": str(at), "ms": 10.0} for at in range(steps)], "at_stake_ms_per_step": 2.5},
        **{"mean_steps": steps, "mean_step_ms": 10.0, "repeats": None, "period": "step", "iterations": []},
        **{
            "verdict": finding,
            "ledger": ledger,
            "ledgers": [ledger],
            "layout": {"step": Message("ledger.mean", count=steps).as_json(), "tables": [table]},
            "findings": [finding] * findings,
            "unchecked": [missing],
            "checked": 3,
            "ranks": [waiting],
        },
    }
    budgets = [budget(rank, str(step), name) for rank in range(ranks) for step in range(steps)]
    capture = {"start_ns": "1750143600000000000", "utc_offset_minutes": 480, "simulated": True, "device": name}
    capture |= {"producer": name, "texts": {}, "versions": {name: name}}
    distributed = {"budgets": [asdict(one) for one in budgets]}
    return ReportSource(to_plain(diagnosis), distributed, capture, "r1", URL, name, name, "1.0")


def test_the_report_is_inert_and_in_both_languages() -> None:
    page = Page(report_html(source("job")))
    assert page.tags & {"script", "link", "img", "iframe", "object", "form", "base", "svg"} == set()
    links = [value for name, value in page.attributes if name in ("src", "href", "action")]
    assert links and all(value is not None and value.startswith(f"{URL}/#npu_profiler&p.") for value in links)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    english, chinese = (" ".join(page.texts[language]) for language in ("en", "zh-CN"))
    assert "job is the straggler" in english and "job 是慢卡" in chinese
    assert "Simulated device" in english and "模拟设备" in chinese and "2025-06-17 15:00:00 UTC+08:00" in english
    assert not re.search(r"[\u4e00-\u9fff]", english)


def test_names_are_escaped_and_the_size_is_bounded() -> None:
    text = report_html(source(HOSTILE, 64, 20, 40))
    assert len(text.encode()) < 2_000_000
    page = Page(text)
    assert "script" not in page.tags and "<script" not in text and not re.search("[\x1b\u202e\ud800]", text)
    assert any("<script>alert('x')</script>" in part for part in page.texts["en"]), "it is shown as text"
    assert max(len(part) for part in page.texts["en"][2:]) < 1000


def test_a_mean_step_has_the_figures_of_the_json_without_a_cut_last_step() -> None:
    cut = source("job")
    cut.diagnosis["mean_steps"], cut.distributed["budgets"][-1]["computing"] = 1, 10**9
    text = report_html(cut)
    values = Page(text).values
    row = re.search(r"<tr><td>job</td>(.*?)</tr>", text)
    assert row is not None and [float(value) for value in re.findall(r'value="([^"]+)"', row[1])] == [
        5,
        1,
        4,
        3,
        1,
        10,
        3,
    ]
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", text)]
    assert [round(width * 12 / 100, 3) for width in widths[:6]] == [2, 4, 1, 3, 1, 1], "parts of step and preparing"
    assert 2.5 in values and 10.0 in values and "25.0 %" in text


def test_the_ledger_sums_to_the_step_and_holds_the_findings() -> None:
    text = report_html(source("job"))
    section = text[text.index("Where the step went: job") :]
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", section[: section.index("</table>")].replace("\n", ""))
    found = [(re.findall(r'lang="en">(.*?)</span>', line), re.findall(r'value="([^"]+)"', line)) for line in lines[1:]]
    assert [(words[0], [float(value) for value in values]) for words, values in found] == [
        ("Computing", [5]),
        ("Overlapped communication", [1]),
        ("Waiting", [4]),
        ("Waiting for rank 1", [3]),
        ("Straggler", [2.5]),
        ("Waiting for rank 2", [1]),
        ("Unexplained idle", [1]),
        ("Mean of 2 steps", []),
        ("Before the first task", [2]),
    ]
    assert "job waits ← rank 1 computes 1.00 ms" in section and "≤ 2.50" in section
    assert "trace_view.json" in section and text.index("Where the step went") < text.index(
        "Findings, highest cost first"
    )


@pytest.mark.parametrize(("ranks", "shown"), [(64, 64), (200, 64)])
def test_at_most_64_ranks_are_shown(ranks: int, shown: int) -> None:
    found = source("job", ranks)
    assert found.distributed is not None
    found.diagnosis["findings"][0]["subject"]["rank"] = ranks // 2
    for one in found.distributed["budgets"]:
        one["free"] += one["rank"] * 1000  # the fastest rank is 0
        one["worker"] = f"rank {one['rank']}"
    text = report_html(found)
    names = re.findall(r"<tr><td>rank (\d+)</td>", text)
    assert len(names) == shown and {"0", str(ranks // 2), str(ranks - 1)} <= set(names)
    assert (f"64 of {ranks} ranks are shown" in text) == (ranks > 64)


def test_a_link_has_the_parameters_of_the_page() -> None:
    place = {"view": "kernel", "span": "s1", "table": "types", "row": "a~%b", "start_ns": None, "end_ns": None}
    expected = "#npu_profiler&p.npu_profiler.view=kernel&p.npu_profiler.run=r1&p.npu_profiler.span=s1"
    expected += "&p.npu_profiler.t.kernel.types=q%3Aa%257E%2525b&p.npu_profiler.kernel.tab=types"
    assert address(f"{URL}/", "r1", place) == f"{URL}/{expected}"
    moment = {"view": "trace", "span": None, "table": None, "row": None, "start_ns": 10**18 + 1, "end_ns": 10**18 + 6}
    assert address(URL, "r1", moment).endswith("&p.npu_profiler.at=1000000000000000001%2C5")
    assert address(URL, "r1", {"view": "distributed", "step": "12"}).endswith("&p.npu_profiler.step=12")


@pytest.mark.slow
def test_the_command_writes_the_report_beside_the_json(tmp_path: Path) -> None:
    arguments = ("diagnose", FIXTURES / "demo", "--run", "transformer_slow_rank", "--html")
    target = tmp_path / "report.html"
    target.write_text("older", encoding="utf-8")
    done = run(*arguments, target, "--json", "--url", "http://host:1")
    found, text = json.loads(done.stdout)["runs"][0], target.read_text(encoding="utf-8")
    assert found["findings"][0]["ms_per_step"] in Page(text).values and [*tmp_path.iterdir()] == [target]
    assert found["verdict"]["message"] in text and 'href="http://host:1/#npu_profiler&amp;' in text
    failed = run(*arguments, tmp_path / "none" / "report.html")
    assert (
        failed.returncode == 1 and len(failed.stderr.strip().splitlines()) == 1 and "cannot be written" in failed.stderr
    )
    assert run(*arguments, "-").stdout.startswith("<!DOCTYPE html>")
    assert run(*arguments, "-", "--json").returncode == run(*arguments, target, "--url", "javascript:x").returncode == 2


@pytest.mark.parametrize("ends", [True, False])
def test_what_a_killed_writer_left_is_removed_by_the_next(ends: bool, tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from tb_npu_plugin.report.page import write_report
Path.replace = lambda *_: print("written", flush=True) or time.sleep(60)
write_report("x", sys.argv[1])
"""
    target = tmp_path / "report.html"
    (tmp_path / ".tb-npu-notes").mkdir()  # of the user
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline()
        if ends:
            writer.kill()
            writer.wait()
        (left,) = [path for path in tmp_path.iterdir() if path.name != ".tb-npu-notes"]
        assert [path.name for path in left.iterdir() if path.name == target.name]
        write_report("y", str(target))
        assert left.exists() != ends
        writer.kill()
    assert target.read_text() == "y" and (tmp_path / ".tb-npu-notes").exists()
