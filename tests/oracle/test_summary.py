"""Recorded Summary files: what TensorBoard shows equals what a decoder of the standard library reads in them."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto import graph_pb2

from tb_npu_plugin.summary.mirror import Report, update
from tests.programs import python_of
from tests.support.real_data import recording
from tests.support.summary_files import fields, records
from tests.unit.summary.shown import Shown, shown

KINDS = {3: "scalars", 4: "images", 9: "histograms"}


def recorded(file: Path) -> dict[str, dict[int, Any]]:
    """Values of scalars, images and histograms by tag and step."""
    out: dict[str, dict[int, Any]] = {}
    for event in map(fields, records(file.read_bytes())):
        step = int.from_bytes(dict(event).get(2, b""), "little")
        for summary in (content for number, content in event if number == 5):
            for _, value in fields(summary):
                (_, tag), (kind, content) = fields(value)
                if kind in KINDS:
                    out.setdefault(tag.decode(), {})[step] = decode(kind, content)
    return out


def decode(kind: int, content: bytes) -> Any:
    if kind == 3:
        return content
    if kind == 4:
        return dict(fields(content))[4]
    return list(buckets(content))


def buckets(content: bytes) -> Iterator[list[float]]:
    for number, bucket in fields(content):
        if number == 1:
            found = dict(fields(bucket))
            left, width = (struct.unpack("<d", found.get(number, bytes(8)))[0] for number in (1, 2))
            yield [left, left + width, int.from_bytes(found.get(3, b""), "little")]


def read(plugin: str, value: Any) -> Any:
    if plugin == "scalars":
        return value.tobytes()
    return value[2] if plugin == "images" else value.tolist()


def check_shown(file: Path, run: Path) -> Shown:
    """Compare a run with its source; what is shown."""
    found, expected = shown(run), recorded(file)
    assert {
        tag: {step: read(found.plugins[tag], value) for step, value in found.values[tag]} for tag in expected
    } == expected
    assert all(len(set(found.steps(tag))) == len(found.steps(tag)) for tag in found.values), "no step twice"
    return found


@pytest.mark.parametrize(("run", "operators", "tags"), [("collector", 41, 8), ("record", 0, 3)])
def test_recorded_values_are_shown(run: str, operators: int, tags: int, tmp_path: Path) -> None:
    source = recording("mindspore_cpu") / "summary"
    report = update(source, tmp_path)
    assert report is not None and report.problems == []
    (file,) = (source / run).glob("*_MS")
    assert len(recorded(file)) == tags
    graph = graph_pb2.GraphDef.FromString(check_shown(file, tmp_path / run).graph)
    assert sum(node.name.startswith(("Default/", "Gradients/")) for node in graph.node) == operators
    names = {node.name for node in graph.node}
    assert all(name in names for node in graph.node for name in node.input)


@pytest.fixture(scope="session")
def mindspore() -> str:
    """A Python with MindSpore."""
    return str(python_of("mindspore"))


#: Writes every kind of value; prints the scalars and says when half is written.
SCRIPT = """
import sys, numpy as np, mindspore as ms
from mindspore.train import lineage_pb2
from mindspore.train.summary import SummaryRecord
draw = np.random.default_rng(1)
train, evaluation = lineage_pb2.TrainLineage(), lineage_pb2.EvaluationLineage(metric='{"acc": 0.5}')
train.hyper_parameters.optimizer, train.hyper_parameters.learning_rate = "Adam", 0.001
with SummaryRecord(sys.argv[1]) as record:
    for step in range(1, 9):
        loss = np.float32(draw.standard_normal())
        weights = draw.standard_normal(300).astype(np.float32)
        weights[:3] = np.nan, np.inf, -np.inf
        record.add_value("scalar", "loss", ms.Tensor(loss))
        record.add_value("histogram", "weights", ms.Tensor(weights))
        record.add_value("tensor", "weights/all", ms.Tensor(weights))
        record.add_value("image", "input", ms.Tensor(draw.random((1, 3, 6, 5)).astype(np.float32)))
        if step == 8:
            record.add_value("train_lineage", "train", train)
            record.add_value("eval_lineage", "evaluation", evaluation)
        record.record(step)
        print(loss.tobytes().hex(), flush=True)
        if step == 4:
            record.flush()
            sys.stdin.readline()
"""


@pytest.mark.full
def test_what_mindspore_writes_is_followed(mindspore: str, tmp_path: Path) -> None:
    logdir, out = tmp_path / "summary", tmp_path / "out"
    with subprocess.Popen(
        [mindspore, "-c", SCRIPT, str(logdir / "rank_0")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        losses = [process.stdout.readline().strip() for _ in range(4)]
        end = time.monotonic() + 60
        while (update(logdir, out) or Report({}, [])).events != {"rank_0": 4} and time.monotonic() < end:
            time.sleep(0.1)
        assert shown(out / "rank_0").steps("loss") == [1, 2, 3, 4]
        process.stdin.write("\n")
        process.stdin.close()
        losses += process.stdout.read().split()
    assert process.returncode == 0
    report = update(logdir, out)
    assert report is not None and report.problems == []
    (file,) = (logdir / "rank_0").glob("*_MS")
    found = check_shown(file, out / "rank_0")
    assert [value.tobytes().hex() for _, value in found.values["loss"]] == losses
    assert all(rows[:, 2].sum() == 297 for _, rows in found.values["weights"])
    assert [found.scalars(f"weights/{name}") for name in ("nan", "inf", "-inf")] == [[1.0] * 8] * 3
    assert found.scalars("weights/all/nan") == [1.0] * 8 and found.scalars("eval/acc") == [0.5]
    assert "_hparams_/session_start_info" in found.values
