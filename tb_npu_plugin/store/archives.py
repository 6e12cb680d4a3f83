"""Archives below the logdirs, unpacked into the cache by a process of their own: one entry for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import tb_npu_plugin
from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.model import FoundFile, OpenedArchive
from tb_npu_plugin.discovery.unpack import MAX_MEMBERS
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.store.cache.disk import Cache, Entry, entry_key
from tb_npu_plugin.store.stages import is_settled

logger = package_logger(__name__)
#: Maximum bytes that are written for a byte of an archive.
PER_BYTE = 100
#: Prefix of the keys of these entries, and their folder of members.
_PREFIX, _MEMBERS = "archive-", "members"
#: Seconds that any archive may take, and bytes per second of a disk that still answers.
_SECONDS, _BYTES_PER_SECOND = 120.0, 1 << 20
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from tb_npu_plugin.discovery.unpack import main; main()"
_SOURCE = str(Path(tb_npu_plugin.__file__).parent.parent)


class Archives:
    """Unpacks archives on demand, one at a time. waits: `open` waits for it; else a thread does it and calls `done`."""

    def __init__(self, cache: Cache, waits: bool, done: Callable[[], None]) -> None:
        self._cache, self._waits, self._done = cache, waits, done
        self._running: set[str] = set()
        #: Archives without an entry, because of the machine: tried again by the next process.
        self._failed: dict[str, str] = {}
        self._lock = threading.Lock()

    def open(self, path: Path, size: int, mtime_ns: int) -> OpenedArchive:
        """The members of an archive of this size and time, or why there are none. Raises OSError."""
        file = FoundFile(path.name, size, mtime_ns)
        key = _PREFIX + entry_key(path.parent, "archive", (file,))
        entry = self._cache.get(key)
        if entry is None and key not in self._failed:
            if not is_settled((file,)) and not self._waits:
                return OpenedArchive(reason=Message("skipped.packed"))
            if self._waits:
                entry = self._unpack(key, path, size)
            elif key not in self._running:
                self._running.add(key)
                threading.Thread(
                    target=self._unpack_later, args=(key, path, size), name="npu-unpack", daemon=True
                ).start()
        if entry is not None:
            return _opened(entry)
        return OpenedArchive(reason=self._failed.get(key, Message("skipped.packed")))

    def _unpack_later(self, key: str, path: Path, size: int) -> None:
        try:
            self._unpack(key, path, size)
        finally:
            self._running.discard(key)
            self._done()

    def _unpack(self, key: str, path: Path, size: int) -> Entry | None:
        """Make the entry of an archive, or note why there is none."""
        with self._lock:
            try:
                built = self._cache.new_folder()
                try:
                    found = self._run(path, built / _MEMBERS, size)
                    return self._cache.commit(key, built, {"problems": [], **found})
                finally:
                    self._cache.discard(built)
            except OSError as error:
                self._failed[key] = report.unreadable("", error, is_file=True).reason
            except _Failed as failed:
                self._failed[key] = failed.reason
        return None

    def _run(self, path: Path, target: Path, size: int) -> dict[str, object]:
        """What the process answered. Raises _Failed or OSError."""
        target.mkdir(mode=0o700)
        room = self._room()
        limit = min(PER_BYTE * size, room)
        request = json.dumps({"archive": os.fspath(path), "target": os.fspath(target), "limit": limit})
        try:
            done = subprocess.run(
                [sys.executable, "-S", "-c", _PROGRAM, _SOURCE],
                input=request + "\n",
                capture_output=True,
                text=True,
                cwd="/",
                timeout=_SECONDS + limit / _BYTES_PER_SECOND,
                check=False,
            )
            answer = json.loads(done.stdout)
        except subprocess.TimeoutExpired as error:
            raise _Failed(Message("skipped.no_response")) from error
        except ValueError as error:
            logger.error("unpacking %s failed: %s", printable(str(path)), printable(done.stderr[-2000:]))
            raise _Failed(Message("skipped.look_ended", code=done.returncode)) from error
        if "os_error" in answer:
            raise OSError(*answer["os_error"])
        if "too_large" in answer:
            shutil.rmtree(target)
            if limit == room:
                raise _Failed(Message("skipped.no_room", size=limit >> 20))
            return {"too_large": True}
        return dict(answer["answer"])

    def _room(self) -> int:
        """Bytes that the cache can take: other entries give way, but for unpacked archives."""
        others = self._cache.bytes_of(_PREFIX)
        return max(0, min(self._cache.limit - others, shutil.disk_usage(self._cache.root).free))


class _Failed(Exception):
    """Why an archive was not unpacked."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason


def _opened(entry: Entry) -> OpenedArchive:
    meta = entry.meta
    if meta.get("too_large"):
        return OpenedArchive(reason=Message("skipped.archive_bomb", factor=PER_BYTE, members=MAX_MEMBERS))
    return OpenedArchive(
        entry.folder / _MEMBERS, meta["others"], tuple(meta["names"]), meta["refused"], meta["is_damaged"]
    )
