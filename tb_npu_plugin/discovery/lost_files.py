"""Reports files that a result lacks although the files beside it, or the other ranks of its run, show that it had them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tb_npu_plugin.discovery.model import FoundSpan
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS

#: Kinds of files by id.
_Kinds = dict[str, ResultFile]


def with_lost_files(spans: Sequence[FoundSpan]) -> list[FoundSpan]:
    """Add a note to the spans of a run for each file that they lost."""
    kinds = [_kinds(span) for span in spans]
    ranks = _Ranks(spans, kinds)
    out = []
    for span, own in zip(spans, kinds):
        lost = [*_lost_beside(span, own), *_lost_of_ranks(own, ranks.common_elsewhere(span))]
        out.append(replace(span, notes=(*span.notes, *lost)) if lost else span)
    return out


class _Ranks:
    """How many spans of each format have each file, in all and by rank: the work grows with the files, not with pairs of ranks."""

    def __init__(self, spans: Sequence[FoundSpan], kinds: Sequence[_Kinds]) -> None:
        self._spans: Counter[tuple[str, int | None]] = Counter()
        self._files: defaultdict[tuple[str, int | None], Counter[ResultFile]] = defaultdict(Counter)
        for span, own in zip(spans, kinds):
            if span.identity.rank is not None:
                for rank in (None, span.identity.rank):  # None: all ranks
                    self._spans[span.format, rank] += 1
                    self._files[span.format, rank].update(own.values())

    def common_elsewhere(self, span: FoundSpan) -> _Kinds:
        """The files that all spans of other ranks have."""
        own, every = (span.format, span.identity.rank), (span.format, None)
        others = self._spans[every] - self._spans[own]
        if span.identity.rank is None or not others:
            return {}
        here = self._files[own]
        return {spec.id: spec for spec, count in self._files[every].items() if count - here[spec] == others}


def _kinds(span: FoundSpan) -> _Kinds:
    found = (FORMATS[span.format].file(file.name) for file in span.files)
    return {spec.id: spec for spec in found if spec is not None}


def _lost_beside(span: FoundSpan, own: _Kinds) -> Iterator[Problem]:
    """Yield the files that the profiler writes with one that is there."""
    for spec in FORMATS[span.format].files:
        shown = next((own[other] for other in spec.beside if other in own), None)
        if spec.id not in own and shown is not None:
            yield _lost(spec, Message("expected.file_beside", file=shown.name), "warning")


def _lost_of_ranks(own: _Kinds, common: _Kinds) -> Iterator[Problem]:
    """Yield the files that all other ranks have, if they are few: else the rank was recorded or copied in another way."""
    lost = sorted(common.keys() - own.keys())
    if len(lost) <= max(1, len(common) // 4):
        yield from (_lost(common[name], Message("expected.file_of_ranks"), "info") for name in lost)


def _lost(spec: ResultFile, expected: Message, severity: str) -> Problem:
    return problem_of("lost_file", spec.name, expected=expected, severity=severity)
