"""Builds all responses: JSON, binary, files, and errors as JSON."""

from __future__ import annotations

import gzip
import selectors
import socket
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tensorboard.backend import http_util
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from tb_npu_plugin.errors import MethodNotAllowed, NpuPluginError, Refused
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.messages import Message, messages_of
from tb_npu_plugin.printable import package_logger
from tb_npu_plugin.refusal import as_refused
from tb_npu_plugin.views.base import ErrorJson

logger = package_logger(__name__)

#: Binary responses of at least this size are compressed. On a local network, smaller ones would only be slower.
GZIP_FROM = 64 * 1024
#: When a client may send a request again that the machine refused, in seconds.
RETRY_AFTER = "1"


def json(request: Request, content: Any, status: int = 200) -> Response:
    """A JSON response, see `encode_json`."""
    return _respond(request, encode_json(content), "application/json", code=status)


def binary(request: Request, content: bytes, mime: str = "application/octet-stream") -> Response:
    """Binary columns (docs/http_api.md), compressed from GZIP_FROM bytes on."""
    if len(content) >= GZIP_FROM and "gzip" in request.headers.get("Accept-Encoding", ""):
        # TensorBoard compresses text only.
        packed = gzip.compress(content, compresslevel=1)
        return _respond(request, packed, mime, content_encoding="gzip")
    return _respond(request, content, mime)


def download(
    request: Request,
    content: bytes | Iterator[bytes],
    mime: str,
    name: str,
    size: int | None = None,
    close: Callable[[], None] | None = None,
) -> Response:
    """A file download. A stream needs its `size` and a function that closes it."""
    response = Response(content, mimetype=mime)
    if size is not None:
        response.headers["Content-Length"] = str(size)
    if close is not None:
        response.call_on_close(close)
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in name)
    response.headers["Content-Disposition"] = f'attachment; filename="{plain}"'
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def static(request: Request, packed: bytes, mime: str) -> Response:
    """A file of the frontend, compressed with gzip. A browser asks each time whether its copy is still right."""
    response = _respond(request, packed, mime, content_encoding="gzip")
    response.set_etag(f"{zlib.crc32(packed):08x}", weak=True)  # the same for all encodings
    return _TypedResponse(response.response, response.status, response.headers).make_conditional(request)


class _TypedResponse(Response):
    """Keeps Content-Type in an answer 304, too: TensorBoard warns of each answer without it."""

    def get_wsgi_headers(self, environ: dict[str, Any]) -> Headers:
        headers = super().get_wsgi_headers(environ)
        headers.setdefault("Content-Type", self.headers["Content-Type"])
        return headers


def error(request: Request, problem: Exception) -> Response:
    """ErrorJson. An error that is not a NpuPluginError is a defect of this plugin and is logged."""
    problem = as_refused(problem) or problem
    if isinstance(problem, NpuPluginError):
        body = _body(problem.code, problem.message, problem.hint)
        response = json(request, body, problem.status if problem.status >= 400 else 500)
        if isinstance(problem, Refused):
            response.headers["Retry-After"] = RETRY_AFTER
            logger.warning("request %s: %s", request.path, problem.message)
        if isinstance(problem, MethodNotAllowed):
            response.headers["Allow"] = ", ".join(problem.allowed)
        return response
    logger.error("request %s failed", request.path, exc_info=problem)
    return json(request, _body("internal", Message("error.internal"), Message("hint.server_log")), 500)


def _body(code: str, message: str, hint: str) -> ErrorJson:
    texts = messages_of({"message": message, "hint": hint})
    return {"code": code, "message": message, "hint": hint, "texts": texts}


def is_gone(request: Request) -> Callable[[], bool]:
    """A function that returns whether the client closed the connection; always False if the server hides the socket."""
    connection: socket.socket | None = request.environ.get("werkzeug.socket")

    def is_closed() -> bool:
        if connection is None:
            return False
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(connection, selectors.EVENT_READ)
                return bool(selector.select(0)) and not connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
        except ValueError:  # encrypted: MSG_PEEK is not supported
            return False

    return is_closed


def respond_to(handler: Callable[[Request], Response], request: Request) -> Response:
    """The handler's response, or an error response."""
    try:
        return handler(request)
    except Exception as problem:  # a traceback must not reach the client
        return error(request, problem)


def _respond(request: Request, content: bytes, mime: str, **options: Any) -> Response:
    response: Response = http_util.Respond(request, content, mime, **options)
    return response
