"""Completes the capture settings from the profiler's database if JSON files lack them."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.looks import member
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.opening import open_database
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.torch_npu_db import PROFILER_DATABASE

_TAKEN = (names.GROUPS, names.ENVIRONMENT, names.DISTRIBUTED, names.SIMULATED)


def with_database_settings(
    capture: Capture, folder: Path, files: Sequence[str], log: ProblemLog, database: ResultFile = PROFILER_DATABASE
) -> Capture:
    """Return the capture with unknown fields filled from the profiler's database, if `files` has one. Problems are left
    to the reader of its tables."""
    for relative in files:
        path = folder / relative
        if not database.matches(path.name):
            continue
        with open_database(path, FileReport(ProblemLog(), relative)) as connection:
            if connection is not None:
                try:
                    return _complete(
                        capture, Source(connection, FileReport(ProblemLog(), relative), Spool()), path.name
                    )
                except sqlite3.DatabaseError:
                    continue
    return capture


def _complete(capture: Capture, source: Source, name: str) -> Capture:
    rows = source.read(schema.META_DATA)
    content = {key: _value(value) for key, value in zip(rows.texts("name"), rows.texts("value")) if key}
    ranks = [rank for rank in source.read(schema.RANK_DEVICE).ints("rank").tolist() if rank >= 0]
    devices = [text for text in source.read(schema.NPU_INFO).texts("name") if text]
    hosts = [text for text in source.read(schema.HOST_INFO).texts("host") if text]
    more = {key: value for key, value in content.items() if not key.startswith(schema.VERSION) and key not in _TAKEN}
    rank_known = capture.rank is not None or not ranks
    return dataclasses.replace(
        capture,
        rank=capture.rank if rank_known else ranks[0],
        rank_source=capture.rank_source if rank_known else name,
        device_name=capture.device_name or (devices[0] if devices else None),
        host=capture.host or (hosts[0] if hosts else None),
        environment=capture.environment
        or {key: str(value) for key, value in member(content, names.ENVIRONMENT).items()},
        groups=capture.groups
        or {key: group for key, group in member(content, names.GROUPS).items() if isinstance(group, dict)},
        distributed_args=capture.distributed_args or member(content, names.DISTRIBUTED),
        simulated=capture.simulated or bool(content.get(names.SIMULATED, False)),
        simulated_host=capture.simulated_host or content.get(names.SIMULATED) is True,
        metadata={**more, **capture.metadata},
    )


def _value(text: str | None) -> Any:
    """Decode JSON; other text stays text."""
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return text
