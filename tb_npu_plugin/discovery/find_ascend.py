"""Finds results of the Ascend profilers: parsed files in ASCEND_PROFILER_OUTPUT, or copies of them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.find_msprof import databases_in, is_exported, newest
from tb_npu_plugin.discovery.find_tables import known_by_header, known_tables
from tb_npu_plugin.discovery.found import (
    FinderResult,
    Folder,
    Found,
    files_of,
    found_file,
    is_file,
    list_folder,
    unread_of,
)
from tb_npu_plugin.discovery.identity import Identity, identify
from tb_npu_plugin.discovery.looks import DATABASE_NAME, INFO
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.model import NO_UNREAD, Unread
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema import mindspore, mindspore_cpu
from tb_npu_plugin.schema.formats import FORMATS, MINDSPORE, MINDSPORE_CPU, MSPROF, TORCH_NPU, Format
from tb_npu_plugin.schema.msprof import MSPROF_DATABASE
from tb_npu_plugin.schema.torch_npu_db import PROFILER_DB
from tb_npu_plugin.schema.torch_npu_json import ANALYSE_MOCK, MOCK_CAPTURE, MOCK_TRACE, OUTPUT_FOLDER


def find_ascend(folder: Folder) -> FinderResult | None:
    """Take a folder with ASCEND_PROFILER_OUTPUT or with files of it; report one that holds only raw data."""
    names = folder.folders
    if OUTPUT_FOLDER not in names and any(map(layout.is_result_name, names)):
        # MindSpore 2.3 and 2.4 put the raw data next to the result.
        return FinderResult(closed=frozenset(filter(layout.is_raw, names)))
    raw = frozenset(name for name in names if layout.is_raw(name))
    if OUTPUT_FOLDER not in names and not raw and not any(map(_belongs_in_output, folder.entries)):
        return None
    format = _format(folder)
    if format is MINDSPORE and _is_of_cpu(folder, raw):
        return _cpu_result(folder, raw)
    if OUTPUT_FOLDER not in names and any(_belongs_in_output(entry) for entry in folder.entries):
        taken = _result(folder, format, raw, "")
        taken.closed = raw
        return taken
    if OUTPUT_FOLDER in names:
        taken = _result(folder, format, raw, f"{OUTPUT_FOLDER}/")
        taken.closed = layout.CLOSED_FOLDERS | raw
        taken.skips_subfolders = layout.is_result_name(folder.name)
        return taken
    raw -= frozenset(name for name in raw if is_exported(folder.path / name))
    if raw:
        return FinderResult(skipped=[_never_parsed(folder, _raw_format(folder, raw, format))], closed=raw)
    return None


def _belongs_in_output(entry: os.DirEntry[str]) -> bool:
    """Whether torch_npu and MindSpore write this file into ASCEND_PROFILER_OUTPUT only."""
    spec = TORCH_NPU.file(entry.name)
    return spec is not None and not spec.in_root and spec is not MSPROF_DATABASE and is_file(entry)


def _raw_format(folder: Folder, raw: frozenset[str], format: Format) -> Format:
    """The format whose program parses the raw data: msprof unless a framework recorded it."""
    recorded = layout.RAW_FRAMEWORK in raw or bool(layout.suffix_of(folder.name))
    recorded = recorded or any(layout.INFO_NAME.fullmatch(entry.name) for entry in folder.entries)
    return format if recorded else MSPROF


def _format(folder: Folder) -> Format:
    """The profiler that wrote the folder, by its name, else by its content."""
    suffix = layout.suffix_of(folder.name)
    if suffix:
        return MINDSPORE if suffix == mindspore.SUFFIX else TORCH_NPU
    return MINDSPORE if _is_mindspore(folder) else TORCH_NPU


def _is_mindspore(folder: Folder) -> bool:
    """Whether the settings are MindSpore's, or files exist that only MindSpore writes."""
    for entry in folder.entries:
        file = found_file(entry, entry.name, (), []) if layout.INFO_NAME.fullmatch(entry.name) else None
        info = folder.look(INFO, file) if file is not None else None
        if info is not None:
            return info.mindspore
    inner = (folder.inner(name) for name in (OUTPUT_FOLDER, layout.RAW_FRAMEWORK))
    return any(mindspore.ONLY_MINDSPORE.match(entry.name) for entry in chain(folder.entries, *inner))


def _never_parsed(folder: Folder, format: Format) -> report.Skipped:
    if format is MSPROF:
        return report.never_exported(folder.label, format.analyse, folder.path)
    framework = folder.path / layout.RAW_FRAMEWORK
    if (framework / MOCK_CAPTURE).is_file():
        is_mindspore = format is MINDSPORE
        ended, analyse = (
            (mindspore.SIMULATED_HOST, mindspore.ANALYSE_SIMULATED) if is_mindspore else (MOCK_TRACE, ANALYSE_MOCK)
        )
        if not (framework / ended).is_file():
            return report.skip("interrupted", folder.label)
        return report.skip(
            "never_parsed", folder.label, action="action.parse", command=report.python_command(analyse, folder.path)
        )
    return report.skip("never_parsed", folder.label, command=report.python_command(format.analyse, folder.path))


def _result(folder: Folder, format: Format, raw: frozenset[str], prefix: str) -> FinderResult:
    """Take a folder with parsed files, or report why not. prefix: path of those files below it, with a trailing
    slash."""
    try:
        output = list_folder(folder.path / prefix)
    except FileNotFoundError:
        return FinderResult()
    except OSError as error:
        raise_if_of_environment(error)
        folder.unlisted[OUTPUT_FOLDER] = error
        return FinderResult()
    notes: list[Problem] = []
    parsed = [entry for entry in output if not layout.is_in_root(format, entry.name)]
    files = files_of(parsed, prefix, format, notes)
    if format is TORCH_NPU:
        for file in known_tables(folder, parsed, prefix, notes):
            if all(other.name != file.name for other in files):
                files.append(file)
                notes.append(known_by_header(file))
    if not files:
        return FinderResult(skipped=[_never_parsed(folder, format) if raw else report.skip("empty", folder.label)])
    if not layout.is_result_name(folder.name):
        notes.append(_renamed_result(report.decode_name(folder.name), format))
    files += files_of([entry for entry in folder.entries if layout.is_in_root(format, entry.name)], "", format, notes)
    if format is MINDSPORE:
        files += files_of(folder.inner(layout.RAW_FRAMEWORK), f"{layout.RAW_FRAMEWORK}/", format, notes)
    files += _exported_database(folder, raw, files, notes)
    identity = _identity(folder, format, [file for file in files if layout.INFO_NAME.fullmatch(file.relative)])
    known = {file.relative for file in files if file.known_as}
    unread = unread_of([entry for entry in output if prefix + entry.name not in known], prefix, format)
    return FinderResult(_by_database(folder, folder.result(format, identity, files, notes, unread=unread)))


def _by_database(folder: Folder, found: Found) -> list[Found]:
    """A span for each rank that databases name. Other files stay with the rank that settings or the folder name; if none does, the
    settings are those of all ranks."""
    found = replace(found, files=tuple(_by_content(folder, file) for file in found.files))
    databases: dict[int, list[FoundFile]] = defaultdict(list)
    others: list[FoundFile] = []
    for file in found.files:
        named = layout.DATABASE_RANK.fullmatch(file.name)
        (databases[int(named.group("rank"))] if named else others).append(file)
    identities = {
        rank: replace(found.identity, rank=rank, rank_source=files[0].name) for rank, files in databases.items()
    }
    rank = found.identity.rank
    if len(databases) < 2:
        return [replace(found, identity=identity) for identity in identities.values() if rank is None] or [found]
    found = replace(found, run=found.run if layout.is_result_name(folder.name) else folder.parts)
    spans = []
    if rank is not None or not all(layout.is_in_root(FORMATS[found.format], file.name) for file in others):
        own = databases.pop(rank, []) if rank is not None else []
        spans.append(replace(found, files=(*others, *own)))
        found, others = replace(found, unread=NO_UNREAD), []
    for number, files in sorted(databases.items()):
        parts = (*folder.parts, f"rank {number}")
        spans.append(replace(found, parts=parts, identity=identities[number], files=(*others, *files)))
    return spans


def _by_content(folder: Folder, file: FoundFile) -> FoundFile:
    """The file; a profiler's database that people renamed to analysis<number>.db by its tables. Profilers number no analysis.db."""
    database = folder.look(DATABASE_NAME, file) if layout.NUMBERED_ANALYSIS.fullmatch(file.name) else None
    spec = TORCH_NPU.file(database or "")
    if database is None or spec is None or not spec.name.startswith(PROFILER_DB):
        return file
    return replace(file, known_as=database, stages=spec.stages, fallback=spec.fallback)


def _identity(folder: Folder, format: Format, infos: Sequence[FoundFile]) -> Identity:
    """Identity of a result. infos: its profiler_info files."""

    def recorded() -> int | None:
        found = (folder.look(INFO, file) for file in infos)
        return next((info.rank for info in found if info is not None and info.rank is not None), None)

    names = [file.relative for file in infos]
    identity = identify(folder.path, folder.parts or (folder.path.name,), names, recorded)
    info = folder.look(INFO, infos[0]) if format is MINDSPORE and infos else None
    # Processes that never initialised communication all claim rank 0; the device separates them.
    return identity if info is None else replace(identity, device=info.device)


def _is_of_cpu(folder: Folder, raw: frozenset[str]) -> bool:
    """Whether MindSpore recorded without an NPU: it writes files of the CPU, no settings, and no raw data of a device."""
    if layout.RAW_FRAMEWORK not in raw or any(name.startswith(layout.RAW_PREFIX) for name in raw):
        return False
    if any(layout.INFO_NAME.fullmatch(entry.name) for entry in folder.entries):
        return False
    names = [entry.name for entry in folder.inner(layout.RAW_FRAMEWORK)]
    return MOCK_CAPTURE not in names and any(map(mindspore_cpu.RANK.fullmatch, names))


def _cpu_result(folder: Folder, raw: frozenset[str]) -> FinderResult:
    """Take the files of the CPU and the trace."""
    notes: list[Problem] = []
    files: list[FoundFile] = []
    unread: list[Unread] = []
    for name in ("", OUTPUT_FOLDER, layout.RAW_FRAMEWORK):
        prefix, entries = f"{name}/" if name else "", folder.inner(name)
        files += files_of(entries, prefix, MINDSPORE_CPU, notes)
        unread.append(unread_of(entries, prefix, MINDSPORE_CPU))
    identity = identify(folder.path, folder.parts or (folder.path.name,))
    rank, source = mindspore_cpu.rank_in(file.name for file in files)
    if rank is not None:
        identity = replace(identity, rank=rank, rank_source=source)
    own = Unread(tuple(file for one in unread for file in one.files), sum(one.more for one in unread))
    found = folder.result(MINDSPORE_CPU, identity, files, notes, unread=own)
    return FinderResult(
        [found], closed=layout.CLOSED_FOLDERS | raw, skips_subfolders=layout.is_result_name(folder.name)
    )


def _exported_database(
    folder: Folder, raw: frozenset[str], files: list[FoundFile], notes: list[Problem]
) -> list[FoundFile]:
    """The database that msprof exported into the raw data, if the framework's profiler wrote none."""
    if any(file.fallback and file.is_trace for file in files):
        return []
    found = [database for name in sorted(raw) for database in databases_in(folder.inner(name), f"{name}/", notes)]
    return newest(found, notes)


def _renamed_result(name: str, format: Format) -> Problem:
    suffix = mindspore.SUFFIX if format is MINDSPORE else layout.RESULT_SUFFIXES[0]
    return problem_of("renamed_result", found=name, suffix=suffix)
