"""Errors that a user may see. Each knows its HTTP status; one place prints them (server/respond.py, cli.py)."""

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
    """A request that changes something and comes from another site's page."""

    status = 403
    code = "forbidden"


class MethodNotAllowed(NpuPluginError):
    """A route that is asked with another HTTP method than it answers. allowed: those that it answers."""

    status = 405
    code = "method"

    def __init__(self, message: str, hint: str, allowed: Sequence[str]) -> None:
        super().__init__(message, hint)
        self.allowed = allowed


class Stale(NotFound):
    """The request is about a reading that another one has replaced; the client asks for the view again."""

    code = "stale"


class NotReady(NpuPluginError):
    """What was asked for is still being read; the client asks again."""

    status = 503
    code = "not_ready"


class ClientGone(NpuPluginError):
    """Nobody waits for the answer any more: its making was ended."""

    status = 499
    code = "client_gone"


class BadSetting(NpuPluginError):
    """An environment variable of ours has a value that it may not have; nothing can be read before that is changed."""

    status = 500
    code = "bad_setting"


class BadFile(NpuPluginError):
    """A result file cannot be used at all; what it would have given is lost."""

    status = 200
    code = "bad_file"


class NoEvents(BadFile):
    """A trace in which no event could be read."""


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises BadRequest for a request parameter that has none of the values it may have."""
    if value not in choices:
        raise BadRequest(
            Message("error.choice", name=name, value=repr(value[:80])),
            Message("hint.choices", choices=", ".join(choices)),
        )
