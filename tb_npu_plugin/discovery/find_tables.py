"""Finds CSV files and databases of the Ascend profilers under other names, by their header and their tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.found import FinderResult, Folder, found_file, is_file
from tb_npu_plugin.discovery.identity import identify
from tb_npu_plugin.discovery.looks import CSV_HEADER, DATABASE_NAME
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.schema.core import DATABASE_SUFFIX, ResultFile, normalise_header
from tb_npu_plugin.schema.formats import FORMATS, MSPROF, TORCH_NPU
from tb_npu_plugin.schema.msprof import MSPROF_DATABASE
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES

CSV_ENDS = (".csv", ".csv.gz")
#: Most such files of a folder that are looked into: a folder with more holds data of something else.
MAX_LOOKS = 100
#: Least known columns of a header, and their least share. The file of kernels has columns that are not declared, and must have
#: more that are.
_LEAST_COLUMNS, _LEAST_SHARE, _LEAST_OF_METRICS = 4, 0.6, 6


def known_tables(
    folder: Folder, entries: Sequence[os.DirEntry[str]], prefix: str, notes: list[Problem]
) -> list[FoundFile]:
    """The files that no format declares by name, and whose header or tables are those of a file of torch_npu or msprof. prefix: path
    of the entries' folder, with a trailing slash."""
    ends = (*CSV_ENDS, DATABASE_SUFFIX)
    unnamed = [entry for entry in entries if entry.name.lower().endswith(ends) and is_file(entry)]
    unnamed = [entry for entry in unnamed if all(format.file(entry.name) is None for format in FORMATS.values())]
    out = []
    for entry in unnamed[:MAX_LOOKS]:
        file = found_file(entry, prefix + entry.name, ("tables",), notes)
        name = "" if file is None else _known_name(folder, file)
        spec = TORCH_NPU.file(name)
        if file is not None and spec is not None:
            out.append(replace(file, known_as=name, stages=spec.stages, fallback=spec.fallback))
    return out


def _known_name(folder: Folder, file: FoundFile) -> str:
    """The name that the profiler gives such a file; "" for another one."""
    if file.relative.endswith(DATABASE_SUFFIX):
        return folder.look(DATABASE_NAME, file) or ""
    header = folder.look(CSV_HEADER, file)
    spec = None if header is None else _spec_of(header)
    return "" if spec is None else spec.name


def find_tables(folder: Folder) -> FinderResult | None:
    """Take a folder with such files alone: a rank that lost its other files. A second file of a kind is another rank."""
    if any(TORCH_NPU.file(entry.name) is not None for entry in folder.entries):
        return None  # of a result, which has taken them
    notes: list[Problem] = []
    found: list[list[FoundFile]] = []
    for file in known_tables(folder, folder.entries, "", notes):
        place = next((own for own in found if all(_can_be_beside(file, other) for other in own)), None)
        if place is None:
            found.append([file])
        else:
            place.append(file)
    taken = FinderResult()
    for number, own in enumerate(found):
        parts = folder.parts if number == 0 else (*folder.parts, own[0].relative)
        identity = identify(folder.path, parts or (folder.path.name,))
        for file in own:
            named = layout.DATABASE_RANK.fullmatch(file.name)
            if named:
                identity = replace(identity, rank=int(named.group("rank")), rank_source=file.relative)
        format = MSPROF if MSPROF_DATABASE.matches(own[0].name) else TORCH_NPU
        label = report.decode_name(parts[-1] if parts else folder.path.name)
        taken.found.append(folder.result(format, identity, own, list(map(known_by_header, own)), parts, label=label))
    return taken if taken.found else None


def _can_be_beside(file: FoundFile, other: FoundFile) -> bool:
    """Whether two files can be of one rank: they are of one profiler and of two kinds."""
    specs = [TORCH_NPU.file(one.name) for one in (file, other)]
    return specs[0] is not specs[1] and MSPROF_DATABASE not in specs


def _spec_of(header: Sequence[str]) -> ResultFile | None:
    """The file whose columns the header has."""
    texts = {normalise_header(text) for text in header} - {""}
    best, most = None, 0
    for spec in CSV_FILES:
        known = [column for column in spec.columns if texts.intersection(map(normalise_header, column.headers))]
        has_required = all(column in known for column in spec.columns if column.required)
        least = _LEAST_OF_METRICS if spec.extra == "metric" else max(_LEAST_COLUMNS, _LEAST_SHARE * len(texts))
        if has_required and len(known) >= least and len(known) > most:
            best, most = spec, len(known)
    return best


def known_by_header(file: FoundFile) -> Problem:
    """The note of such a file."""
    return problem_of("known_by_header", file.relative, file=file.name)
