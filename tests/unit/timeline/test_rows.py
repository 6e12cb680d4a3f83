"""Rows of several sources in one answer."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.errors import Stale
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline import rows
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.ask import ask_service

SOURCES = [{"span": "s", "version": "1", "zero": "0", "rows": [[0, 0, 0]]}]


def gone(*arguments: object, **options: object) -> Any:
    raise FileNotFoundError("starts.npy")


def test_a_preview_that_was_removed_meanwhile_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "row_numbers", gone)
    opened = Timeline.__new__(Timeline)
    opened.base_ns = 0

    def served(*timelines: Timeline) -> SimpleNamespace:
        left: Iterator[Timeline] = iter(timelines)

        def layer(span: str, layer: str, version: str) -> Layer:
            for one in left:
                return Layer(one)
            raise Stale(Message("error.stale"))

        return SimpleNamespace(layer=layer)

    assert b'"parts":["stale"]' in ask_service(served(opened), "rows", SOURCES, t0=0, t1=100, px=1)
    with pytest.raises(FileNotFoundError):  # it is still there: a defect of the disk
        ask_service(served(*[opened] * 4), "rows", SOURCES, t0=0, t1=100, px=1)
