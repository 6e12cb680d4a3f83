"""Reads all results below a folder in this process, without cache and server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.store.pool.worker import run
from tb_npu_plugin.store.stages import Request, files_of, stages_of


def read_all(logdir: Path, out: Path) -> list[dict[str, Any]]:
    """The meta.json of each stage of each span, as the worker returns it, without internal errors."""
    metas = []
    for place in scan({"": logdir}).places():
        for stage in stages_of(place.span):
            folder = out / f"{place.span.token}-{stage}"
            folder.mkdir(parents=True)
            span = place.span
            request = Request(stage, span.folder, files_of(span, stage), folder, span.format, span.part)
            metas.append(run(request, lambda message: None))
    assert not [one for meta in metas for one in meta["problems"] if one["code"] == "reader_defect"]
    return metas
