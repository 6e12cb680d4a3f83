"""What TensorBoard shows of each kind of value is what was recorded."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import graph_pb2
from tensorboard.plugins.hparams import metadata as hparams

from tb_npu_plugin.summary.mirror import update
from tests.support import summary_files as files
from tests.unit.summary.shown import Shown, shown

FLOATS = st.floats(width=32, allow_nan=False)


def convert(folder: Path, *events: bytes, lineage: tuple[bytes, ...] = ()) -> Shown:
    files.write(folder / "logs" / "run", *events)
    if lineage:
        files.write(folder / "logs" / "run", *lineage, name=files.name_of(end="_lineage"))
    report = update(folder / "logs", folder / "out")
    assert report is not None and list(report.events) == ["run"] and report.problems == []
    return shown(folder / "out" / "run")


def test_scalars_keep_their_bits_steps_and_times(tmp_path: Path) -> None:
    values = [0.1, -0.0, 1e-45, 3.4028234e38, math.inf, -math.inf, math.nan]
    found = convert(
        tmp_path, *(files.event(3 * step, files.scalar("loss/auto", value)) for step, value in enumerate(values))
    )
    assert found.plugins == {"loss/auto": "scalars"} and found.steps("loss/auto") == [0, 3, 6, 9, 12, 15, 18]
    read = [value.tobytes() for _, value in found.values["loss/auto"]]
    assert read == [struct.pack("<f", value) for value in values]


def test_histograms_keep_their_buckets(tmp_path: Path) -> None:
    buckets = [(-1.5, 0.5, 3), (-1.0, 0.5, 0), (-0.5, 1e-9, 2**40)]
    found = convert(tmp_path, files.event(1, files.histogram("w", buckets, nan=7), files.histogram("none", [])))
    assert found.plugins == {"w": "histograms", "w/nan": "scalars", "none": "histograms"}
    ((step, rows),) = found.values["w"]
    assert step == 1 and rows.tolist() == [[left, left + width, count] for left, width, count in buckets]
    assert found.scalars("w/nan") == [7] and found.values["none"][0][1].shape == (0, 3)


def test_images_keep_their_bytes(tmp_path: Path) -> None:
    encoded = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    found = convert(tmp_path, files.event(2, files.image("input", encoded)))
    assert found.plugins == {"input": "images"}
    assert found.values["input"][0][1].tolist() == [b"6", b"8", encoded]


def test_tensors_become_statistics_of_their_finite_values(tmp_path: Path) -> None:
    found = convert(
        tmp_path, files.event(1, files.tensor("t", [1, 2, 6, math.nan, math.inf]), files.tensor("no", [math.nan]))
    )
    assert {tag: found.scalars(tag) for tag in found.values} == {
        "t/min": [1],
        "t/mean": [3],
        "t/max": [6],
        "t/std": [float(np.float32(math.sqrt(14 / 3)))],
        "t/nan": [1],
        "t/inf": [1],
        "no/nan": [1],
    }


def test_graphs_have_nodes_by_scope_with_their_inputs(tmp_path: Path) -> None:
    found = convert(
        tmp_path, files.graph({"net/conv/Conv2D": ["x", "w"], "net/ReLU": ["net/conv/Conv2D", "gone"]}, ["x", "w"])
    )
    graph = graph_pb2.GraphDef.FromString(found.graph)
    assert {node.name: (node.op, list(node.input)) for node in graph.node} == {
        "Parameters/x": ("Parameter", []),
        "Parameters/w": ("Parameter", []),
        "Default/net/conv/Conv2D": ("Conv2D", ["Parameters/x", "Parameters/w"]),
        "Default/net/ReLU": ("ReLU", ["Default/net/conv/Conv2D"]),
    }


def test_lineage_is_a_session_of_hparams_with_metrics_and_texts(tmp_path: Path) -> None:
    lineage = (
        files.dataset_graph("BatchDataset"),
        files.custom_lineage("lr2", 0.5),
        files.train_lineage("Momentum", 0.1, 3),
        files.evaluation_lineage('{"acc": 0.75, "report": [1]}'),
    )
    found = convert(tmp_path, files.event(1, files.scalar("loss", 1.0)), lineage=lineage)
    session = hparams.parse_session_start_info_plugin_data(found.contents["_hparams_/session_start_info"])
    assert {name: value.string_value or value.number_value for name, value in session.hparams.items()} == {
        "optimizer": "Momentum",
        "learning_rate": 0.1,
        "epoch": 3,
        "lr2": 0.5,
    }
    assert found.scalars("eval/acc") == [0.75] and "eval/report" not in found.values
    texts = {tag: found.values[tag][0][1].item().decode() for tag in found.values if tag.startswith("lineage/")}
    assert {tag: json.loads(text.removeprefix("```json").removesuffix("```")) for tag, text in texts.items()} == {
        "lineage/dataset": {"op_type": "BatchDataset"},
        "lineage/custom": {"lr2": 0.5},
        "lineage/train": {"hyper_parameters": {"optimizer": "Momentum", "learning_rate": 0.1, "epoch": 3}},
        "lineage/evaluation": {"metric": '{"acc": 0.75, "report": [1]}'},
    }


def test_what_an_epoch_end_repeats_is_dropped_and_what_it_adds_is_kept(tmp_path: Path) -> None:
    loss, weight = files.scalar("loss", 0.5), files.histogram("w", [(0.0, 1.0, 2)])
    found = convert(
        tmp_path,
        files.event(8, loss),
        files.event(8, loss, weight),
        files.event(9, loss),
        files.event(9, files.scalar("loss", 0.25)),
    )
    assert list(zip(found.steps("loss"), found.scalars("loss"))) == [(8, 0.5), (9, 0.5), (9, 0.25)]
    assert found.steps("w") == [8]


@given(st.lists(st.tuples(st.integers(0, 2**40), FLOATS), min_size=1, max_size=20, unique_by=lambda item: item[0]))
def test_any_scalars(items: list[tuple[int, float]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = convert(Path(folder), *(files.event(step, files.scalar("x", value)) for step, value in items))
        assert list(zip(found.steps("x"), found.scalars("x"))) == items
