"""Which Host headers are accepted. A page of another site may let its own name resolve to 127.0.0.1 (DNS rebinding): the browser
then takes this server for that site, but the requests still name it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from tb_npu_plugin.errors import Forbidden
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable

logger = package_logger(__name__)


class HostCheck:
    """Checks the Host headers of requests.

    Args:
        bound: The host that the server listens at (TensorBoard's --host); "" for its default, the loopback.
        bind_all: Whether it listens at all interfaces.
        allowed: Other names that it may be asked by, as a proxy's users write them: host names, "*.example.com", or "*" for any.
    """

    def __init__(self, bound: str = "", bind_all: bool = False, allowed: str = "") -> None:
        self._allowed = tuple(filter(None, map(_name_of, allowed.split(","))))
        self._bound = bound.strip("[]").lower()
        # A server that others can reach has names that it does not know: it checks only if it is told them.
        is_local = not bind_all and (not self._bound or _is_loopback(self._bound))
        self._is_on = "*" not in self._allowed and (is_local or bool(self._allowed))
        self._refused: set[str] = set()

    def check(self, header: str | None) -> None:
        """Raise Forbidden for a foreign host. Programs may send none; browsers always send one."""
        name = _name_of(header or "")
        if not self._is_on or not header or self._is_allowed(name):
            return
        host = printable((name or header)[:80])
        if host not in self._refused and len(self._refused) < 100:
            self._refused.add(host)
            logger.warning("refused requests to the host %s; --npu_allowed_hosts can allow it", host)
        raise Forbidden(Message("error.foreign_host", host=host), Message("hint.allowed_hosts", host=host))

    def _is_allowed(self, name: str) -> bool:
        if name == self._bound or _is_loopback(name) or name in self._allowed:
            return bool(name)
        return any(pattern.startswith("*.") and name.endswith(pattern[1:]) for pattern in self._allowed)


def _name_of(header: str) -> str:
    """The host without its port, in lower case; "" for one that is malformed."""
    try:
        return (urlsplit(f"//{header.strip()}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
