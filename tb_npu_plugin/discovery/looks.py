"""Looks: what the scan must know from inside a file. Pure functions of a path, which a child process runs
(discovery/look_process.py): a file may be anything, and whatever a look does to its process leaves the server alone.

Imports nothing heavy: that process starts with every scan that finds new files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar

from tb_npu_plugin.discovery.kineto_head import GZIP_FORMAT, GZIP_MAGIC, kineto_head, open_regular, read_start
from tb_npu_plugin.schema import mindspore, scan_keys
from tb_npu_plugin.schema.scan_keys import MAX_DIGITS, MAX_RANK

T = TypeVar("T")

#: Maximum bytes of a settings file or rank table, which usually has some kilobytes.
MAX_SETTINGS = 4 << 20
#: Maximum bytes read of the files of a cluster.
MAX_CLUSTER = 16 << 20
#: Maximum bytes of the header of a CSV file, and its columns.
MAX_HEADER, MAX_COLUMNS = 16 << 10, 300
#: Maximum CPU seconds of one question to a database.
DATABASE_SECONDS = 0.8
#: Maximum signs of a host's address.
MAX_ADDRESS = 255
#: Maximum signs of a communicator's name. HCCL's have up to 128.
MAX_NAME = 256
#: Maximum facts that a rank tells of its job, and members of a communicator among them.
MAX_FACTS, MAX_MEMBERS = 512, 64
#: Maximum ranks of one cluster result: each becomes a span. Jobs have up to some 10,000.
MAX_RANKS = 1 << 15


class TooExpensive(Exception):
    """A look takes more than it may."""


class Info(NamedTuple):
    """Fields of a profiler_info file; None where absent. mindspore: written by MindSpore 2.3 or newer."""

    rank: Optional[int] = None
    device: Optional[int] = None
    mindspore: bool = False


def read_info(path: str) -> Info:
    """The fields; none of a file that is no JSON object, which its reader reports. Raises OSError."""
    content = _json_or_none(path, MAX_SETTINGS)
    if not isinstance(content, dict):
        return Info()
    nested = content.get(mindspore.MS_INFO)
    nested = nested if isinstance(nested, dict) else {}
    return Info(
        _number(content.get(mindspore.RANK_ID, nested.get(mindspore.RANK_ID))),
        _number(nested.get(mindspore.DEVICE_ID)),
        mindspore.PARAMETERS in content,
    )


#: What a capture tells of its job: (fact, value). Captures of one job never tell two values of one fact, except scan_keys.LARGEST.
Facts = tuple[tuple[str, str], ...]


def read_facts(path: str) -> Facts:
    """What profiler_metadata.json tells of the job. Raises OSError."""
    content = _json_or_none(path, MAX_SETTINGS)
    groups = member(content, scan_keys.GROUPS)
    found = []
    for name in groups:
        group = member(groups, name)
        members = group.get(scan_keys.MEMBERS)
        if isinstance(members, list) and len(members) > 1:
            found.append((len(members), group.get(scan_keys.ROLE) == scan_keys.WORLD, name, members))
    model = member(content, scan_keys.MEGATRON)
    world = _number(model.get(scan_keys.WORLD_SIZE))
    facts = {}
    if found:
        size, is_world, name, members = max(found, key=lambda one: one[:3])
        facts[scan_keys.LARGEST] = f"{name[:MAX_NAME]} {_hash(members)}"
        if is_world or size == world:
            world, facts[scan_keys.WORLD] = world or size, facts[scan_keys.LARGEST]
    sizes = " ".join(f"{size} {model[size]}" for size in scan_keys.MODEL_SIZES if _number(model.get(size)) is not None)
    return _facts(world, {scan_keys.MEGATRON: sizes, **facts}, [(name, members) for _, _, name, members in found])


def _facts(world: Optional[int], facts: Mapping[str, str], groups: Iterable[tuple[str, list[Any]]]) -> Facts:
    """The facts that are known, with the members of communicators. A rank has one communicator of a name, but scripts may name those
    of other ranks alike."""
    found = [(scan_keys.WORLD_SIZE, str(world or "")), *facts.items()]
    for name, members in groups:
        of_members = _hash(members)
        found += [(f"{name[:MAX_NAME]} of {str(member)[:MAX_DIGITS]}", of_members) for member in members[:MAX_MEMBERS]]
    return tuple(one for one in found[:MAX_FACTS] if one[1])


def _hash(members: list[Any]) -> str:
    import hashlib

    return hashlib.blake2b(json.dumps(sorted(map(str, members))).encode(), digest_size=8).hexdigest()


class TraceHead(NamedTuple):
    """What both ends of a JSON file say: see KinetoHead. rank: None where they name none. facts: about its job."""

    has_events: bool
    writer: str
    is_damaged: bool
    rank: Optional[int] = None
    facts: Facts = ()


def read_trace_head(path: str) -> TraceHead:
    """Whether a file is a trace, who wrote it, of which rank it is, and of which job. Raises OSError."""
    head = kineto_head(path)
    distributed = member(head.settings, scan_keys.DISTRIBUTED)
    rank = distributed.get(scan_keys.RANK)
    known = isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < MAX_RANK
    groups = [
        (str(group.get(scan_keys.PROCESS_GROUP)), members)
        for group in objects(distributed, scan_keys.PROCESS_GROUPS)
        if isinstance(members := group.get(scan_keys.PROCESS_GROUP_RANKS), list)
    ]
    facts = _facts(_number(distributed.get(scan_keys.WORLD_SIZE)), {}, groups)
    return TraceHead(head.has_events, head.writer, head.is_damaged, rank if known else None, facts)


def read_csv_header(path: str) -> tuple[str, ...]:
    """The cells of the header, in UTF-8 or GBK, with commas or semicolons; none of another file. Raises OSError."""
    import csv
    import zlib

    start = read_start(path, MAX_HEADER)
    if start.startswith(GZIP_MAGIC):
        try:
            start = zlib.decompressobj(GZIP_FORMAT).decompress(start, MAX_HEADER)
        except zlib.error:
            return ()
    lines = start.split(b"\n", 1)
    if len(lines) < 2:
        return ()  # no table, or no line that ends
    try:
        text = lines[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        text = lines[0].decode("gb18030", "replace")
    try:
        cells = next(csv.reader([text.strip()], delimiter="," if "," in text else ";"), [])
    except csv.Error:
        return ()
    return tuple(cells) if len(cells) <= MAX_COLUMNS else ()


#: Sorted ranks; none of a file that holds none or is damaged.
Ranks = tuple[int, ...]


def ranks_of_steps(path: str) -> Ranks:
    """Ranks in cluster_step_trace_time.csv. Raises OSError."""
    import csv

    text = read_start(path, MAX_CLUSTER).decode("utf-8-sig", "replace")
    rows = csv.DictReader(text.splitlines())
    kind, index = scan_keys.TYPE_HEADER, scan_keys.INDEX_HEADER
    try:
        return _ranks(row.get(index) for row in rows if row.get(kind) == scan_keys.BY_RANK)
    except csv.Error:
        return ()


def ranks_of_groups(path: str) -> Ranks:
    """Ranks in communication_group.json. Raises OSError."""
    content = _json_or_none(path, MAX_CLUSTER)
    if not isinstance(content, dict):
        return ()
    kinds = [content.get(kind) for kind in scan_keys.GROUP_KINDS]
    groups = [group for kind in kinds if isinstance(kind, list) for group in kind if isinstance(group, list)]
    return _ranks(str(rank) for group in groups for rank in group if isinstance(rank, (int, str)))


def ranks_of_database(path: str) -> Ranks:
    """Ranks in cluster_analysis.db. Raises OSError."""
    return next((found for one in scan_keys.DB_RANKS if (found := _ranks(_answers(path, one)))), ())


def read_database_name(path: str) -> str:
    """The name that the profiler gives a database with these tables and rank; "" for one of another program. Raises OSError."""
    tables = set(_answers(path, scan_keys.LIST_TABLES))
    form = next((form for table, form in scan_keys.DB_KINDS if table in tables), "")
    ranks = _ranks(_answers(path, scan_keys.DB_RANK)) if form else ()
    return form.format(rank=f"_{ranks[0]}" if len(ranks) == 1 else "")


def _answers(path: str, question: str) -> list[str]:
    """The values of a query for one column; none if the database lacks the table. Raises OSError and TooExpensive."""
    import sqlite3  # few scans meet a database
    from contextlib import closing
    from pathlib import Path

    from tb_npu_plugin.foreign_sqlite import UnboundedTable, connect
    from tb_npu_plugin.refusal import raise_if_of_environment

    with open_regular(path) as file:
        size = file.seek(0, 2)
    try:
        with closing(connect(Path(path), size, seconds=DATABASE_SECONDS)) as database:
            return [_text(value) for rows in database.rows(question) for (value,) in rows]
    except UnboundedTable as error:
        raise TooExpensive(str(error)) from error
    except sqlite3.Error as error:
        raise_if_of_environment(error)
        if str(error) == "disk I/O error":
            raise OSError(str(error)) from error
        return []  # most often "no such table"


class DeviceRank(NamedTuple):
    """An entry of a rank table: the rank of a device of a host."""

    address: str
    device: int
    rank: int


def read_table_ranks(path: str) -> tuple[DeviceRank, ...]:
    """Entries of hccl.json; none of another file. Raises OSError."""
    content = _json_or_none(path, MAX_SETTINGS)
    found = []
    for server in objects(content, "server_list"):
        for device in objects(server, "device"):
            number, rank = _number(device.get("device_id")), _number(device.get("rank_id"))
            if number is not None and rank is not None:
                found.append(DeviceRank(_address(server.get("server_id")), number, rank))
    return tuple(found[:MAX_RANKS])


def read_hosts(path: str) -> tuple[tuple[str, str], ...]:
    """(number, address) of the hosts of host_ips_mapping.txt, from lines "address number". Raises OSError."""
    lines = read_start(path, MAX_SETTINGS).decode("utf-8", "replace").splitlines()
    pairs = [line.split() for line in lines]
    return tuple((pair[1], pair[0]) for pair in pairs if len(pair) == 2)[:MAX_RANKS]


#: All looks by name.
LOOKS: dict[str, Look[Any]] = {}


class Look(Generic[T]):
    """A kind of look: its name, the function, and the type of its answer."""

    def __init__(self, read: Callable[[str], T], answer: type[T]) -> None:
        self.name = read.__name__
        self.read = read
        self.answer = answer
        LOOKS[self.name] = self


INFO = Look(read_info, Info)
FACTS = Look(read_facts, Facts)
TRACE_HEAD = Look(read_trace_head, TraceHead)
CSV_HEADER = Look(read_csv_header, tuple[str, ...])
STEP_RANKS = Look(ranks_of_steps, Ranks)
GROUP_RANKS = Look(ranks_of_groups, Ranks)
DATABASE_RANKS = Look(ranks_of_database, Ranks)
DATABASE_NAME = Look(read_database_name, str)
TABLE_RANKS = Look(read_table_ranks, tuple[DeviceRank, ...])
HOSTS = Look(read_hosts, tuple[tuple[str, str], ...])


def _json_or_none(path: str, limit: int) -> object:
    """Content of a JSON file; None if it is none or longer than the limit."""
    data = read_start(path, limit + 1)
    try:
        return None if len(data) > limit else json.loads(data)
    except (ValueError, RecursionError):
        return None


def _number(value: object) -> Optional[int]:
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def _address(value: object) -> str:
    return str(value)[:MAX_ADDRESS] if isinstance(value, (int, str)) else ""


def objects(value: object, key: str) -> list[dict[str, Any]]:
    """The objects of a member that is a list; else []."""
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def member(value: object, key: str) -> dict[str, Any]:
    """A member that is an object; else {}."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _ranks(texts: Iterable[Optional[str]]) -> Ranks:
    """Raises TooExpensive."""
    found: set[int] = set()
    for text in texts:
        if text is not None and scan_keys.INDEX.fullmatch(text.strip()):
            found.add(int(text))
        if len(found) > MAX_RANKS:
            raise TooExpensive(f"more than {MAX_RANKS} ranks")
    return tuple(sorted(found))
