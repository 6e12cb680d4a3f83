"""Results of the Ascend profilers: folders with parsed files in an ASCEND_PROFILER_OUTPUT."""

from __future__ import annotations

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.found import Folder, Found, Taken, files_of, listed
from tb_npu_plugin.discovery.identity import fold, identify
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.formats import TORCH_NPU, Format
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER


def find_ascend(folder: Folder) -> Taken | None:
    """A folder with an ASCEND_PROFILER_OUTPUT, or one of raw data that was never parsed."""
    names = folder.folders
    raw = frozenset(name for name in names if layout.is_raw(name))
    format = _format(folder)
    if OUTPUT_FOLDER in names:
        taken = _result(folder, format, bool(raw))
        taken.closed = layout.CLOSED_FOLDERS | raw
        taken.whole = layout.is_result_name(folder.name)
        return taken
    if raw:
        return Taken(skipped=[_never_parsed(folder, format)], closed=raw)
    return None


def _format(folder: Folder) -> Format:
    """Which profiler wrote it."""
    return TORCH_NPU


def _never_parsed(folder: Folder, format: Format) -> report.Skipped:
    return report.never_parsed(folder.label, format.analyse.format(path=report.shown(str(folder.path))))


def _result(folder: Folder, format: Format, raw: bool) -> Taken:
    """Take a folder that has an ASCEND_PROFILER_OUTPUT, or say why not."""
    try:
        output = listed(folder.path / OUTPUT_FOLDER)
    except FileNotFoundError:
        return Taken()
    except OSError as error:
        return Taken(skipped=[report.unreadable(f"{folder.label}/{OUTPUT_FOLDER}", error)])
    notes: list[Problem] = []
    parsed = [entry for entry in output if not layout.is_in_root(format, entry.name)]
    files = files_of(parsed, f"{OUTPUT_FOLDER}/", format, notes)
    if not files:
        return Taken(skipped=[_never_parsed(folder, format) if raw else report.empty(folder.label)])
    if not layout.is_result_name(folder.name):
        notes.append(_renamed(report.shown(folder.name)))
    files += files_of([entry for entry in folder.entries if layout.is_in_root(format, entry.name)], "", format, notes)
    infos = [(file.relative, file.size, file.mtime_ns) for file in files if layout.INFO_NAME.fullmatch(file.relative)]
    identity = identify(folder.path, folder.parts or (folder.path.name,), infos)
    label = report.shown(folder.path.name)
    return Taken([
        Found(format.id, folder.path, folder.parts, fold(folder.parts), identity, tuple(files), tuple(notes), label)
    ])  # fmt: skip


def _renamed(name: str) -> Problem:
    return Problem(
        "renamed_result", "", "", "a folder name that ends in _ascend_pt", name,
        "Nothing; host, process and time cannot be read from the name.", "Keep the name that the profiler gave.",
        severity="info",
    )  # fmt: skip
