"""Reports files that a result lacks although the files beside it, or the other ranks of its run, show that it had them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tb_npu_plugin.discovery.model import FoundSpan
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS

#: Kinds of files by id.
_Kinds = dict[str, ResultFile]


def with_lost_files(spans: Sequence[FoundSpan]) -> list[FoundSpan]:
    """Add a note to the spans of a run for each file that they lost."""
    kinds = [_kinds(span) for span in spans]
    out = []
    for span, own in zip(spans, kinds):
        others = [
            found for other, found in zip(spans, kinds) if other.format == span.format and _is_another_rank(span, other)
        ]
        lost = [*_lost_beside(span, own), *_lost_of_ranks(own, others)]
        out.append(replace(span, notes=(*span.notes, *lost)) if lost else span)
    return out


def _kinds(span: FoundSpan) -> _Kinds:
    found = (FORMATS[span.format].file(file.name) for file in span.files)
    return {spec.id: spec for spec in found if spec is not None}


def _is_another_rank(span: FoundSpan, other: FoundSpan) -> bool:
    ranks = span.identity.rank, other.identity.rank
    return None not in ranks and ranks[0] != ranks[1]


def _lost_beside(span: FoundSpan, own: _Kinds) -> Iterator[Problem]:
    """Yield the files that the profiler writes with one that is there."""
    for spec in FORMATS[span.format].files:
        shown = next((own[other] for other in spec.beside if other in own), None)
        if spec.id not in own and shown is not None:
            yield _lost(spec, Message("expected.file_beside", file=shown.name), "warning")


def _lost_of_ranks(own: _Kinds, others: Sequence[_Kinds]) -> Iterator[Problem]:
    """Yield the files that all other ranks have, if they are few: else the rank was recorded or copied in another way."""
    common = set.intersection(*map(set, others)) if others else set()
    lost = sorted(common - own.keys())
    if len(lost) <= max(1, len(common) // 4):
        yield from (_lost(others[0][name], Message("expected.file_of_ranks"), "info") for name in lost)


def _lost(spec: ResultFile, expected: Message, severity: str) -> Problem:
    return Problem(
        "lost_file",
        spec.name,
        "",
        expected,
        Message("found.no_file"),
        Message("lost.file_content"),
        Message("action.copy_again_if_lost"),
        severity=severity,
    )
