from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.mstx import mstx
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded, Truthless

NONE = AiCMetrics.AiCoreNone
STREAM = SimpleNamespace(npu_stream=7)


def _config(**arguments: Any) -> _ExperimentalConfig:
    return _ExperimentalConfig(aic_metrics=NONE, **arguments)


@pytest.fixture
def running(recorded: Recorded) -> Iterator[Recorded]:
    """A profile with mstx runs."""
    with profile(experimental_config=_config(mstx=True)):
        recorded.take()
        yield recorded


def test_marks(running: Recorded) -> None:
    mstx.mark("here")
    mstx.mark("there", STREAM, "mine")
    mstx.mark("torch's stream", SimpleNamespace(stream_id=3))
    assert running.take() == ["mark here default None", "mark there mine 7", "mark torch's stream default 3"]


def test_ranges(running: Recorded) -> None:
    number = mstx.range_start("work", STREAM)
    assert number > 0
    assert running.recorders[0].last_range == number
    mstx.range_end(number)
    assert running.recorders[0].last_range == number
    assert mstx.range_start("more") != number
    assert running.take() == ["range_start work default 7", "range_end", "range_start more default None"]


def test_push_and_pop(running: Recorded) -> None:
    assert [mstx.range_push("a"), mstx.range_push("b"), mstx.range_push("c", domain="d")] == [0, 1, 0]
    inner = running.recorders[0].last_range
    assert [mstx.range_pop("d"), mstx.range_pop(), mstx.range_pop(), mstx.range_pop()] == [0, 1, 0, -1]
    assert inner > 0
    assert running.take() == [
        "range_start a default None",
        "range_start b default None",
        "range_start c d None",
        *["range_end"] * 3,
    ]


def test_decorators_and_context(running: Recorded) -> None:
    @mstx.mstx_range("outer")
    def outer(number: int) -> int:
        return inner(number) + 1

    @mstx.annotate()
    def inner(number: int) -> int:
        with mstx.annotate("block", domain="d"):
            return number

    mstx.annotate()(functools.partial(int, "2"))()
    assert running.take() == ["range_start partial default None", "range_end"]
    assert outer(3) == 4
    assert outer.__name__ == "outer"
    assert running.take() == [
        "range_start outer default None",
        "range_start inner default None",
        "range_start block d None",
        *["range_end"] * 3,
    ]


def test_a_range_ends_when_its_function_raises(running: Recorded) -> None:
    @mstx.mstx_range("work")
    def work() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        work()
    assert running.take() == ["range_start work default None", "range_end"]


#: Call, its answer, what is invalid.
INVALID: list[tuple[Any, Any, str]] = [
    (lambda: mstx.mark(""), None, "message"),
    (lambda: mstx.mark(5), None, "message"),  # type: ignore[arg-type]
    (lambda: mstx.mark("a", domain=""), None, "domain"),
    (lambda: mstx.mark("a", "stream"), None, "stream"),
    (lambda: mstx.range_start(None), 0, "message"),  # type: ignore[arg-type]
    (lambda: mstx.range_start("a", 5), 0, "stream"),
    (lambda: mstx.range_end("a"), None, "range_id"),  # type: ignore[arg-type]
    (lambda: mstx.range_push("a", domain=5), -1, "domain"),  # type: ignore[arg-type]
    (lambda: mstx.range_pop(""), -1, "domain"),
    (lambda: mstx.annotate(Truthless())(len)("ab"), 2, "message"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "answer", "what"), INVALID)
def test_invalid_arguments(call: Any, answer: Any, what: str, running: Recorded) -> None:
    with pytest.warns(UserWarning, match=f"Invalid {what} for mstx"):
        assert call() == answer
    assert running.take() == []


#: Settings, domains of marks, those recorded.
DOMAINS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"mstx": True}, ["default", "a", "b"]),
    ({"msprof_tx": True}, ["default", "a", "b"]),
    ({"mstx": True, "mstx_domain_include": ["a", "c"]}, ["a"]),
    ({"mstx": True, "mstx_domain_exclude": ["a"]}, ["default", "b"]),
]


@pytest.mark.parametrize(("settings", "wanted"), DOMAINS)
def test_domains(settings: dict[str, Any], wanted: list[str], recorded: Recorded) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = _config(**settings)
    with profile(experimental_config=config):
        recorded.take()
        for domain in ("default", "a", "b"):
            mstx.mark("m", domain=domain)
        assert [entry.split()[2] for entry in recorded.take()] == wanted


def test_automatic_ranges(recorded: Recorded) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
    originals = torch.save, torch.serialization.save
    loader = torch.utils.data.DataLoader([1, 2])
    for switch, expected in ((True, ["dataloader"] * 3 + ["save_checkpoint"]), (False, [])):
        with profile(experimental_config=_config(mstx=switch)):
            recorded.take()
            assert [int(batch) for batch in loader] == [1, 2]
            torch.save(torch.zeros(1), "checkpoint")
            log = recorded.take()
        assert [entry.split()[1] for entry in log if entry.startswith("range_start")] == expected
        assert log.count("range_end") == len(expected)
    assert (torch.save, torch.serialization.save) == originals
    assert [int(batch) for batch in loader] == [1, 2]


def test_without_a_profile_marks_have_no_effect(recorded: Recorded) -> None:
    mstx.mark("a")
    mstx.range_end(mstx.range_start("a"))
    assert (mstx.range_push("a"), mstx.range_pop()) == (0, 0)
    assert recorded.take() == []
