"""What a folder of results shows: the figures of all views, and the notes that say what is lost."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.watch import scan_once
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.catalog import catalog
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.views.registry import VIEWS
from tests.http.conftest import InProcess
from tests.support.reading import whole_of
from tests.unit.store.results import settle

#: Fields that are not figures: names of readings, texts about losses, sizes of files, what reading cost, numbers of events of
#: any kind, in which order kinds came, which files gave a table.
_NO_FIGURES = frozenset(
    ("version", "fingerprint", "problems", "missing", "progress", "files", "others", "more", "source", "texts", "path")
) | {"events", "seen", "flow_kinds", "databases", "costs", "cost", "scanner", "sources"}
#: Views that show nothing that others do not; `diff` would compare a span with itself.
_LEFT_OUT = frozenset(("diff",))
INTERNAL_ERRORS = frozenset(("view_defect", "reader_defect", "reading_failed", "worker_killed", "unchecked.defect"))


@dataclass(frozen=True)
class Note:
    """A problem, a missing file or a skipped folder.

    file   the path that it is about, of a skipped folder, too; "" if only its text names files
    table  the table that is missing; "" for a problem
    """

    file: str
    text: str
    table: str = ""

    def names(self, file: str) -> bool:
        """Whether it is about a file: by path, by name, by the name that the format gives to its kind, or by its table."""
        name = file.rpartition("/")[2]
        kinds = [kind for format in FORMATS.values() if (kind := format.file(name)) is not None]
        if self.table and any(self.table in kind.tables for kind in kinds):
            return True
        names = {name, *(kind.name for kind in kinds)}
        is_of_it = self.file != "" and (f"/{file}".endswith(f"/{self.file}") or file.startswith(f"{self.file}/"))
        return is_of_it or any(one in self.text for one in names)


@dataclass
class Opened:
    """What is shown of the results below a folder.

    figures  place in the answers -> value
    notes    what says that something is lost
    codes    codes of the problems
    silent   content of files that is neither shown nor told
    spans    their ids
    """

    figures: dict[str, Any] = field(default_factory=dict)
    notes: set[Note] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    spans: list[str] = field(default_factory=list)


def open_results(logdir: Path, scratch: Path) -> Opened:
    """Open everything below a folder. scratch: for the cache; removed."""
    settle(logdir)
    watcher = scan_once({"": logdir})
    library = Library(watcher, Cache(scratch), workers=1, process=InProcess)
    try:
        return _open(Service(library, for_page=False))
    finally:
        library.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _open(service: Service) -> Opened:
    out = Opened()
    found: Any = catalog(service.library)
    out.notes |= {
        Note(item["path"].strip("/"), f"skipped {item['path']} {item['reason']}") for item in found["skipped"]
    }
    for run in found["runs"]:
        params = [("run", {"run": run["id"]}, run["label"])]
        for worker in run["workers"]:
            for span in worker["spans"]:
                out.spans.append(span["id"])
                params.append(("span", {"span": span["id"]}, f"{run['label']} {worker['label']}"))
        for scope, given, owner in params:
            for view in VIEWS:
                if view.scope == scope and view.id not in _LEFT_OUT:
                    _look(service, view.id, given, owner, out)
    return out


def _look(service: Service, view: str, params: dict[str, str], owner: str, out: Opened) -> None:
    answer, _ = service.wait(view, params, lambda jobs: time.sleep(0.001))
    for problem in answer["problems"]:
        out.codes.add(problem["code"])
        says = " ".join(str(problem[key]) for key in ("code", "file", "where", "expected", "found", "count"))
        out.notes.add(Note(problem["file"], says))
    out.notes |= {
        Note(item["file"], f"missing {item['file']} {item['text']}", item["table"]) for item in answer["missing"]
    }
    plain = json.loads(json.dumps({"data": answer["data"], "tables": answer["tables"]}, default=str))
    if view == "diagnosis" and answer["data"]:
        out.codes |= {one["texts"]["missing"]["code"] for one in answer["data"]["unchecked"]}
    if view == "doctor":
        out.silent |= set(_silent(answer["data"]["files"]))
    out.figures.update(_leaves(plain, f"{owner} {view}"))


def _silent(files: list[dict[str, Any]]) -> Iterator[str]:
    named = {whole_of(file["file"]) for file in files if file["problems"]}
    for file in files:
        for one in file["seen"]:
            is_table = one["kind"] == "rows" and any(other["kind"] == "cells" for other in file["seen"])
            is_table &= "cluster_" not in file["file"]  # its ranks share it
            rows = sum(table["rows"] for table in file["filled"]) if is_table else one["shown"]
            if one["kind"] == "events" and not one["part"]:
                rows = sum(table["rows"] for table in file["filled"] if table["table"] == "trace")
            if (
                one["seen"] != one["shown"] + one["told"]
                or one["shown"] != rows
                or (one["told"] and whole_of(file["file"]) not in named)
            ):
                yield f"{file['file']}: {one}"


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value.keys() >= {"columns", "data", "offset"}:  # the order of rows is no figure
        yield f"{place}.columns", sorted(value["data"])
        yield f"{place}.rows", sorted(map(str, zip(*(value["data"][key] for key in sorted(value["data"])))))
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in _NO_FIGURES:
                yield from _leaves(one, f"{place}.{key}")
    elif isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        for number, one in enumerate(sorted(value, key=json.dumps)):  # nor is that of curves, ranks and findings
            yield from _leaves(one, f"{place}[{number}]")
    else:
        yield place, value


def changed(before: Opened, after: Opened) -> list[str]:
    """Places of the figures that are different, disappeared or are new."""
    places = dict.fromkeys((*before.figures, *after.figures))
    return [place for place in places if before.figures.get(place, "") != after.figures.get(place, "")]
