"""The routes of docs/http_api.md. Each checks its parameters and makes one call."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any
from urllib.parse import urlsplit

from werkzeug.wrappers import Request, Response

from tb_npu_plugin.discovery.runs import Choice
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import Forbidden, MethodNotAllowed, NotFound, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger
from tb_npu_plugin.refusal import raise_if_exhausted
from tb_npu_plugin.server import respond, static
from tb_npu_plugin.server.admission import Admission
from tb_npu_plugin.server.hosts import HostCheck
from tb_npu_plugin.server.timeline.ask import Download
from tb_npu_plugin.server.timeline.registry import answer as answer_ask
from tb_npu_plugin.server.timeline.registry import parse as parse_ask
from tb_npu_plugin.service import catalog
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.views.table_query import parse_query
from tb_npu_plugin.views.tables_json import table_json, to_csv

#: Methods of read-only routes.
READ_METHODS = ("GET", "HEAD")


def check_write_request(request: Request) -> None:
    """Raises MethodNotAllowed if the method is not POST, Forbidden if a page of another site sent the request.

    Browsers send the origin of a request in Sec-Fetch-Site or, over plain http, in Origin. A program that sends
    neither (curl) is allowed.
    """
    if request.method != "POST":
        raise MethodNotAllowed(Message("error.method", method=request.method), Message("hint.post"), ("POST",))
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    hosts = {request.headers.get("Host"), request.headers.get("X-Forwarded-Host")}
    if site not in (None, "same-origin") or (site is None and origin and urlsplit(origin).netloc not in hosts):
        raise Forbidden(Message("error.other_site"), Message("hint.own_page"))


logger = package_logger(__name__)

#: How long the first request for the catalog may wait for the first scan, in seconds.
FIRST_SCAN = 1.0
#: How long an answer about progress waits for a change, in seconds.
PROGRESS_WAIT = 0.5
#: How long an answer of a view waits for its first data, in seconds.
VIEW_WAIT = 0.25
#: Choices of runs that are kept, with what was made for them.
MAX_CHOICES = 8
#: Bytes per block of a download.
CHUNK = 1 << 20
_MOUNT = "/npu_profiler/"
#: Routes with data.
_DATA = "api/"


class App:
    """The plugin's WSGI application. It works below any URL prefix."""

    def __init__(self, watcher: Watcher, library: Library | None = None, hosts: HostCheck | None = None) -> None:
        self._watcher = watcher
        self._hosts = hosts or HostCheck()
        self._admission = Admission.of_process()
        self._given = library
        self._lock = threading.Lock()
        self._service: Service | None = None
        #: By choice of runs, the latest last.
        self._chosen: OrderedDict[Choice, App] = OrderedDict()
        #: Routes that change state: only POST, only from a page of this server.
        self._write_routes: dict[str, Callable[[Request], Response]] = {
            "api/reading": self._reading,
            "api/rescan": self._rescan,
        }
        self._exact: dict[str, Callable[[Request], Response]] = {
            "api/catalog": self._catalog,
            "api/progress": self._progress,
            "api/trace/download": self._download,
            "index.js": lambda request: self._static(request, "index.js"),
        }
        self._below: dict[str, Callable[[Request, str], Response]] = {
            "static/": self._static,
            "api/view/": self._view,
            "api/table/": self._table,
            "api/timeline/": self._timeline,
        }

    @property
    def library(self) -> Library:
        """The library of the service."""
        return self.service.library

    @property
    def service(self) -> Service:
        """The service over the library, created by the first request that needs it."""
        with self._lock:
            if self._service is None:
                self._service = Service(self._given or Library(self._watcher))
            return self._service

    def serve(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """WSGI entry."""
        request = Request(environ)
        response = respond.respond_to(lambda request: self._admission.run(lambda: self._route(request)), request)
        return response(environ, start_response)

    def _route(self, request: Request) -> Response:
        path = request.path.rpartition(_MOUNT)[2].lstrip("/")
        if path.startswith(_DATA):  # the page itself is public, and shows the error
            self._hosts.check(request.headers.get("Host"))
        choice = _choice(request)
        return (self if choice == Choice() else self._app_of(choice))._answer(request, path)

    def _app_of(self, choice: Choice) -> App:
        """The application for the runs that a user has chosen. Other users may look at others."""
        library = self.library.chosen(choice)
        with self._lock:
            if choice not in self._chosen:
                self._chosen[choice] = App(self._watcher, library, self._hosts)
            self._chosen.move_to_end(choice)
            while len(self._chosen) > MAX_CHOICES:
                self._chosen.popitem(last=False)
            return self._chosen[choice]

    def _answer(self, request: Request, path: str) -> Response:
        write = self._write_routes.get(path)
        if write is not None:
            check_write_request(request)
            return write(request)
        if request.method not in READ_METHODS:
            raise MethodNotAllowed(Message("error.method", method=request.method), Message("hint.get"), READ_METHODS)
        exact = self._exact.get(path)
        if exact is not None:
            return exact(request)
        for prefix, handler in self._below.items():
            if path.startswith(prefix):
                return handler(request, path[len(prefix) :])
        raise NotFound(Message("error.route"), Message("hint.routes"))

    def _static(self, request: Request, name: str) -> Response:
        packed, mime = static.packed_static(name)
        return respond.static(request, packed, mime)

    def _catalog(self, request: Request) -> Response:
        self._watcher.ask()
        self._watcher.wait(FIRST_SCAN)
        return respond.json(request, catalog.catalog(self.library))

    def _rescan(self, request: Request) -> Response:
        self.library.retry()
        self._watcher.ask(now=True)
        return self._catalog(request)

    def _progress(self, request: Request) -> Response:
        self._watcher.ask()
        seen = request.args.get("seen", "")
        if seen.isdecimal():
            self.library.pool.wait(int(seen), PROGRESS_WAIT)
        return respond.json(request, catalog.reading(self.library, request.args.getlist("span")))

    def _reading(self, request: Request) -> Response:
        run, stage, do = (request.args.get(name, "") for name in ("run", "stage", "do"))
        places = self.service.control_reading(request.args.getlist("span"), run, stage, do)
        return respond.json(request, catalog.reading(self.library, [place.span.token for place in places]))

    def _view(self, request: Request, view: str) -> Response:
        self._watcher.wait(FIRST_SCAN)
        params = request.args.to_dict()
        patience = VIEW_WAIT if params.pop("wait", "") else 0.0
        return respond.json(request, self.service.view(view, params, patience))

    def _table(self, request: Request, name: str) -> Response:
        self._watcher.wait(FIRST_SCAN)
        view, _, table = name.partition(".")
        query = parse_query(request.args.to_dict(flat=False))
        as_text = request.args.get("format") or "json"
        check_choice("format", as_text, ("json", "csv"))
        source, base_ns = self.service.table(view, table, request.args.to_dict())
        if as_text == "csv":
            return respond.download(request, to_csv(source, base_ns, query), "text/csv", f"{view}_{table}.csv")
        return respond.json(request, table_json(name, source, base_ns, query))

    def _download(self, request: Request) -> Response:
        place = self.library.place(request.args.get("span", ""))
        if not place.span.has_trace:
            raise NotFound(Message("error.no_trace"), Message("hint.has_trace"))
        file = place.span.trace_files[0]
        try:
            stream = (place.span.folder / file.relative).open("rb")
        except OSError as error:
            raise_if_exhausted(error)
            raise NotFound(
                Message("error.trace_closed", reason=error.strerror or str(error)), Message("hint.permissions")
            ) from error
        name = f"{place.worker.label}_{file.relative.rpartition('/')[2]}"
        size = stream.seek(0, 2)
        stream.seek(0)
        mime = "application/gzip" if name.endswith(".gz") else "application/json"
        return respond.download(request, _blocks(stream, size), mime, name, size, stream.close)

    def _timeline(self, request: Request, name: str) -> Response:
        self._watcher.wait(FIRST_SCAN)
        ask = parse_ask(name, request.args.get("query", ""))
        found = answer_ask(self.service, ask, respond.is_gone(request))
        if isinstance(found, bytes):
            return respond.binary(request, found)
        if isinstance(found, Download):
            mime, ending = ("text/csv", "csv") if found.kind == "csv" else ("application/json", "json")
            return respond.download(request, found.pieces, mime, f"trace_{name}.{ending}")
        return respond.json(request, found)


def _choice(request: Request) -> Choice:
    """The runs that the user has chosen: `join` with ids of runs, separated by dots, and `split` with the id of one; repeatable."""
    joined = (frozenset(filter(None, ids.split("."))) for ids in request.args.getlist("join"))
    return Choice(frozenset(filter(None, joined)), frozenset(filter(None, request.args.getlist("split"))))


def _blocks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """The first `size` bytes of a file. It may grow meanwhile, but Content-Length must hold."""
    while size > 0 and (block := stream.read(min(CHUNK, size))):
        size -= len(block)
        yield block
