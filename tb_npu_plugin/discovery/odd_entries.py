"""What is named as a result is, but is none: pipes, devices, folders in place of files, files packed twice."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.found import FinderResult, Folder, kind_of
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.formats import FORMATS


def odd_entries(folder: Folder, taken: Sequence[FinderResult]) -> list[Skipped]:
    """Those of a folder that no finder tells of."""
    told = {note.file.rpartition("/")[2] for one in taken for found in one.found for note in found.notes}
    told |= {skipped.path.rpartition("/")[2] for one in taken for skipped in one.skipped}
    out = []
    for entry in folder.entries:
        if entry.name in told:
            continue
        label = folder.label_of(entry.name)
        try:
            skipped = _odd(entry, label)
        except OSError as error:
            skipped = report.unreadable(label, error, is_file=True)
        if skipped is not None:
            out.append(skipped)
    return out


def _odd(entry: os.DirEntry[str], label: str) -> Skipped | None:
    """Raises OSError."""
    name = entry.name
    is_trace = kineto.HANDLER_NAME.fullmatch(name) is not None
    if layout.is_result_name(name):
        return None if entry.is_dir() or _leads_nowhere(entry) else report.not_a_folder(label)
    is_known = is_trace or any(format.file(name) is not None for format in FORMATS.values())
    if _leads_nowhere(entry):
        return None
    if not entry.is_file():
        return report.not_a_file(label, kind_of(entry)) if is_known else None
    return report.other_form(label) if kineto.HANDLER_END in name and not is_trace else None


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """A link without a target: the walk tells of it."""
    return entry.is_symlink() and not entry.is_file() and not entry.is_dir() and not os.path.exists(entry.path)  # noqa: PTH110
