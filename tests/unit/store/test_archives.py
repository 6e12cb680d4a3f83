"""Archives open as the folders that they hold, within limits, and never write outside the cache."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.unpack import TooLarge, Unpacked, unpack
from tb_npu_plugin.discovery.watch import Watcher, scan_once
from tb_npu_plugin.store import archives
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.support.fixtures import FIXTURES
from tests.unit.discovery.test_watch import until

RUN = "two_ranks"


def pack(folder: Path, archive: Path) -> Path:
    """An archive with the folder as its only member at the top."""
    kind, end = ("zip", ".zip") if archive.suffix == ".zip" else ("gztar", ".tar.gz")
    made = shutil.make_archive(str(archive).removesuffix(archive.suffix), kind, folder.parent, folder.name)
    return Path(made).rename(archive) if end != archive.suffix else Path(made)


def described(library: Library) -> list[tuple[object, ...]]:
    return [
        (
            place.run.token,
            place.run.label,
            place.worker.label,
            place.span.token,
            place.span.path,
            [file.size for file in place.span.files],
        )
        for place in library.scan().places()
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(FIXTURES / "results" / RUN, tmp_path_factory.mktemp("folder") / RUN))


@pytest.mark.parametrize("name", ["a.zip", "b.tgz", "c.tar.gz"])
def test_an_archive_is_the_run_that_it_holds(run: Path, tmp_path: Path, name: str) -> None:
    expected = Library(scan_once({"": run.parent}), Cache(tmp_path / "other"))
    (tmp_path / "logs").mkdir()
    archive = pack(run, tmp_path / "logs" / name)
    library = Library(scan_once({"": archive.parent}), Cache(tmp_path / "cache"))
    assert described(library) == described(expected) != []
    assert library.scan().skipped == () and list(archive.parent.iterdir()) == [archive]
    alone = Library(scan_once({"": archive}), Cache(tmp_path / "cache"))
    assert described(alone) == described(library)


def test_an_archive_is_unpacked_once_and_again_when_it_changes(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    archive = pack(run, tmp_path / "logs" / "a.zip")
    commands: list[object] = []
    real = archives.subprocess.run
    monkeypatch.setattr(
        archives.subprocess, "run", lambda *args, **options: commands.append(args) or real(*args, **options)
    )
    for count in (1, 1):
        assert described(Library(scan_once({"": archive.parent}), Cache(tmp_path / "cache")))
        assert len(commands) == count
    os.utime(archive, (1, 1))
    assert described(Library(scan_once({"": archive.parent}), Cache(tmp_path / "cache")))
    assert len(commands) == 2


def test_a_server_unpacks_in_the_background(run: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    archive = pack(run, tmp_path / "logs" / "a.zip")
    os.utime(archive, (1e9, 1e9))
    watcher = Watcher({"": archive.parent})
    assert watcher.wait(30) and watcher.has_profiles()
    assert [item.reason.code for item in watcher.current().skipped] == ["skipped.packed"]
    library = Library(watcher, Cache(tmp_path / "cache"))
    assert until(lambda: len(library.scan().places()) == 2)
    library.close()


def test_a_folder_of_the_same_name_is_read_instead(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "logs" / RUN)
    pack(run, tmp_path / "logs" / f"{RUN}.zip")
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    assert len(described(library)) == 2
    (told,) = library.scan().skipped
    assert (told.path, told.reason.code, told.is_lost) == (f"{RUN}.zip", "skipped.unpacked_beside", False)


def hostile(path: Path) -> Path:
    """An archive with a good file, and members that must not be written."""
    with tarfile.open(path, "w:gz") as file:

        def add(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", content: bytes = b"x") -> None:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(content) if kind == tarfile.REGTYPE else 0
            file.addfile(info, io.BytesIO(content))

        add("./", tarfile.DIRTYPE)
        add("r/good.csv", content=b"good")
        add("r/good.csv", content=b"again")
        add("r/out", tarfile.SYMTYPE, "/")
        add("r/out/passwd.csv")
        add("r/hard.csv", tarfile.LNKTYPE, "/etc/passwd")
        add("r/pipe.csv", tarfile.FIFOTYPE)
        add("/tmp/absolute.csv")
        add("r/../../up.csv")
        add("C:\\temp\\drive.csv")
        add("..\\up.csv")
        add("r/good.csv/below.csv")
        add("r/inner.zip")
        add("r/inner.tar.gz")
        add(f"r/{'n' * 300}.csv")
        add("r/weights.bin")
    return path


def test_members_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "target"
    target.mkdir(parents=True)
    found = unpack(hostile(tmp_path / "a.tgz"), target, 1000)
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*.csv") if path.is_file()}
    assert written == {"a/b/target/r/good.csv": b"good", "a/b/target/r/out/passwd.csv": b"x"}
    assert not any(path.is_symlink() or path.is_fifo() for path in tmp_path.rglob("*"))
    assert (found.refused, found.others, found.names, found.is_damaged) == (12, 1, ["r/weights.bin"], False)


def test_what_was_refused_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with zipfile.ZipFile(pack(run, tmp_path / "logs" / "a.zip"), "a") as file:
        file.writestr(f"{RUN}/../../up.csv", "x")
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    assert len(described(library)) == 2
    (told,) = library.scan().skipped
    assert (told.path, told.reason.params) == ("a.zip", {"count": 1})


@pytest.mark.parametrize("limit", [50_000, 1_000_000])
def test_no_more_is_written_than_the_limits_allow(tmp_path: Path, limit: int) -> None:
    """Whatever the headers claim: of a bomb nothing stays, and the cache's limit holds."""
    (tmp_path / "logs").mkdir()
    bomb = tmp_path / "logs" / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("r_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", b"0" * 3_000_000)
    cache = Cache(tmp_path / "cache", limit=limit)
    library = Library(scan_once({"": tmp_path / "logs"}), cache)
    expected = "skipped.archive_bomb" if bomb.stat().st_size * archives.PER_BYTE < limit else "skipped.no_room"
    assert [item.reason.code for item in library.scan().skipped] == [expected]
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) < 10_000
    with pytest.raises(TooLarge):
        (tmp_path / "target").mkdir()
        unpack(bomb, tmp_path / "target", 2_999_999)


@pytest.mark.parametrize("name", ["a.zip", "b.tgz"])
def test_of_a_cut_archive_what_is_whole_opens(run: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "logs").mkdir()
    archive = pack(run, tmp_path / "logs" / name)
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) * 3 // 4])
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    assert "skipped.damaged_archive" in [item.reason.code for item in library.scan().skipped if item.path == name]
    assert bool(described(library)) is (name == "b.tgz")  # a cut zip has no list of its members


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("at", [0, 40, 50])
def test_a_damaged_member_costs_only_itself(tmp_path: Path, method: int, at: int) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", method) as file:
        file.writestr("a.csv", os.urandom(3000))
        file.writestr("b.csv", "b")
    data = bytearray(archive.read_bytes())
    data[at : at + 8] = b"\xff" * 8
    archive.write_bytes(data)
    (tmp_path / "target").mkdir()
    assert unpack(archive, tmp_path / "target", 10_000).is_damaged
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["b.csv"]


@pytest.mark.parametrize("time", ["nan", "-inf", "1e400", "-1e30"])
def test_a_member_may_have_any_time(tmp_path: Path, time: str) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo("a.csv")
        info.pax_headers = {"mtime": time}
        file.addfile(info)
    (tmp_path / "target").mkdir()
    assert unpack(tmp_path / "a.tgz", tmp_path / "target", 1) == Unpacked()
    assert (tmp_path / "target" / "a.csv").stat().st_mtime <= (tmp_path / "a.tgz").stat().st_mtime


def test_archives_of_folders_with_one_name_are_all_opened(run: Path, tmp_path: Path) -> None:
    """As nodes pack their results: node0.zip and node1.zip, each with the same folder; or the members without a folder."""
    (tmp_path / "logs").mkdir()
    for name in ("node0.zip", "node1.zip", "node1.tgz"):
        pack(run, tmp_path / "logs" / name)
    shutil.make_archive(str(tmp_path / "logs" / "flat"), "gztar", next(run.iterdir()))
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    paths = [place.span.path for place in library.scan().places()]
    above = {path.removesuffix(f"/{path.rpartition('/')[2]}") for path in paths if path != "flat"}
    assert above == {RUN, f"node1/{RUN}", f"node1.zip/{RUN}"} and len(paths) == 7
    assert library.scan().skipped == ()
    assert [place.worker.spans[0].label for place in library.scan().places() if place.span.path == "flat"] == ["flat"]


def test_an_archive_with_nothing_but_archives_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with zipfile.ZipFile(tmp_path / "logs" / "a.zip", "w") as file:
        file.write(pack(run, tmp_path / "rank0.zip"), "rank0.zip")
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    assert [item.reason.code for item in library.scan().skipped] == ["skipped.refused_members"]


def test_raw_data_in_an_archive_must_be_unpacked_first(tmp_path: Path) -> None:
    raw = tmp_path / "raw_ascend_pt" / "FRAMEWORK"
    raw.mkdir(parents=True)
    (raw / "torch.op_range").write_bytes(b"x")
    (tmp_path / "logs").mkdir()
    pack(raw.parent, tmp_path / "logs" / "a.zip")
    library = Library(scan_once({"": tmp_path / "logs"}), Cache(tmp_path / "cache"))
    (told,) = library.scan().skipped
    assert (told.reason.code, told.action.code, told.command) == ("skipped.never_parsed", "action.unpack_first", "")
