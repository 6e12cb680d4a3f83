"""Rows of several spans in one answer."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.datastructures import MultiDict

from tb_npu_plugin.errors import Stale
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import rows_api
from tb_npu_plugin.store.timeline.open import Timeline

PART = MultiDict([("px", "1"), ("slices", "span:version:0:100:0")])


def gone(*arguments: object, **options: object) -> Any:
    raise FileNotFoundError("starts.npy")


def test_a_preview_that_was_removed_meanwhile_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_api.timeline_api, "slices", gone)
    opened = Timeline.__new__(Timeline)

    def served(*timelines: Timeline) -> SimpleNamespace:
        left: Iterator[Timeline] = iter(timelines)

        def timeline(span: str, version: str) -> Timeline:
            for one in left:
                return one
            raise Stale(Message("error.stale"))

        return SimpleNamespace(timeline=timeline)

    assert b'"parts":["stale"]' in rows_api.rows(served(opened), PART)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):  # it is still there: a defect of the disk
        rows_api.rows(served(opened, opened), PART)  # type: ignore[arg-type]
