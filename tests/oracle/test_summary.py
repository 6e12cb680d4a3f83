"""Recorded Summary files: what TensorBoard shows equals what a decoder of the standard library reads in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.summary.mirror import update
from tests.conftest import real_data
from tests.support.summary_files import fields, records
from tests.unit.summary.shown import shown

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


@pytest.mark.parametrize(("run", "graph", "tags"), [("collector", 41, 8), ("record", 0, 3)])
def test_recorded_values_are_shown(run: str, graph: int, tags: int, tmp_path: Path) -> None:
    folder = real_data()
    if folder is None or not (folder / "mindspore_cpu").is_dir():
        pytest.skip("no recordings of MindSpore: set NPU_REAL_DATA")
    source = folder / "mindspore_cpu" / "summary"
    report = update(source, tmp_path)
    assert report is not None and report.problems == []
    found = shown(tmp_path / run)
    (file,) = (source / run).glob("*_MS")
    expected = recorded(file)
    assert len(expected) == tags
    assert {
        tag: {step: read(found.plugins[tag], value) for step, value in found.values[tag]} for tag in expected
    } == expected
    assert all(len(set(found.steps(tag))) == len(found.steps(tag)) for tag in found.values), "no step twice"
    assert found.graph.count(b"Default/") >= graph
