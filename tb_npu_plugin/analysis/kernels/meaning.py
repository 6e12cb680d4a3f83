"""What the kernels of a table do, and the classes of work in a step, by the table of schema.kernel_meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import COPIES, MEANING
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.kernel_meaning import (
    CALL_FOLDS,
    COMMUNICATION,
    FUSED,
    MEANINGS,
    SCHEDULING,
    KernelMeaning,
    folded_name,
    group_of_call,
    meaning_of_kernel,
    without_call,
)
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import (
    Column,
    Data,
    ExtendedColumns,
    IntArray,
    Kind,
    StoredColumns,
    StringColumn,
    Table,
    column_texts,
)

FOLDED = Column("folded", Kind.TEXT, *column_texts("folded"), "identity")
GROUP = Column("group", Kind.TEXT, *column_texts("meaning.group"), "identity")
#: Class of kernels that the table does not know.
UNKNOWN = "unknown"
#: Ids of the classes, in display order: meanings of kernels and what only the core tells. Not classes of kernels: "computing",
#: computing time in a file without known kernels; "waiting" and "bubble", communication that waits for a late rank or for another
#: pipeline stage; "idle", nothing runs.
CLASSES = (
    *MEANINGS,
    UNKNOWN,
    "ai_cpu",
    "computing",
    "copying",
    "communication",
    SCHEDULING,
    "waiting",
    "bubble",
    "idle",
)
#: Classes that the accelerator core alone tells.
_CORES = {**dict.fromkeys(COMMUNICATION_CORES, "communication"), **dict.fromkeys(COPIES, "copying"), "AI_CPU": "ai_cpu"}
#: Classes of matrix products, and of kernels that only move or convert data.
PRODUCTS, MOVES = ("matmul", "grouped_matmul"), ("cast_format", "copy_memory")
#: Names of unknown kernels that `coverage` lists.
_MOST_UNKNOWN = 5
#: Folds of kernels that are the device side of a collective.
_DEVICE_SIDE = ("kfc", "dtype_suffix")


class _Found:
    """The distinct kernels of a table, and what the table of meanings says of each. Kernels whose names differ by call alone are of one
    kind, which is looked up once."""

    def __init__(self, kernels: Table) -> None:
        columns = [kernels.text(key) for key in ("name", "type", "core")]
        self._groups = Groups(columns, len(kernels))
        names, types, cores = (column.take(self._groups.first) for column in columns)
        self._names = names.tolist()
        calls = StringColumn.of(name and without_call(name) for name in self._names)
        kinds = Groups([calls, types, cores], len(calls))
        self._kind = kinds.of_row
        self._kinds = list(zip(*(column.take(kinds.first).tolist() for column in (calls, types, cores))))
        self._meanings = [_meaning(*one) for one in self._kinds]

    @cached_property
    def has_operators(self) -> bool:
        """Whether the operators of collectives are among the kernels: then their device sides are the same work."""
        return any(
            core in COMMUNICATION_CORES or (found is not None and found.fold == "hcom")
            for (_, _, core), found in zip(self._kinds, self._meanings)
        )

    def column(self, key: str) -> StringColumn:
        """One of the columns that `with_meaning` adds."""
        if key == FOLDED.key:
            each = StringColumn.of(self._folded())
        elif key == GROUP.key:
            each = StringColumn.of(self._group())
        else:
            found = StringColumn.of(self._meaning(one) for one in self._meanings)
            each = found.take(self._kind)
        return each.take(self._groups.of_row)

    def _meaning(self, found: Optional[KernelMeaning]) -> Optional[str]:
        if found is None:
            return None
        return SCHEDULING if found.fold in _DEVICE_SIDE and self.has_operators else found.meaning

    def _folded(self) -> Iterator[Optional[str]]:
        folds = ["" if found is None else found.fold for found in self._meanings]
        of_calls = [
            folded_name(name, fold) if name and fold in CALL_FOLDS else None
            for (name, _, _), fold in zip(self._kinds, folds)
        ]
        for name, kind in zip(self._names, self._kind.tolist()):
            yield of_calls[kind] or (name and folded_name(name, folds[kind]))

    def _group(self) -> Iterator[Optional[str]]:
        has_group = [found is not None and found.fold == "hcom" for found in self._meanings]
        for name, kind in zip(self._names, self._kind.tolist()):
            yield group_of_call(name) if name and has_group[kind] else None

    def is_fused(self) -> NDArray[np.bool_]:
        """Mask of the kernels that compute and communicate, and wait for other ranks inside."""
        each = [one is not None and one.waits_inside and one.meaning in FUSED for one in self._meanings]
        return np.array([*each], dtype=np.bool_)[self._kind][self._groups.of_row]


def _meaning(name: Optional[str], kernel_type: Optional[str], core: Optional[str]) -> Optional[KernelMeaning]:
    if core in (kineto.KERNEL_KIND, *COPIES):
        return meaning_of_kernel(name, None, is_gpu=True)
    found = meaning_of_kernel(name, kernel_type)
    return meaning_of_kernel(name, None, is_gpu=True) if found is None and core == kineto.COMMUNICATION_KIND else found


class _MeaningColumns(Mapping[str, Data]):
    """Columns computed on first access."""

    def __init__(self, kernels: Table, columns: Sequence[Column]) -> None:
        self._kernels, self._columns = kernels, {column.key: None for column in columns}
        self._computed: dict[str, StringColumn] = {}

    @cached_property
    def _found(self) -> _Found:
        return _Found(self._kernels)

    def __getitem__(self, key: str) -> Data:
        if key not in self._computed and key in self._columns:
            self._computed[key] = self._found.column(key)
        return self._computed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def with_meaning(kernels: Table) -> Table:
    """The kernels with MEANING, FOLDED and GROUP, which are computed when somebody asks for them. The meaning of a GPU kernel is its
    type, too."""
    is_gpu = kernels.has("core") and kernels.column("core").title == kineto.CORE.title
    columns = (*((kineto.TYPE,) if is_gpu else ()), MEANING, FOLDED, GROUP)
    added = _MeaningColumns(kernels, columns)
    if isinstance(kernels.data, StoredColumns):
        return Table((*kernels.columns, *columns), ExtendedColumns(kernels.data, added))
    return kernels.with_columns([(column, added[column.key]) for column in columns])


def is_fused(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the kernels that compute and communicate; they wait for other ranks inside."""
    if not kernels.text(MEANING.key).isin(FUSED).any():
        return np.zeros(len(kernels), dtype=np.bool_)
    return _Found(kernels).is_fused()


@dataclass(frozen=True)
class Coverage:
    """How much of the device time is known by name."""

    share: float
    """Of the time of all kernels, 0 to 1; 1 if they took no time."""
    unknown: list[tuple[str, int]]
    """Name and total time, ns, of the largest of the others."""


def coverage(kernels: Table) -> Coverage:
    """Coverage of kernels with MEANING, "folded" and "dur_ns", or of sums with "type" and "total_ns"."""
    if not kernels.has("dur_ns"):
        timed = kernels.with_columns([(Column("dur_ns", Kind.DURATION), kernels.ints("total_ns"))])
        kernels = with_meaning(timed)
    times, names = np.maximum(kernels.ints("dur_ns"), 0), kernels.text(FOLDED.key)
    names = names if (names.codes >= 0).any() else kernels.text("type")
    is_unknown = kernels.text(MEANING.key).codes < 0
    rows = np.flatnonzero(is_unknown)
    groups = Groups([names.take(rows)], len(rows))
    total = groups.sum(times[rows])
    order = np.argsort(-total, kind="stable")[:_MOST_UNKNOWN]
    labels = names.take(rows[groups.first[order]]).tolist()
    whole = int(times.sum())
    share = 1 - int(times[is_unknown].sum()) / whole if whole else 1.0
    return Coverage(share, [(name or "", ns) for name, ns in zip(labels, total[order].tolist())])


def classes(kernels: Table) -> IntArray:
    """Index into CLASSES of each kernel."""
    meanings, cores = kernels.text(MEANING.key), kernels.text("core")
    of_meaning = [CLASSES.index(_class(text)) for text in (*meanings.values, UNKNOWN)]
    of_core = [CLASSES.index(_CORES[core]) if core in _CORES else -1 for core in cores.values] + [-1]
    by_meaning = np.asarray(of_meaning, dtype=np.int64)[meanings.codes]
    by_core = np.asarray(of_core, dtype=np.int64)[cores.codes]
    outside = [CLASSES.index("communication"), CLASSES.index(SCHEDULING)]
    return np.where((by_core >= 0) & ~np.isin(by_meaning, outside), by_core, by_meaning)


def _class(meaning: str) -> str:
    """Class of a meaning; a user's own count as "other"."""
    if meaning in COMMUNICATION:
        return "communication"
    return meaning if meaning in (*MEANINGS, SCHEDULING, UNKNOWN) else "other"
