from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.capture.api.mstx import mstx
from tests.unit.capture.api.conftest import Recorded, Truthless, make_profile, quiet

STREAM = SimpleNamespace(npu_stream=7)


@pytest.fixture
def running(recorded: Recorded) -> Iterator[Recorded]:
    """A profile with mstx runs."""
    with make_profile(experimental_config=quiet(mstx=True)):
        recorded.take()
        yield recorded


def test_marks(running: Recorded) -> None:
    mstx.mark("here")
    mstx.mark("there", STREAM, "mine")
    mstx.mark("torch's stream", SimpleNamespace(stream_id=3))
    assert running.take() == ["mark here default None", "mark there mine 7", "mark torch's stream default 3"]


def test_ranges(running: Recorded) -> None:
    numbers = [mstx.range_start("work", STREAM), mstx.range_start("more")]
    assert 0 < numbers[0] < numbers[1]
    mstx.range_end(numbers[0])
    assert running.recorders[0].last["range_end"] == (numbers[0],)
    assert running.take() == ["range_start work default 7", "range_start more default None", "range_end"]


def test_push_and_pop(running: Recorded) -> None:
    assert [mstx.range_push("a"), mstx.range_push("b"), mstx.range_push("c", domain="d")] == [0, 1, 0]
    assert [mstx.range_pop("d"), mstx.range_pop(), mstx.range_pop(), mstx.range_pop()] == [0, 1, 0, -1]
    last = running.recorders[0].last
    assert last["range_end"][0] == last["range_start"][0] - 2  # the outermost
    starts = ["range_start a default None", "range_start b default None", "range_start c d None"]
    assert running.take() == [*starts, *["range_end"] * 3]


def test_decorators_and_context(running: Recorded) -> None:
    @mstx.mstx_range("outer")
    def outer(number: int) -> int:
        return inner(number) + 1

    @mstx.annotate()
    def inner(number: int) -> int:
        with mstx.annotate("block", domain="d"):
            return number

    mstx.annotate()(functools.partial(int, "2"))()
    with pytest.raises(ZeroDivisionError):
        mstx.mstx_range("fails")(divmod)(1, 0)
    calls = ["range_start partial default None", "range_end", "range_start fails default None", "range_end"]
    assert running.take() == calls
    assert (outer(3), outer.__name__) == (4, "outer")
    starts = ["range_start outer default None", "range_start inner default None", "range_start block d None"]
    assert running.take() == [*starts, *["range_end"] * 3]


#: Function, its arguments, its answer, what is invalid.
INVALID: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("mark", ("a", None, ""), None, "domain"),
    ("mark", ("a", "stream"), None, "stream"),
    ("range_start", (None,), 0, "message"),
    ("range_end", ("a",), None, "range_id"),
    ("range_push", ("a", None, 5), -1, "domain"),
    ("range_pop", ("",), -1, "domain"),
    ("annotate", (Truthless(),), None, "message"),
]


@pytest.mark.parametrize(("function", "arguments", "answer", "what"), INVALID)
def test_invalid_arguments(
    function: str, arguments: tuple[Any, ...], answer: Any, what: str, running: Recorded
) -> None:
    with pytest.warns(UserWarning, match=f"Invalid {what} for mstx"):
        found = getattr(mstx, function)(*arguments)
        if function == "annotate":
            found = found(print)()
    assert (found, running.take()) == (answer, [])


#: Settings, domains of marks that are recorded.
DOMAINS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"msprof_tx": True}, ["default", "a", "b"]),
    ({"mstx": True, "mstx_domain_include": ["a", "c"]}, ["a"]),
    ({"mstx": True, "mstx_domain_exclude": ["a"]}, ["default", "b"]),
]


@pytest.mark.parametrize(("settings", "wanted"), DOMAINS)
def test_domains(settings: dict[str, Any], wanted: list[str], recorded: Recorded) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = quiet(**settings)
    with make_profile(experimental_config=config):
        recorded.take()
        for domain in ("default", "a", "b"):
            mstx.mark("m", domain=domain)
        assert [entry.split()[2] for entry in recorded.take()] == wanted


def test_automatic_ranges(recorded: Recorded) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
    original = torch.save
    loader = torch.utils.data.DataLoader([1, 2])
    for switch, expected in ((True, ["dataloader"] * 3 + ["save_checkpoint"]), (False, [])):
        with make_profile(experimental_config=quiet(mstx=switch)):
            recorded.take()
            assert [int(batch) for batch in loader] == [1, 2]
            torch.save(torch.zeros(1), "checkpoint")
            log = recorded.take()
        assert [entry.split()[1] for entry in log if entry.startswith("range_start")] == expected
        assert log.count("range_end") == len(expected)
    assert torch.save is torch.serialization.save is original


@pytest.mark.parametrize(("with_flops", "msprof_tx"), [(True, True), (True, False), (False, True)])
def test_ranges_with_floating_point_operations(with_flops: bool, msprof_tx: bool, recorded: Recorded) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
    original = torch.matmul
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = quiet(mstx=True, msprof_tx=msprof_tx)
    two, three, batch = torch.ones(4, 3), torch.ones(3, 2), torch.ones(5, 1, 4, 3)
    with make_profile(with_flops=with_flops, experimental_config=config):
        recorded.take()
        torch.mm(two, mat2=three)
        assert torch.matmul(batch, torch.ones(2, 3, 6)).shape == (5, 2, 4, 6)
        torch.matmul(two, torch.ones(3))
        torch.addmm(torch.ones(2), two, three)
        torch.nn.Linear(3, 7)(batch)
        with pytest.raises(RuntimeError):
            torch.mm(three, torch.ones(7, 7))
        log = recorded.take()
    found = [entry.split()[1] for entry in log if entry.startswith("range_start") and "mfu_flops" in entry]
    expected = ["48-mm", "1440-matmul", "24-matmul", "48-addmm", "840-linear", "84-mm"]
    assert found == (expected if with_flops and msprof_tx else [])
    assert torch.matmul is original


def test_without_a_profile_marks_have_no_effect(recorded: Recorded) -> None:
    mstx.mark("a")
    mstx.range_end(mstx.range_start("a"))
    assert (mstx.range_push("a"), mstx.range_pop(), recorded.take()) == (0, 0, [])
