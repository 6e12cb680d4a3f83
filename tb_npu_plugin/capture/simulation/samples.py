"""What memory and counters are at a time: records beside those of records.py. Times are int ns since the epoch, sizes bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

#: Component of the workspace that TASK_QUEUE_ENABLE=2 keeps beside the caching allocator.
WORKSPACE = "WORKSPACE"


@dataclass(eq=False)
class Totals:
    """State of one component of the memory after an event. active None: the component does not report it."""

    component: str
    at: int
    allocated: int
    reserved: int
    active: int | None


@dataclass(eq=False)
class Allocation:
    """One allocation. `release` / `active_release` None: still held. `before`, `after`: totals at both ends."""

    name: str
    size: int
    at: int
    before: Totals
    release: int | None = None
    active_release: int | None = None
    after: Totals | None = None

    @property
    def graph_engine(self) -> bool:
        """CANN holds it, not the caching allocator."""
        return self.before.component == "GE"


@dataclass(eq=False)
class Sample:
    """One reading of a counter of the trace: `process` as sorted in Dialect.sorts, `key` names unit and value."""

    process: str
    name: str
    key: str
    at: int
    value: float


@dataclass(eq=False)
class ModuleSample:
    """Memory of one CANN component at one moment."""

    component: str
    at: int
    size: int


class Moved(NamedTuple):
    """Bytes between two samples, and in the quietest and the busiest piece of that time (links.PIECE)."""

    total: int
    least: int
    most: int


@dataclass(eq=False)
class LinkSample:
    """What went over one kind of link in the `every` ns before `at`. link: NIC, RoCE, PCIe or HCCS, as the trace names
    them; moved: by direction ("tx", "rx"), over PCIe by kind of packets as well (schema.link_files.PCIE_KINDS)."""

    link: str
    at: int
    every: int
    moved: Mapping[str, Moved]
