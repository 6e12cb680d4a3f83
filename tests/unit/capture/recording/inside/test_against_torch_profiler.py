"""The host side of a result beside what torch.profiler exports of the same training: computed from both files alone."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tests.oracle.raw import Raw

#: Number of the type of device in PyTorch.
PRIVATE_USE_1 = 20
Event = dict[str, Any]
#: Events of torch.profiler's trace, and our result.
Both = tuple[list[Event], Raw]


def _training() -> Iterator[None]:
    """The same steps each time."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    ).npu()
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader([(torch.randn(3, 8, 8), 1) for _ in range(20)], batch_size=4)
    for images, labels in loader:
        images, labels = images.npu(), labels.npu()
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


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    import torch

    folder = tmp_path_factory.mktemp("both")
    cpu = [torch.profiler.ProfilerActivity.CPU]
    for _ in _training():  # what runs once in a process
        pass
    gc.collect()
    gc.disable()  # finalizers of what earlier tests left would run inside one of the two trainings, and be recorded there
    try:
        _profiled(torch.profiler, lambda found: found.export_chrome_trace(str(folder / "theirs.json")), activities=cpu)
        _profiled(profiler, profiler.tensorboard_trace_handler(str(folder)))
    finally:
        gc.enable()
    events = json.loads((folder / "theirs.json").read_text(), parse_float=Decimal)["traceEvents"]
    return events, Raw(next(folder.glob("*_ascend_pt")))


def _calls(events: list[Event], *kinds: str) -> list[Event]:
    """Outer ones first, a thread after the other."""
    found = [event for event in events if event["ph"] == "X" and event.get("cat") in kinds]
    return sorted(found, key=lambda event: (event["tid"], Decimal(event["ts"]), -Decimal(event["dur"])))


def _nested(events: list[Event]) -> list[tuple[str, ...]]:
    """Names of what each one is in, and its own."""
    out: list[tuple[str, ...]] = []
    open_: list[tuple[Decimal, tuple[str, ...]]] = []
    tid = None
    for event in events:
        start = Decimal(event["ts"])
        if event["tid"] != tid:
            tid, open_ = event["tid"], []
        while open_ and start >= open_[-1][0]:
            open_.pop()
        path = (*(open_[-1][1] if open_ else ()), event["name"])
        open_.append((start + Decimal(event["dur"]), path))
        out.append(path)
    return out


def _links(events: list[Event]) -> list[tuple[int, bool]]:
    """Sequence numbers go on from run to run: only which are equal is compared, and where the forward pass was."""
    seen: dict[int, int] = {-1: -1}
    numbers = [event["args"].get("Sequence number", -1) for event in events]
    backward = [bool(event["args"].get("Fwd thread id", 0)) for event in events]
    return [(seen.setdefault(number, len(seen)), is_back) for number, is_back in zip(numbers, backward)]


def _tensors(event: Event) -> list[tuple[str, str]]:
    """Shape and type of each argument, tensors of lists one by one."""
    out = []
    for shape, type_ in zip(event["args"].get("Input Dims", ()), event["args"].get("Input type", ())):
        for one in shape if shape and isinstance(shape[0], list) else [shape]:
            out.append((",".join(map(str, one)), type_ or "None"))
    return out


def test_operators_their_nesting_shapes_and_the_links_of_the_backward_pass(both: Both) -> None:
    theirs, ours = (_calls(events, "cpu_op", "user_annotation") for events in (both[0], both[1].slices))
    assert _nested(ours) == _nested(theirs)
    assert {"aten::convolution", "ConvolutionBackward0", "forward", "Optimizer.step#Adam.step"} <= {
        event["name"] for event in ours
    }
    assert _links(ours) == _links(theirs)
    assert len({number for number, is_back in _links(ours) if is_back}) > 5
    for one, other in zip(ours, theirs):
        texts = [one["args"].get(key) for key in ("Input Dims", "Input type")]
        found = list(zip(*(text.split(";\r\n") for text in texts))) if all(text is not None for text in texts) else []
        assert found == _tensors(other), one["name"]


def test_python_functions(both: Both) -> None:
    def functions(events: list[Event]) -> Counter[str]:
        """Names, with the modules that they belong to, of the model: the lines that call the two profilers differ."""
        names = (event["name"] for event in _calls(events, "python_function"))
        return Counter(name.partition(" at 0x")[0] for name in names if "torch/nn/" in name or name.startswith("nn."))

    ours = functions(both[1].slices)
    assert ours == functions(both[0])
    assert ours["nn.Module: Conv2d_0"] == 2


def test_memory(both: Both) -> None:
    found = sorted((event for event in both[0] if event["name"] == "[memory]"), key=lambda event: Decimal(event["ts"]))
    changes = [event["args"] for event in found if event["args"]["Device Type"] == PRIVATE_USE_1]
    assert changes
    rows = [row for row in both[1].csv("operator_memory.csv") if not row["Name"].startswith("cann::")]
    sizes = [Decimal(row["Size(KB)"]) * 1024 for row in rows]
    taken = [change["Bytes"] for change in changes if change["Bytes"] > 0]
    assert sizes == [-(-(size + 32) // 512) * 512 for size in taken]  # as the allocator of torch_npu rounds
    held: Counter[Any] = Counter()
    for change in changes:  # what was there before may go, and another block come to its place
        held[change["Addr"]] = max(0, held[change["Addr"]] + change["Bytes"])
    assert sum(not row["Release Time(us)"].strip() for row in rows) == sum(bytes_ > 0 for bytes_ in held.values())
