"""For notebooks: the tables of a result as data frames.

>>> import tb_npu_plugin.api as npu
>>> for span in npu.open("./result"):       # doctest: +SKIP
...     print(span.worker, span.kernels().groupby("type")["dur_ns"].sum())
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.watch import scan_once
from tb_npu_plugin.errors import NotFound, NotReady
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import OPENS, choose_parts
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.tables.index import only_in_trace
from tb_npu_plugin.tables import NULL_INT, StringColumn, Table
from tb_npu_plugin.views.ledger_layout import without_layout

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


NO_PANDAS = (
    "data frames need pandas, which is not installed: pip install 'tb-npu-plugin[notebook]', or pip install 'pandas<3' to keep "
    "a numpy below 2"
)
#: Seconds between looks at the progress.
_POLL = 0.05


class SpanFrames:
    """One capture. Data frames have the columns of the schema: times and durations in integer ns, sizes in bytes,
    unknown values missing."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def __repr__(self) -> str:
        return f"<{self.run} ▸ {self.worker} ▸ {self.label}>"

    @property
    def run(self) -> str:
        """Name of the run."""
        return self._span.run_label

    @property
    def worker(self) -> str:
        """Name of the worker."""
        return self._span.worker_label

    @property
    def label(self) -> str:
        """When it was recorded and which steps."""
        return self._span.label

    @property
    def capture(self) -> Capture:
        """How it was recorded."""
        return self._span.capture

    @property
    def problems(self) -> list[Problem]:
        """Problems met while reading."""
        return list(self._span.problems)

    @property
    def tables(self) -> list[str]:
        """Names for `table`."""
        return [name for name in TABLES if self._span.rows(name) is not None]

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name in schema/registry.py. Raises NotFound if the capture lacks it."""
        found = self._span.table(name)
        if found is None:
            raise NotFound(f"no table {name!r} in {self!r}. There are: {', '.join(self.tables)}.")
        return frame(found)

    def kernels(self) -> pd.DataFrame:
        """kernel_details.csv."""
        return self.table("kernels")

    def operators(self) -> pd.DataFrame:
        """operator_details.csv."""
        return self.table("operators")

    def steps(self) -> pd.DataFrame:
        """step_trace_time.csv."""
        return self.table("step_trace")

    def memory(self) -> pd.DataFrame:
        """operator_memory.csv."""
        return self.table("op_memory")


class Captures(list[SpanFrames]):
    """The captures below a path."""

    def __init__(self, captures: Iterable[SpanFrames], path: Path) -> None:
        super().__init__(captures)
        self._path = path

    def diagnose(self, run: str = "", with_trace: bool = True) -> dict[str, Any]:
        """What holds a run up: its entry in the JSON of `tb-npu diagnose` (docs/diagnosis.md). Reads what it needs.

        Args:
            run: Name of the run; without, the first, and `left_out` names the others.
            with_trace: Else answer from tables alone, also where the trace was read before.

        Raises:
            NotFound: No such run.
            NotReady: The run holds nothing that can be diagnosed.
        """
        watcher = scan_once({"": self._path})
        library = Library(watcher)
        try:
            (part, *_), left_out = choose_parts(watcher.current(), [run] if run else [], 1)
            service = Service(library, for_page=False, with_traces=with_trace)
            found, _ = service.wait("diagnosis", part.params, lambda progress: time.sleep(_POLL))
        finally:
            library.close()
        if found["data"] is None:
            raise NotReady(Message("error.view_empty", view="diagnosis"), Message("hint.view_reason", view="diagnosis"))
        return {**without_layout(found["data"]), **({"left_out": left_out} if left_out else {})}


def open(path: str | Path) -> Captures:
    """Read all captures below a logdir, a run or a result folder, or the capture that a file belongs to; cached ones
    from the cache. Reads a trace only where a table is in no other file. Raises NotFound if the path does not exist or holds no
    capture."""
    where = Path(path).expanduser().absolute()
    if not where.exists():
        raise NotFound(f"{where} does not exist. Give a logdir, a run, a result folder or one of its files.")
    watcher = scan_once({"": where})
    scan = watcher.current()
    places = scan.places()
    if not places:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in scan.skipped[:3])
        raise NotFound(f"no result that can be read in {where}. {reasons or OPENS}")
    library = Library(watcher)
    try:
        seen = library.read(places, ["tables"])
        seen += library.read([place for place in places if _lacks_tables(library, place)], ["trace"])
        return Captures([SpanFrames(_opened(library, place, seen)) for place in places], where)
    finally:
        library.close()


def _lacks_tables(library: Library, place: Place) -> bool:
    """Whether the trace can hold a table that the other files lack."""
    return bool(only_in_trace(FORMATS[place.span.format], library.status(place, "tables").entry))


def _opened(library: Library, place: Place, seen: Sequence[tuple[Place, StageStatus]]) -> Span:
    """The span; without a trace that it does not need, also if it was read before. seen: see Library.open."""
    statuses = [status for one, status in seen if one is place]
    return library.open(
        place, statuses if _lacks_tables(library, place) else [*statuses, StageStatus("trace", "new", "")]
    )


def frame(table: Table) -> pd.DataFrame:
    """A table as a data frame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(NO_PANDAS) from error

    columns: dict[str, object] = {}
    for column in table.columns:
        data = table.data[column.key]
        if isinstance(data, StringColumn):
            columns[column.key] = data.tolist()
        elif data.dtype == np.int64:
            columns[column.key] = pd.arrays.IntegerArray(data, data == NULL_INT)
        else:
            columns[column.key] = data
    return pd.DataFrame(columns)
