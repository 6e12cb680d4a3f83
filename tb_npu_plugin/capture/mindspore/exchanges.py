"""The collectives of MindSpore: on the simulated device, and how much later the other ranks of a group arrived at them, from
their captures, which are beside this one."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.capture.mindspore.raw_data import CAPTURE, Launch, RawData, host_clock, read
from tb_npu_plugin.capture.recording.operations import DATA_TYPES, Exchanges
from tb_npu_plugin.capture.recording.recorded_host import END, RecordedHost
from tb_npu_plugin.capture.side_files import read_object
from tb_npu_plugin.capture.simulation import work
from tb_npu_plugin.capture.simulation.collectives import COLLECTIVES, Transfer
from tb_npu_plugin.capture.simulation.records import Group
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.mindspore import SUFFIX

#: Types of elements, in lower case -> C++ names.
TYPES = {row["mindspore"]: name for name, row in work.ELEMENT_TYPES.items() if "mindspore" in row}
#: The group of all processes; its other names: of the CPU, and where MindSpore says none.
WORLD = "hccl_world_group"
WORLDS = (WORLD, "mccl_world_group", "")


def group_of(launch: Launch) -> str:
    """The group of a collective; that of all processes where MindSpore does not say it."""
    return WORLD if launch.group in WORLDS else launch.group


class MindSporeExchanges(Exchanges):
    """Those of MindSpore. later: (group, number of its collective) -> rank -> ns by which it came
    later than this one."""

    def __init__(self, data: RawData, chip: Chip, later: dict[tuple[str, int], dict[int, int]]) -> None:
        super().__init__(chip)
        self._later, rank = later, data.capture["rank"]
        for name, ranks in {WORLD: range(data.capture["world"]), **data.groups}.items():
            if len(ranks) > 1 and rank in ranks:
                self._add(name, name, tuple(ranks), ranks.index(rank))
        for name, type_ in {(group_of(one), COLLECTIVES[one.type]) for one in data.launches if one.type in COLLECTIVES}:
            if name in self.groups:
                self._reserve(self.groups[name], type_)

    def run(self, host: RecordedHost, launch: Launch) -> None:
        """Launch a collective, and let the compute stream wait for it. Does nothing if this rank is alone in its group."""
        group = self.groups.get(group_of(launch))
        if group is None:
            return
        later = self._later.get((group.name, self._counts[group.index, ""]), {})
        self._communicate(host, _transfer(launch, group), later)
        host.wait(group.name)


def _transfer(launch: Launch, group: Group) -> Transfer:
    """What a collective moves: its larger side. The input of an AllGather is the share of one rank."""
    data_type, item = work.TYPES[TYPES.get(launch.types[0] if launch.types else "", "float")]
    size = item * sum(map(prod, launch.shapes or ((1,),))) * (len(group.ranks) if launch.type == "AllGather" else 1)
    return Transfer(group.name, COLLECTIVES[launch.type], max(item, size), item, DATA_TYPES.get(data_type, data_type))


#: Seconds for which a rank that has stopped waits for the others.
_PATIENCE = 5.0
#: Folders of one rank: rank0_start2_stop5 of a dynamic window, rank_0 of mindformers.
_OF_A_RANK = re.compile(r"rank_?\d+")


class Collective(NamedTuple):
    """Recorded times in ns. took: host time since the end of the one before in its group, or the epoch, without computation;
    other ranks' is comparable."""

    start: int
    end: int
    took: int


def wait_for_other_ranks(folder: Path) -> bool:
    """Wait until the other ranks that record beside this folder have stopped, too. False: one did not within some seconds."""
    until = time.monotonic() + _PATIENCE
    # its process still runs on this machine, and it has no end yet
    while any(one["end"] is None and Path(f"/proc/{one['pid']}").exists() for _, one in _others(folder)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def later_ranks(folder: Path, data: RawData) -> dict[tuple[str, int], dict[int, int]]:
    """(group, number of its collective) -> rank -> ns by which it came later than this one. A rank is missing where it did not
    record the same collectives."""
    own, out = collectives_of(data), defaultdict[tuple[str, int], dict[int, int]](dict)
    for path, capture in _others(folder) if own else ():
        try:
            other = read(path)
        except BadFile:
            continue
        for group, theirs in collectives_of(other).items():
            ours = own.get(group, [])
            if len(ours) == len(theirs) and all(a.start < b.end and b.start < a.end for a, b in zip(ours, theirs)):
                for number, (a, b) in enumerate(zip(ours, theirs)):
                    out[group, number][capture["rank"]] = b.took - a.took
    return out


def _others(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Captures of other ranks of the same run that recorded at the same time."""
    own = _capture_of(folder)
    if own.get("world", 1) < 2:
        return
    parents = folder.parent.parent.glob("rank*") if _OF_A_RANK.match(folder.parent.name) else [folder.parent]
    for path in sorted(path for parent in parents for path in parent.glob(f"*{SUFFIX}") if path != folder):
        found = _capture_of(path)
        is_other = found.get("world") == own["world"] and found.get("rank") != own["rank"]
        if is_other and found["start"] < (own["end"] or END) and own["start"] < (found["end"] or END):
            yield path, found


def _capture_of(folder: Path) -> dict[str, Any]:
    """How it was recorded; {} if the folder holds no capture."""
    found = read_object(folder / RAW_FOLDER / CAPTURE)
    return found if found.get("framework") == "mindspore" else {}


def collectives_of(data: RawData) -> dict[str, list[Collective]]:
    """By group, in order. What other groups' collectives took counts as time of the host: an NPU would wait as well."""
    computed = [span for span, one in zip(data.executions, data.launches) if one.type not in COLLECTIVES]
    clock, out = host_clock(data, computed), defaultdict[str, list[Collective]](list)
    left: dict[str, int] = {}
    for one in data.launches:
        if one.type in COLLECTIVES:
            group = group_of(one)
            out[group].append(Collective(one.start, one.end, int(clock(one.start)) - left.get(group, 0)))
            left[group] = int(clock(one.end))
    return out
