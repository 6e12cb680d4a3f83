"""The host side of a result beside what torch.profiler exports of the same training: computed from both files alone."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tests.oracle.raw import Raw
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch


STEP = "ProfilerStep#"
#: Functions of the two profilers, and what those call: not of the training.
OWN = ("tb_npu_plugin/capture/", "torch/profiler/", "torch/autograd/profiler.py")
Event = dict[str, Any]


def _training() -> Iterator[None]:
    """The same steps each time."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    )
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader([(torch.randn(3, 8, 8), 1) for _ in range(20)], batch_size=4)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.profiler.record_function("forward"):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        yield


def _profiled(module: Any, handler: Any, **settings: Any) -> None:
    plan = module.schedule(wait=1, warmup=1, active=2, repeat=1)
    switches = dict.fromkeys(("record_shapes", "profile_memory", "with_stack", "with_modules"), True)
    with module.profile(schedule=plan, on_trace_ready=handler, **switches, **settings) as profile:
        for _ in _training():
            profile.step()


class Both(NamedTuple):
    """theirs: events of torch.profiler's trace; ours: the result."""

    theirs: list[Event]
    ours: Raw


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    for _ in _training():  # what runs once in a process
        pass
    gc.collect()
    gc.disable()  # finalizers of what earlier tests left would run inside one of the two trainings, and be recorded there
    try:
        return _recorded_twice(folder)
    finally:
        gc.enable()


def _recorded_twice(folder: Path) -> Both:
    import torch

    cpu = [torch.profiler.ProfilerActivity.CPU]
    _profiled(torch.profiler, lambda found: found.export_chrome_trace(str(folder / "theirs.json")), activities=cpu)
    _profiled(profiler, profiler.tensorboard_trace_handler(str(folder)))
    events = json.loads((folder / "theirs.json").read_text(), parse_float=Decimal)["traceEvents"]
    return Both(events, Raw(next(folder.glob("*_ascend_pt"))))


def _calls(events: list[Event]) -> list[Event]:
    """Operators and annotations by start, outer ones first."""
    found = [e for e in events if e["ph"] == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    return sorted(found, key=lambda event: (Decimal(event["ts"]), -Decimal(event["dur"])))


def _nested(events: list[Event]) -> list[tuple[str, ...]]:
    """Names of what each one is in, and its own. The threads of ours share one clock, as there was one thread."""
    out: list[tuple[str, ...]] = []
    open_: list[tuple[Decimal, tuple[str, ...]]] = []
    for event in events:
        start = Decimal(event["ts"])
        while open_ and start >= open_[-1][0]:
            open_.pop()
        path = (*(open_[-1][1] if open_ else ()), event["name"])
        open_.append((start + Decimal(event["dur"]), path))
        out.append(path)
    return out


def test_operators_their_order_and_nesting(both: Both) -> None:
    theirs, ours = _calls(both.theirs), _calls(both.ours.slices)
    assert [event["name"] for event in ours] == [event["name"] for event in theirs]
    assert _nested(ours) == _nested(theirs)
    assert {"aten::convolution", "ConvolutionBackward0", "forward", "Optimizer.step#Adam.step"} <= {
        event["name"] for event in ours
    }


def _tensors(event: Event) -> list[tuple[str, str]]:
    """Shape and type of each argument, tensors of lists one by one."""
    out = []
    for shape, type_ in zip(event["args"].get("Input Dims", ()), event["args"].get("Input type", ())):
        for one in shape if shape and isinstance(shape[0], list) else [shape]:
            out.append((",".join(map(str, one)), type_ or "None"))
    return out


def test_shapes_and_types(both: Both) -> None:
    for ours, theirs in zip(_calls(both.ours.slices), _calls(both.theirs)):
        texts = [ours["args"].get(key) for key in ("Input Dims", "Input type")]
        found = list(zip(*(text.split(";\r\n") for text in texts))) if all(text is not None for text in texts) else []
        assert found == _tensors(theirs), ours["name"]


def test_forward_and_backward_share_their_numbers(both: Both) -> None:
    """Sequence numbers go on from run to run: only which are equal is compared, and where the forward pass was."""

    def links(events: list[Event]) -> list[tuple[int, bool]]:
        seen: dict[int, int] = {-1: -1}
        numbers = [event["args"].get("Sequence number", -1) for event in events]
        backward = [bool(event["args"].get("Fwd thread id", 0)) for event in events]
        return [(seen.setdefault(number, len(seen)), is_back) for number, is_back in zip(numbers, backward)]

    found = links(_calls(both.ours.slices))
    assert found == links(_calls(both.theirs))
    assert len({number for number, is_back in found if is_back}) > 5


def _functions(events: list[Event]) -> list[tuple[str, ...]]:
    """Each Python function of the training with those that it is in, in order of start, from the first step to the last."""
    found = [event for event in events if event.get("cat") == "python_function"]
    by_id = {event["args"]["Python id"]: event for event in found}
    steps = [event for event in events if event["ph"] == "X" and event["name"].startswith(STEP)]
    since = min(Decimal(step["ts"]) for step in steps)
    until = max(Decimal(step["ts"]) + Decimal(step["dur"]) for step in steps)
    out = []
    for event in sorted(found, key=lambda event: (Decimal(event["ts"]), -Decimal(event["dur"]))):
        path: list[str] = []
        at: Any = event
        while at is not None:
            path.append(at["name"].partition(" at 0x")[0])
            at = by_id.get(at["args"].get("Python parent id"))
        if not since < Decimal(event["ts"]) < until or any(own in name for own in OWN for name in path):
            continue
        # Both profilers record every thread: those of the test runner belong to no training.
        if any("_training" in name for name in path):
            out.append(tuple(path))
    return out


def test_python_functions(both: Both) -> None:
    def inner(path: tuple[str, ...]) -> tuple[str, ...]:
        """Below the loop: the lines that call the two profilers differ."""
        return tuple(name for name in path if "test_against" not in name or "_training" in name)[:4]

    theirs, ours = Counter(map(inner, _functions(both.theirs))), Counter(map(inner, _functions(both.ours.slices)))
    assert ours == theirs
    assert any(path[0] == "nn.Module: Conv2d_0" for path in ours) and ours.total() > 500


def test_memory(both: Both) -> None:
    changes = [event for event in both.theirs if event["name"] == "[memory]"]
    taken = [event["args"]["Bytes"] for event in changes if event["args"]["Bytes"] > 0]
    rows = [row for row in both.ours.csv("operator_memory.csv") if not row["Name"].startswith("cann::")]
    sizes = [Decimal(row["Size(KB)"]) * 1024 for row in rows]
    assert sizes == [-(-(size + 32) // 512) * 512 for size in taken]  # as the allocator of torch_npu rounds
    given: Counter[Any] = Counter()
    for change in changes:
        given[change["args"]["Addr"]] += change["args"]["Bytes"]
    kept = sum(bytes_ > 0 for bytes_ in given.values())
    assert sum(not row["Release Time(us)"].strip() for row in rows) == kept
