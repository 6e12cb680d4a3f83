"""Looks into files: whatever one does to its process costs that file alone, and only what the file did is remembered."""

from __future__ import annotations

import errno
import json
import logging
import os
import resource
import shutil
import sqlite3
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery import find_cluster, look_client, looks, walk
from tb_npu_plugin.discovery.found import FinderResult, Folder
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.discovery.walk import FINDERS
from tb_npu_plugin.schema import scan_keys
from tests.support.fixtures import FIXTURES

CLUSTER = "cluster_analysis_output"
#: What a look does to its process, by a word in the name of the file -> a part of the reason.
DEEDS = {
    "fails": ("raise KeyError('played')", "internal error"),
    "wrong": ("return {'rank': 'many'}", "internal error"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    "spin": ("\n  while True: pass", "more CPU time or memory"),
    "memory": ("return [b'x' * (1 << 20) for _ in range(1200)]", "more CPU time or memory"),
    "sleep": ("time.sleep(50)", "does not respond"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "refused": ("raise PermissionError(13, 'Permission denied')", "No permission"),
    "files": ("raise OSError(24, 'Too many open files')", "Too many open files"),
    "poor": ("raise MemoryError", "Cannot allocate memory"),
    "write": ("open(path, 'w').write('x' * 99999)", "File too large"),
}
#: Those that the machine may be the cause of: they are tried again.
PASSING = {"sleep", "killed", "refused", "files", "poor", "write"}
PROGRAM = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from tb_npu_plugin.discovery import look_process, looks
real = looks.TRACE_HEAD.read
def read(path):
{deeds}
 return real(path)
looks.TRACE_HEAD.read = read
look_process.CPU = 1
look_process.main()
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that a process was asked for."""
    names: list[str] = []
    real = look_client._Process.ask

    def ask(process: Any, name: str, path: str) -> Any:
        names.append(Path(path).name)
        monkeypatch.setattr(look_client, "LIMIT", 0.5 if "sleep" in path else 60.0)  # however busy the machine is
        return real(process, name, path)

    monkeypatch.setattr(look_client._Process, "ask", ask)
    return names


def reasons(found: Scan) -> dict[str, str]:
    return {skipped.path: str(skipped.reason) for skipped in found.skipped}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_whatever_a_look_does_costs_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    shutil.copytree(FIXTURES / "results" / "kineto_exported", tmp_path / "good")
    for name in DEEDS:
        (tmp_path / f"{name}.pt.trace.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    deeds = "\n".join(f" if '{name}.pt' in path: {deed}" for name, (deed, _) in DEEDS.items())
    monkeypatch.setattr(look_client, "_PROGRAM", PROGRAM.format(deeds=deeds))
    monkeypatch.setattr(look_client, "MAX_LOST", 600.0)
    found = scan({"": tmp_path})
    assert [place.run.label for place in found.places()] == ["good"]
    told = reasons(found)
    assert {
        name: told[f"{name}.pt.trace.json"]
        for name, (_, part) in DEEDS.items()
        if part not in told[f"{name}.pt.trace.json"]
    } == {}
    assert len(asked) == len(DEEDS) + 1
    asked.clear()
    again = scan({"": tmp_path})
    assert {name.partition(".")[0] for name in asked} == PASSING and reasons(again) == told
    os.utime(tmp_path / "spin.pt.trace.json", (1, 1))  # another file by now
    monkeypatch.setattr(look_client, "_PROGRAM", PROGRAM.format(deeds=""))
    assert len(scan({"": tmp_path}).places()) == 1 + len(PASSING) + 1


def test_looks_that_take_too_long_leave_the_rest_to_the_next_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    for number in range(5):
        (tmp_path / f"{number}.pt.trace.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    monkeypatch.setattr(look_client, "_PROGRAM", PROGRAM.format(deeds=" os.kill(os.getpid(), signal.SIGSEGV)"))
    monkeypatch.setattr(look_client, "MAX_LOST", 0.0)
    for number in range(5):
        told = list(reasons(scan({"": tmp_path})).values())
        assert (
            len(asked) == number + 1
            and ["next" in reason or "other files" in reason for reason in told].count(True) == 4 - number
        )


def test_no_process_where_names_say_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    for name in ("level1", "msprof", "mindinsight_cluster", "links"):
        shutil.copytree(FIXTURES / "results" / name, tmp_path / name)
    found = scan({"": tmp_path})
    assert len(found.runs) == 4 and not found.skipped


def test_a_process_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "results" / "kineto_exported", tmp_path / "trace")
    shutil.copytree(FIXTURES / "results" / "level1", tmp_path / "good")

    def refuse(*args: object, **options: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", refuse)
        found = scan({"": tmp_path})
    assert [run.label for run in found.runs] == ["good"]
    (reason,) = reasons(found).values()
    assert "Too many open files" in reason
    assert len(scan({"": tmp_path}).runs) == 2


def test_a_scan_leaves_no_process_and_a_thread_that_goes_on_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FIXTURES / "results" / "kineto_exported", tmp_path / "trace")
    started: list[Any] = []
    real = look_client._Process.__init__

    def init(process: Any) -> None:
        real(process)
        started.append(process._child)

    monkeypatch.setattr(look_client._Process, "__init__", init)
    scan({"": tmp_path})
    (child,) = started
    assert child.returncode is not None
    ended = look_client.Looks()
    ended.close()
    found = ended.ask(looks.INFO, "/anything", 1, 1)
    assert isinstance(found, look_client.Failure) and not found.is_lasting


@pytest.mark.defect
def test_a_finder_that_fails_costs_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(FIXTURES / "results" / "level1", tmp_path / "odd" / "below")
    shutil.copytree(FIXTURES / "results" / "level1", tmp_path / "good")

    def broken(folder: Folder) -> FinderResult | None:
        if folder.name == "odd":
            raise TypeError("played")
        return None

    monkeypatch.setattr(walk, "FINDERS", (broken, *FINDERS))
    found = scan({"": tmp_path})
    assert sorted(run.label for run in found.runs) == ["good", "odd/below"]
    assert "internal error" in reasons(found)["odd"] and "played" in caplog.text


def cluster(folder: Path, kind: str, name: str = "") -> Path:
    """A cluster result beside a good one; without its step times if another file is named, which is returned."""
    shutil.copytree(FIXTURES / "results" / "level1", folder / "good")
    shutil.copytree(FIXTURES / "recorded" / kind, folder / "bad")
    (folder / "bad" / CLUSTER / "cluster_step_trace_time.csv").unlink(missing_ok=True)
    return folder / "bad" / CLUSTER / name


@pytest.mark.parametrize(
    "content",
    [
        '{"collective": 17, "p2p": 1}',
        '{"collective": [[{"a": 1}, null, 1.5, "x"]]}',
        "[" * 99999,
        '{"p2p": {"0": [0]}}',
        "\0",
        "",
    ],
)
def test_groups_of_any_shape(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    cluster(tmp_path, "cluster_text", "communication_group.json").write_text(content)
    found = scan({"": tmp_path})
    assert [run.label for run in found.runs] == ["good"] and list(reasons(found)) == [f"bad/{CLUSTER}"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_more_ranks_than_a_job_can_have(tmp_path: Path) -> None:
    path = cluster(tmp_path, "cluster_text", "communication_group.json")
    path.write_text(json.dumps({"collective": [list(range(40_000))]}))
    found = scan({"": tmp_path})
    assert [run.label for run in found.runs] == ["good"] and len(found.skipped) == 2


def bomb(path: Path, table: str, levels: int) -> None:
    """Make pages of a table's tree that each refer to one page many times."""
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    data += data[(root - 1) * size : root * size]
    last, fan = len(data) // size, (size - 12) // 7 - 1
    for level in range(levels):
        page = bytearray(size)
        cells = [size - 5 * (number + 1) for number in range(fan)]
        page[:12] = struct.pack(">BHHHBI", 5, 0, fan, cells[-1], 0, last)
        for number, cell in enumerate(cells):
            page[cell : cell + 5] = struct.pack(">IB", last, number % 127 + 1)
            page[12 + 2 * number : 14 + 2 * number] = struct.pack(">H", cell)
        if level == levels - 1:
            data[(root - 1) * size : root * size] = page
        else:
            data += page
            last = len(data) // size
    data[28:32] = struct.pack(">I", len(data) // size)
    path.write_bytes(data)


def damage(what: str) -> Callable[[Path], None]:
    def names(path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"CREATE TABLE Cl", b"CREATE \xff\xfe\xfd Cl"))

    return {"names": names, "tree": lambda path: bomb(path, scan_keys.DB_STEPS, 6)}[what]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", ["names", "tree"])
def test_damaged_databases(tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    path = cluster(tmp_path, "cluster_db", "cluster_analysis.db")
    damage(what)(path)
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.monotonic()
    found = scan({"": tmp_path})
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert [run.label for run in found.runs] == ["good"] and f"bad/{CLUSTER}" in reasons(found)
    assert after.ru_utime - before.ru_utime < 1, "the work is another process's"
    scan({"": tmp_path})
    assert time.monotonic() - begun < 30 and not caplog.records
    assert find_cluster.DATABASE_RANKS.name in {key[0] for key in look_client._known}
