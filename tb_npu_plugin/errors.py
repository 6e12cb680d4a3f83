"""Errors shown to the user. Each has an HTTP status. server/respond.py and cli/ print them."""

from __future__ import annotations

from collections.abc import Sequence

from tb_npu_plugin.messages import Message


class NpuPluginError(Exception):
    """Base of all errors of this package. `message` says what happened, `hint` what to do about it."""

    status = 500
    code = "internal"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadRequest(NpuPluginError):
    """A request parameter is missing, malformed or out of range."""

    status = 400
    code = "bad_request"


class NotFound(NpuPluginError):
    """An id in a request is not (or no longer) in the catalog."""

    status = 404
    code = "not_found"


class Forbidden(NpuPluginError):
    """A state-changing request from another site's page."""

    status = 403
    code = "forbidden"


class MethodNotAllowed(NpuPluginError):
    """The route does not support the HTTP method. allowed: supported methods."""

    status = 405
    code = "method"

    def __init__(self, message: str, hint: str, allowed: Sequence[str]) -> None:
        super().__init__(message, hint)
        self.allowed = allowed


class Stale(NotFound):
    """The request refers to a replaced reading; the client must request the view again."""

    code = "stale"


class NotReady(NpuPluginError):
    """The requested data are still being read; the client retries."""

    status = 503
    code = "not_ready"


class Refused(NpuPluginError):
    """The machine refused what the request needs: descriptors, memory, disk space. The client retries."""

    status = 503
    code = "refused"


class ClientGone(NpuPluginError):
    """The client disconnected; the request was cancelled."""

    status = 499
    code = "client_gone"


class BadSetting(NpuPluginError):
    """A TB_NPU_* environment variable has an invalid value; nothing can be read until it is changed."""

    status = 500
    code = "bad_setting"


class BadFile(NpuPluginError):
    """A result file cannot be read at all."""

    status = 200
    code = "bad_file"


class NoEvents(BadFile):
    """A trace without a readable event."""


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise BadRequest unless the request parameter has one of its valid values."""
    if value not in choices:
        raise BadRequest(
            Message("error.choice", name=name, value=repr(value[:80])),
            Message("hint.choices", choices=", ".join(choices)),
        )
