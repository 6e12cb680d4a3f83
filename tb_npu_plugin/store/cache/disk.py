"""The disk cache: one folder per entry, either complete or absent.

<cache>/entries/<key>/   meta.json and the files of the stage
<cache>/building/        entries being built or removed
<cache>/processes/       a file for each process that uses the cache, locked by it; its folders in building/ begin with its name

Several servers may share a cache. An entry is built under a unique name and renamed into place; it is renamed back
before it is removed. Open files of a removed entry stay readable.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import tb_npu_plugin
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.printable import package_logger
from tb_npu_plugin.problems import TRANSIENT_CODES, Problem
from tb_npu_plugin.refusal import refused
from tb_npu_plugin.store.liveness import hold, is_abandoned, is_old
from tb_npu_plugin.store.temporary import remove_abandoned, temporary_root
from tb_npu_plugin.user_cache import cache_root, open_to_others

#: Sources that decide what a cache entry contains; a test compares them with the imports of readers/ and store/.
#: messages.json is absent: entries hold codes of messages, see Cache._get. So are _UNREAD: no reader uses them.
_PARTS = (
    "units.py",
    "foreign_sqlite.py",
    "texts.py",
    "tables.py",
    "messages.py",
    "printable.py",
    "problems.py",
    "seen.py",
    "model.py",
    "intervals.py",
    "schema",
    "schema/*.csv",
    "analysis/_packing.*",
    "analysis/grouping.py",
    "analysis/idle/launches.py",
    "analysis/idle/model.py",
    "analysis/kernels/bound.py",
    "analysis/kernels/kinds.py",
    "analysis/kernels/shapes.py",
    "analysis/kernels/shapes.py",
    "analysis/kernels/work.py",
    "analysis/native_packing.py",
    "analysis/operators/nesting.py",
    "analysis/operators/tree.py",
    "analysis/packing.py",
    "analysis/recording.py",
    "analysis/steps/marks.py",
    "analysis/steps/partition.py",
    "analysis/steps/windows.py",
    "discovery",
    "scan",
    "readers",
    "store",
)
#: Of the schema: what a kernel means, the figures of chips, how the mock device writes.
_UNREAD = ("schema/kernel_meaning.py", "schema/chips.py", "schema/dialects.py")


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Hash of the sources that read results and write cache entries, the schema included.

    Unlike a version number, it cannot be forgotten when the code changes.
    """
    root = Path(tb_npu_plugin.__file__).parent
    digest = hashlib.blake2b(tb_npu_plugin.__version__.encode(), digest_size=8)
    for file in reader_sources(root):
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def reader_sources(root: Path) -> list[Path]:
    """The files of _PARTS below the package's folder."""
    found: list[Path] = []
    for path in (path for part in _PARTS for path in sorted(root.glob(part))):
        found += sorted([*path.rglob("*.py"), *path.rglob("*.so")]) if path.is_dir() else [path]
    return [path for path in found if str(path.relative_to(root)) not in _UNREAD]


logger = package_logger(__name__)

META = "meta.json"
#: How often the size of the cache is measured, in seconds, as other servers write to it too. Measuring walks over all
#: files, which takes too long to do after each entry.
MEASURE_INTERVAL = 60.0
#: An entry with a "stalled" problem (the disk did not answer) is read again after this, in seconds.
RETRY_AFTER = 60.0
YEAR = 365 * 24 * 3600.0


@dataclass(frozen=True)
class Entry:
    """A complete entry: its folder and its meta.json."""

    folder: Path
    meta: dict[str, Any]


def max_bytes() -> int:
    """TB_NPU_CACHE_MAX_GB (default 20) in bytes."""
    try:
        return int(float(os.environ.get("TB_NPU_CACHE_MAX_GB", "20")) * 1e9)
    except ValueError:
        logger.warning("TB_NPU_CACHE_MAX_GB is not a number; using 20")
        return 20_000_000_000


def entry_key(folder: Path, stage: str, files: Sequence[FoundFile], part: str = "", rebuilds: bool = False) -> str:
    """Cache key of one stage: hash of the files' paths, sizes, times and names by content, and of the reader's version.
    part: the span's part of the files, where several spans share them. rebuilds: with the tables of the device."""
    parts = [str(folder), stage, part, "rebuilt" if rebuilds else "", reader_version()]
    parts += [f"{file.relative}:{file.size}:{file.mtime_ns}:{file.known_as}" for file in files]
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


class Cache:
    """The entries below `root`. Thread-safe and process-safe. Raises OSError where `root` cannot be written."""

    def __init__(self, root: Path | None = None, limit: int | None = None) -> None:
        self.root = root or cache_root()
        self.limit = max_bytes() if limit is None else limit
        #: Entries with passing problems (problems.TRANSIENT_CODES) are valid in this process only.
        self._session = uuid.uuid4().hex
        self._full: list[Path] = []  # folders of entries on disks that ran full
        self._use(self.root)
        self._clear_abandoned()
        self._lock = threading.Lock()
        #: Estimated bytes left to the limit, and when the cache was last measured.
        self._room, self._looked = 0, -math.inf

    def _use(self, root: Path) -> None:
        """Set the folder to write to. Raises OSError."""
        entries, building, processes = root / "entries", root / "building", root / "processes"
        for folder in (root, entries, building, processes):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        hold(processes / self._session, self)
        self.root, self._entries, self._building, self._processes = root, entries, building, processes
        self.discard(self.new_folder())  # proves that an existing folder is writable

    def fall_back(self, size: int) -> bool:
        """Switch to a temporary folder until this process ends, after the disk ran full.

        Returns:
            False if no other disk has `size` bytes free. Existing entries stay usable in either case.
        """
        with self._lock:
            try:
                place = Path(tempfile.gettempdir())
                if self._full or device_of(place) == device_of(self.root):
                    return False
                if shutil.disk_usage(place).free < size:
                    return False
                before, entries = self.root, self._entries
                self._use(temporary_root())
            except OSError as error:
                logger.warning("no temporary cache: %s", error)
                return False
            self._full.append(entries)
            logger.warning("no room in the cache %s; using %s until the end", before, self.root)
            return True

    def get(self, key: str) -> Entry | None:
        """A complete entry, marked as used; None without one. Drops a damaged entry. Raises OSError."""
        found = (self._get(entries / key) for entries in (self._entries, *self._full))
        return next(filter(None, found), None)

    def _get(self, folder: Path, again: bool = False) -> Entry | None:
        """See get. What the machine refuses says nothing about the entry, and is raised."""
        key = folder.name
        try:
            meta = json.loads((folder / META).read_bytes())
            if not isinstance(meta, dict):
                raise ValueError("meta.json is not an object")
            for problem in meta["problems"]:
                Problem.from_json(problem)  # KeyError if messages.json no longer has its code or parameters
            for name, size in meta["sizes"].items():
                if os.stat(f"{folder}/{name}").st_size != size:  # noqa: PTH116 (hot loop)
                    raise ValueError(f"{name} has another size")
            if not self._is_valid(meta.get("passing")):
                self.drop(key)
                return None
        except FileNotFoundError:
            if not folder.exists():
                return None
            if not again:  # it may have been committed since the read
                return self._get(folder, again=True)
            self.drop(key)
            return None
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            if refused(error) is not None:
                raise
            logger.warning("dropping the damaged cache entry %s: %s", key, error)
            self.drop(key)
            return None
        with suppress(OSError):
            os.utime(folder)
        return Entry(folder, meta)

    def _is_valid(self, passing: Any) -> bool:
        """Whether an entry with passing problems need not be read again yet. passing: see commit."""
        if passing is None:
            return True
        return bool(passing["session"] == self._session and time.time() < passing["until"])

    def new_folder(self) -> Path:
        """An empty folder to build an entry in."""
        folder = self._new_path()
        folder.mkdir(mode=0o700)
        return folder

    def _new_path(self) -> Path:
        return self._building / f"{self._session}-{uuid.uuid4().hex}"

    def commit(self, key: str, built: Path, meta: dict[str, Any]) -> Entry | None:
        """Make a built folder the entry of this key. If another server committed first, its entry stays.

        An entry with passing problems is read again by the next server process, or after RETRY_AFTER if the disk did
        not answer.
        """
        codes = {problem["code"] for problem in meta.get("problems", ())}
        if codes & TRANSIENT_CODES:
            until = time.time() + (RETRY_AFTER if "stalled" in codes else YEAR)
            meta = {**meta, "passing": {"session": self._session, "until": until}}
        sizes = {path[len(str(built)) + 1 :]: size for path, size in _files(built)}
        (built / META).write_text(json.dumps({**meta, "sizes": sizes}), encoding="utf-8")
        target = self._entries / key
        try:
            built.rename(target)
        except OSError:
            if self.get(key) is None:  # some network file systems cannot rename folders
                _copy(built, target)
            self.discard(built)
        entry = self.get(key)
        with self._lock:
            self._room -= sum(sizes.values())
            is_due = self._room < 0 or time.monotonic() - self._looked > MEASURE_INTERVAL
        if is_due:
            with suppress(OSError):  # the entry is there; the next commit tries again
                self.shrink(keep=key)
        return entry

    def take(self, built: Path) -> Path:
        """Move a subfolder out of a folder of `new_folder`, so that it is not removed with it. Returns the new path.
        Raises OSError."""
        taken = self._new_path()
        built.rename(taken)
        return taken

    def discard(self, built: Path) -> None:
        """Remove a folder of `new_folder` or `take`. Does nothing if it became an entry."""
        shutil.rmtree(built, ignore_errors=True)

    def drop(self, key: str) -> None:
        """Remove an entry."""
        doomed = self._new_path()
        for entries in (self._entries, *self._full):
            try:
                (entries / key).rename(doomed)
            except OSError:
                shutil.rmtree(entries / key, ignore_errors=True)  # another server dropped it, or it cannot be renamed
        shutil.rmtree(doomed, ignore_errors=True)

    def bytes_of(self, prefix: str) -> int:
        """Size of the entries whose keys begin with a prefix."""
        return sum(_bytes(folder) for folder in self._entries.glob(f"{prefix}*"))

    def shrink(self, keep: str = "") -> None:
        """Remove the least recently used entries until the rest fits the limit."""
        found = []
        for folder in self._entries.iterdir():
            with suppress(OSError):
                found.append((folder.stat().st_mtime, _bytes(folder), folder.name))
        total = sum(size for _, size, _ in found)
        for _, size, key in sorted(found):
            if total <= self.limit:
                break
            if key != keep:
                self.drop(key)
                total -= size
        with self._lock:
            self._room, self._looked = self.limit - total, time.monotonic()

    def _clear_abandoned(self) -> None:
        """Remove what killed processes left."""
        processes = {file.name: is_abandoned(file) for file in self._processes.iterdir()}
        for folder in self._building.iterdir():
            ended = processes.get(folder.name.partition("-")[0])
            if is_old(folder) if ended is None else ended:
                shutil.rmtree(folder, ignore_errors=True)
        for name, ended in processes.items():
            if ended:
                with suppress(OSError):  # another process removed it
                    (self._processes / name).unlink()


def _copy(built: Path, target: Path) -> None:
    """Copy a folder that cannot be renamed. META is written last: a folder without it is not an entry."""
    meta = (built / META).read_bytes()
    (built / META).unlink()
    try:
        shutil.copytree(built, target)
        (target / META).write_bytes(meta)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _bytes(folder: Path) -> int:
    return sum(size for _, size in _files(folder))


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and size of each file below a folder."""
    for above, _, names in os.walk(folder):
        for path in (f"{above}/{name}" for name in names):
            with suppress(FileNotFoundError):
                yield path, os.stat(path).st_size  # noqa: PTH116 (hot loop)


def device_of(path: Path) -> int:
    """Number of the device that holds a folder. Raises OSError."""
    return path.stat().st_dev


def open_cache() -> Cache:
    """The user's cache, or a temporary one where that folder is not writable or not private."""
    remove_abandoned()
    try:
        root = cache_root()
        if root.exists() and (other := open_to_others(root.resolve())) is not None:
            raise PermissionError(f"others can change {other}; make it yours alone: chown and chmod 700")
        return Cache(root)
    except (OSError, RuntimeError) as error:
        root = temporary_root()
        logger.warning("no cache (%s); using %s until the end", error, root)
        return Cache(root)
