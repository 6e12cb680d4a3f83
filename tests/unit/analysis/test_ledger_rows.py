"""Rows of a ledger: their sums, the findings that shorten them, and how to record what is missing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Optional, cast

import pytest

from tb_npu_plugin.analysis.findings.ledger_needs import needs_of
from tb_npu_plugin.analysis.findings.ledger_rows import Row, name_of, rows_of
from tb_npu_plugin.analysis.findings.ledger_sentence import _waiting
from tb_npu_plugin.analysis.findings.model import Confidence, Finding, Part, Subject
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.analysis.ledger.model import ChainEnd, Entry, EntryKind, Needs, RankLedger
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture, SpanData

MS = 10**6
NONE, RUN = Message("ledger.capture"), Subject()


def entry(kind: EntryKind, ms: int, detail: str = "", culprit: Optional[int] = None, needs: Needs = "") -> Entry:
    return Entry(kind, detail, ms * MS, ms * MS, ms * MS, culprit, needs=needs)


def ledger_of(*entries: Entry, rank: Optional[int] = 0, **span: Any) -> RankLedger:
    given: dict[str, Any] = {"format": "torch_npu", "files": (), "capture": Capture(rank=rank), **span}
    given["kinds"] = {path: path.rpartition("/")[2] for path in given["files"]}
    return RankLedger(
        cast(SpanData, SimpleNamespace(worker_label="w", **given)),
        None,
        810 * MS,
        2 * MS,
        3 * MS,
        5 * MS,
        4 * MS,
        entries,
    )


#: Rank 0 of the real run of two stages, rounded to ms.
LEDGER = ledger_of(
    entry("computing", 231),
    replace(entry("waiting", 312, "p2p", 2), chain=[ChainEnd(2, "computing", 298 * MS), ChainEnd(7, "idle", 14 * MS)]),
    entry("waiting", 4, "collective", 2),
    entry("waiting", 2, "collective", 3),
    entry("transfer", 102),
    entry("unexplained", 159, "idle", needs="trace"),
)


def titles(rows: Any) -> list[tuple[str, float]]:
    return [(str(row.title), row.ns / MS) for row in rows]


def test_rows_sum_to_the_step_and_waiting_to_its_ranks() -> None:
    rows = rows_of(LEDGER)
    assert titles(rows) == [
        ("Computing", 231),
        ("Waiting", 318),
        ("Exposed transfer", 102),
        ("Unexplained idle", 159),
        ("Before the first task", 2),
        ("After the last task", 3),
        ("Beyond the recorded tasks", 5),
    ]
    assert titles(rows[0].parts) == [("Overlapped communication", 4)]
    assert titles(rows[1].parts) == [("Waiting for rank 2", 316), ("Waiting for rank 3", 2)]
    assert [str(text) for text in rows[1].parts[0].what] == [
        "point-to-point 312.00 ms, collectives 4.00 ms",
        "rank 0 waits ← rank 2 computes 298.00 ms, rank 7 is idle 14.00 ms",
    ]
    many = ledger_of(*(entry("waiting", at + 1, "collective", at) for at in range(63)))
    parts = rows_of(many)[0].parts
    assert (len(parts), sum(row.ns for row in parts)) == (6, 63 * 32 * MS)


def test_waiting_for_other_stages_is_divided_by_cause() -> None:
    bubble = BubbleParts(127 * MS, 158 * MS, 31 * MS)
    waiting = rows_of(LEDGER, [finding("bubble", "bubble")], {2: 2, 3: 2}, bubble)[1]
    assert str(waiting.title) == "Waiting for stage 2" and not waiting.findings
    assert titles(waiting.parts) == [
        ("Uneven stages", 127),
        ("Bubble of the micro-batches", 158),
        ("Awaited stages idle meanwhile", 31),
        ("Other waiting", 2),
    ]
    assert waiting.parts[1].findings == [0]
    dear = rows_of(LEDGER, [finding("bubble", "bubble", cost=159 * MS)], {2: 2, 3: 2}, bubble)[1]
    assert dear.findings == [0], "a stake above its cause is of all waiting"
    more = replace(bubble, uneven=200 * MS)
    assert rows_of(LEDGER, (), {}, more)[1].parts[0].part == "waiting", "more than the waiting: other steps"
    bounded = replace(LEDGER, entries=tuple(replace(one, low_ns=0) for one in LEDGER.entries))
    assert rows_of(bounded, (), {}, bubble)[1].parts[0].part == "waiting"


@pytest.mark.parametrize(
    ("stages", "culprits", "title"),
    [
        ({2: 2, 3: 1}, (), "Waiting for stage 2"),  # a sliver for another stage
        ({2: 2, 3: 1}, (2,), "Waiting for rank 2"),  # as the sentence
        ({2: 2, 3: 1}, (3,), "Waiting for stage 2"),
        ({}, (), "Waiting"),
    ],
)
def test_all_waiting_is_named_as_in_the_sentence(
    stages: dict[Optional[int], Optional[int]], culprits: tuple[int, ...], title: str
) -> None:
    rows = rows_of(LEDGER, (), stages, BubbleParts(127 * MS, 158 * MS, 31 * MS), culprits)
    assert str(rows[1].title) == title


def finding(rule: str, part: Part, subject: Subject = RUN, category: Any = "compute", cost: int = MS) -> Finding:
    return Finding(rule, category, subject, NONE, cost, part, Confidence("measured"))


@pytest.mark.parametrize(
    ("part", "subject", "category", "title"),
    [
        ("computing", Subject(), "compute", "Computing"),
        ("free", Subject(rank=0), "host", "Unexplained idle"),
        ("preparing", Subject(), "host", "Before the first task"),
        ("waiting", Subject(rank=3), "ranks", "Waiting for rank 3"),
        ("waiting", Subject(rank=7), "ranks", "Waiting for rank 2"),
        ("waiting", Subject(rank=0), "ranks", "Computing"),
        ("waiting", Subject(rank=9), "ranks", None),
        ("waiting", Subject(), "ranks", "Waiting"),
        ("computing", Subject(rank=2), "compute", None),
        ("computing", Subject(worker="w"), "compute", "Computing"),
        ("computing", Subject(worker="other"), "compute", None),
    ],
)
def test_a_finding_stands_in_the_row_that_it_shortens(
    part: Part, subject: Subject, category: str, title: Optional[str]
) -> None:
    def found(rows: Any) -> list[Row]:
        return [one for row in rows for one in ([row] if row.findings else found(row.parts))]

    rows = found(rows_of(LEDGER, [finding("r", part, subject, category)]))
    assert [str(row.title) for row in rows] == ([] if title is None else [title])
    assert found(rows_of(LEDGER, [finding("r", part, subject, category, cost=0)])) == []


def test_a_straggler_by_its_host_stands_beside_its_idle_time() -> None:
    ledger = ledger_of(entry("computing", 10), entry("idle", 80, "late"))
    straggler = replace(finding("straggler", "waiting", Subject(rank=0), "ranks", 70 * MS), causes=("host_bound",))
    computing, idle, *_ = rows_of(ledger, [straggler])
    assert (computing.findings, idle.findings) == ([], [0])


def test_a_row_says_what_a_stake_above_it_holds() -> None:
    def said(cost: int) -> list[str]:
        rows = rows_of(LEDGER, [finding("straggler", "waiting", Subject(rank=3), "ranks", cost * MS)])
        return [str(text) for text in rows[1].parts[1].what]

    assert said(2) == []
    assert said(5) == ["waits that computing hides delay 3.00 ms of transfers, too"]


def test_a_rank_that_is_not_unique_has_the_name_of_its_worker() -> None:
    other = ledger_of()
    object.__setattr__(other, "span", SimpleNamespace(worker_label="v", capture=Capture(rank=0)))
    assert (name_of(LEDGER, [LEDGER]), name_of(LEDGER, [LEDGER, other])) == ("rank 0", "w")
    assert name_of(replace(LEDGER, device_id=1), ()) == "rank 0 · device 1"
    assert name_of(ledger_of(rank=None), [LEDGER, ledger_of(rank=None)]) == "w"


ON = Capture(rank=0, export_types=("Text",), activities=("CPU", "NPU"), level="Level1")
NO_CPU = replace(ON, activities=("NPU",))


@pytest.mark.parametrize(
    ("format", "files", "capture", "how"),
    [
        ("torch_npu", (), ON, "Recorded, but not in this folder: copy `trace_view.json` as well."),
        ("torch_npu", ("a/trace_view.json",), ON, None),
        ("torch_npu", ("a/trace_view.json",), NO_CPU, "`activities=[ProfilerActivity.CPU, ...]`"),
        ("mindspore", (), Capture(), "`export_type=[ExportType.Text], activities=[ProfilerActivity.CPU, ...]`"),
        ("mindinsight", (), Capture(), "`Profiler() with op_time`"),
        ("msprof", (), Capture(), "`--task-time=on, --ascendcl=on`"),
        ("kineto", (), Capture(), "graph replay"),
    ],
)
def test_how_to_record_it_names_the_settings_of_the_format(
    format: str, files: tuple[str, ...], capture: Capture, how: Optional[str]
) -> None:
    idle = entry("unexplained", 159, "idle", needs="trace")
    needs = needs_of(
        ledger_of(idle, idle, entry("idle", 1, needs="trace"), format=format, files=files, capture=capture)
    )
    assert len(needs) == (how is not None)
    assert how is None or how in needs[0].how


@pytest.mark.parametrize(("culprits", "code"), [((1,), "waiting"), ((1, 2), "waiting_two"), ((1, 9), "unprofiled")])
def test_the_sentence_names_all_that_are_awaited(culprits: tuple[int, ...], code: str) -> None:
    ledger = ledger_of(entry("waiting", 300, "collective", 1))
    profiled = SimpleNamespace(profiled=frozenset(range(3)), has_unnumbered=False)
    run: Any = SimpleNamespace(ledgers=[ledger], communication=profiled)
    found = _waiting(Judgement("loss", ledger, ledger.entries[0], culprits), ledger, run)
    assert found.code == f"verdict.loss.{code}"
    assert all(f"ank {rank}" in str(found) for rank in culprits)


def test_the_sentence_has_what_each_stage_computes_on_average() -> None:
    """Of the last rank the stage is unknown."""
    groups = ({"g": {"group_name": "pp", "group_rank": stage}} for stage in (0, 0, 1))
    ranks = [
        ledger_of(entry("computing", ms), rank=at, capture=Capture(rank=at, groups=group))
        for (at, ms), group in zip(enumerate((100, 120, 300, 7)), (*groups, {}))
    ]
    waiting = ledger_of(entry("waiting", 300, "p2p", 2))
    run: Any = SimpleNamespace(ledgers=ranks)
    found = str(_waiting(Judgement("loss", waiting, waiting.entries[0], (2,), stage=2), waiting, run))
    assert "stage 1 110.00 ms, stage 2 300.00 ms" in found
