"""These tests are collected only where the device is, and parse in their own process: starting one for each capture takes
longer than the parsing (test_recording.py has captures that are parsed in a separate process)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.device.load import SITE
from tb_npu_plugin.capture.recording.parse import parse

if str(SITE) not in os.environ.get("PYTHONPATH", ""):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def parse_in_this_process() -> Iterator[None]:
    def run_parser(folder: Path, out: Path, types: Sequence[str], report: Any, started: Any = None) -> None:
        parse(folder, out, types, report)

    with mock.patch.object(parsing, "run_parser", run_parser):
        yield
