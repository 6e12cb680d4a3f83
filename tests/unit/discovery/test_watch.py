"""The background scan: changes are picked up, nobody waits, defects do not end it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import watch
from tb_npu_plugin.discovery.logdirs import parse_logdirs, shows_summaries
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.schema.other_files import LOCK_FILE
from tests.unit.store.results import NAME, write_result


def until(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Wait for a condition that another thread brings about, however busy the machine is."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return True
        pause.wait(0.02)
    return False


def test_generation_grows_only_with_changes(tmp_path: Path) -> None:
    watcher = Watcher({"": tmp_path}, background=False)
    watcher.update()
    assert watcher.generation == 0
    write_result(tmp_path / NAME)
    watcher.update()
    watcher.update()
    assert watcher.generation == 1
    (tmp_path / NAME / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text("grown")
    watcher.update()
    assert watcher.generation == 2


def test_a_result_that_appears_is_picked_up_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_AGE", 0.0)
    watcher = Watcher({"": tmp_path})
    assert watcher.wait(120) and watcher.has_profiles() is False
    write_result(tmp_path / NAME)
    assert until(watcher.has_profiles)
    assert until(lambda: len(watcher.current().places()) == 1)
    token = watcher.current().places()[0].span.token
    assert watcher.place(token) is not None and watcher.place("nonsense") is None


def test_nobody_waits_for_a_slow_scan_and_the_first_result_makes_it_active(tmp_path: Path) -> None:
    # TensorBoard hides the tab of a plugin that is not active at once: half a second was too short for a busy machine.
    go_on = threading.Event()

    def slow(logdirs: object, seen: Callable[[], None]) -> Scan:
        seen()
        go_on.wait(120)
        return Scan()

    watcher = Watcher({"": tmp_path}, slow)
    assert watcher.current() == Scan()  # at once
    assert watcher.scanning
    assert watcher.has_profiles(120) is True
    assert not watcher.wait(0.01)
    go_on.set()
    assert watcher.wait(120)
    assert until(lambda: not watcher.scanning)
    assert Watcher({"": tmp_path}, lambda logdirs, seen: Scan()).has_profiles(120) is False


def test_a_scan_is_not_repeated_before_it_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_AGE", 3600.0)  # however long this test is kept from going on
    calls = []
    watcher = Watcher({"": tmp_path}, lambda logdirs, seen: calls.append(1) or Scan())
    assert watcher.wait(120)
    for _ in range(5):
        watcher.current()
    assert until(lambda: not watcher.scanning) and len(calls) == 1
    watcher.ask(now=True)
    assert until(lambda: len(calls) == 2)


@pytest.mark.defect
def test_a_defect_in_a_scan_ends_neither_the_thread_nor_what_was_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_result(tmp_path / NAME)
    calls = []

    def broken(logdirs: Mapping[str, Path], seen: Callable[[], None]) -> Scan:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("played")
        return scan(logdirs, seen)

    watcher = Watcher({"": tmp_path}, broken)
    assert watcher.wait(120)
    watcher.ask(now=True)
    assert until(lambda: len(calls) == 2 and not watcher.scanning) and "played" in caplog.text
    assert len(watcher._scan.places()) == 1 and "internal error" in watcher._scan.skipped[0].reason
    watcher.ask(now=True)
    assert until(lambda: len(calls) == 3 and not watcher.scanning) and not watcher._scan.skipped


def test_profiles_that_were_never_parsed_are_profiles_and_a_broken_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert Watcher({"": tmp_path}).has_profiles(120) is False
    (tmp_path / NAME / "FRAMEWORK").mkdir(parents=True)
    assert Watcher({"": tmp_path}).has_profiles(120) is True


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("a:/x,b:/y", {"a": "/x", "b": "/y"}),
        ("/x/one,/y/two", {"one": "/x/one", "two": "/y/two"}),
        ("/x/one,/y/one", {"one": "/x/one", "one (2)": "/y/one"}),
        ("/x:y", {"x:y": "/x:y"}),
        ("a:/x:y", {"a": "/x:y"}),
    ],
)
def test_logdir_spec_is_read_as_tensorboard_does(spec: str, expected: dict[str, str]) -> None:
    assert {name: str(path) for name, path in parse_logdirs("", spec).items()} == expected


def test_logdir_goes_first_and_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_logdirs("logs", "a:/x") == {"": tmp_path / "logs"}
    assert parse_logdirs("~/logs", "") == {"": Path("/home/somebody/logs")}
    assert parse_logdirs("", "") == {}


def test_converted_summary_events_are_no_profiles(tmp_path: Path) -> None:
    logs, converted = tmp_path / "logs", tmp_path / "converted"
    converted.mkdir()
    spec = f"{logs},{converted}"
    assert list(parse_logdirs("", spec)) == ["logs", "converted"] and not shows_summaries(spec)
    (converted / LOCK_FILE).touch()
    assert parse_logdirs("", spec) == {"": logs} and shows_summaries(spec)
    assert parse_logdirs("", f"a:{logs},{converted}") == {"a": logs}
    assert parse_logdirs("", f"{logs},{logs},{converted}") == {"logs": logs, "logs (2)": logs}
