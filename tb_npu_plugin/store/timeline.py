"""The timeline of one span: a folder of mapped arrays, made from a trace once, asked many times."""

from __future__ import annotations

from tb_npu_plugin.store.timeline_build import build_timeline
from tb_npu_plugin.store.timeline_open import Timeline

__all__ = ["Timeline", "build_timeline"]
