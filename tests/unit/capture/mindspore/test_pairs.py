"""Any two settings of a capture of MindSpore meet in one of these: the invariants of `tb-npu mock` hold in each, and its database
says the same as its text. Source: docs/facts/ascend_pt.md, Invariants."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.mindspore.parse import parse_folder
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.invariants import check_all
from tests.support.pairs import Axes, covering
from tests.support.span import found_spans
from tests.unit.capture.mindspore.captures import write_capture, write_rank

_OFF_ON = (False, True)
_SWITCHES = ("record_shapes", "profile_memory", "with_stack", "l2_cache", "sys_io", "sys_interconnection")
AXES: Axes = {
    "profiler_level": ("Level0", "Level1", "Level2"),
    "aic_metrics": tuple(AIC_METRICS.values()),
    "activities": (("CPU", "NPU"), ("NPU",)),
    "kind": ("one rank", "without threads", "two ranks"),
    **dict.fromkeys(_SWITCHES, _OFF_ON),
}
#: A database does not say which launch and step a kernel belongs to.
_OF_TEXT = {"step", "full_name", "scope"}


def write(logdir: Path, kind: str, settings: dict[str, Any]) -> Path:
    if kind == "two ranks":
        write_rank(logdir / "other", 1, 2, [0, 1], [100, 4_000], [300, 4_200], **settings)
        return write_rank(logdir, 0, 2, [0, 1], [100, 1_000], [300, 4_200], **settings)
    return write_capture(logdir, runtime=kind == "one rank", graphs=True, **settings)


def tables_of(folder: Path, logdir: Path, database: bool) -> dict[str, Table]:
    """What is read of a copy of the result that holds text or databases alone."""
    copy = logdir / folder.name
    shutil.copytree(folder, copy)
    for path in (copy / OUTPUT_FOLDER).iterdir():
        if (path.suffix == ".db") != database:
            path.unlink()
    (span,) = found_spans(logdir)
    return span.tables


@pytest.mark.full
def test_any_two_settings_give_a_whole_result_as_text_and_as_database(tmp_path: Path) -> None:
    for number, row in enumerate(covering(AXES)):
        settings = {**row, "export_type": ["text", "db"]}
        logdir = tmp_path / str(number)
        folder = write(logdir / "both", settings.pop("kind"), settings)
        parse_folder(folder)
        detailed = {"11", "14", "12" if row["kind"] == "two ranks" else "06"}
        assert check_all(folder) >= {"07"} | (detailed if row["profiler_level"] != "Level0" else set()), row
        text, database = (tables_of(folder, logdir / name, name == "db") for name in ("text", "db"))
        for name in ("kernels", "comm_ops"):
            assert (name in text) <= (name in database), (row, name)
            if name in text:
                same(text[name], database[name], row)


def same(text: Table, database: Table, row: dict[str, Any]) -> None:
    """Values agree wherever both are known: a database has no model of a collective, text no type of a kernel at level 0."""
    assert text.ints("start_ns").tolist() == database.ints("start_ns").tolist(), row
    for column in text.columns:
        if database.has(column.key) and column.key not in _OF_TEXT:
            values = text.data[column.key].tolist()
            values = ["COMMUNICATION" if one == "HCCL" else one for one in values]  # as MindSpore 2.7 names it
            pairs = zip(values, database.data[column.key].tolist())
            different = [(one, other) for one, other in pairs if one != other and is_known(one) and is_known(other)]
            assert not different, (row, column.key)


def is_known(value: Any) -> bool:
    return value not in (None, "", NULL_INT) and value == value  # nan is unknown
