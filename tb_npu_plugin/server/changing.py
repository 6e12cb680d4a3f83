"""Requests that change something are refused unless a page of this server sends them (cross-site request forgery)."""

from __future__ import annotations

from urllib.parse import urlsplit

from werkzeug.wrappers import Request

from tb_npu_plugin.errors import Forbidden, MethodNotAllowed
from tb_npu_plugin.messages import Message

#: Methods of the routes that change nothing.
READING = ("GET", "HEAD")


def check_changing(request: Request) -> None:
    """Raises MethodNotAllowed for another method than POST, Forbidden for a request from a page of another site.

    Browsers say where a request comes from in Sec-Fetch-Site, in Origin where they do not send that (plain http). A
    program that sends neither (curl) is no page of anybody.
    """
    if request.method != "POST":
        raise MethodNotAllowed(Message("error.method", method=request.method), Message("hint.post"), ("POST",))
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    hosts = {request.headers.get("Host"), request.headers.get("X-Forwarded-Host")}
    if site not in (None, "same-origin") or (site is None and origin and urlsplit(origin).netloc not in hosts):
        raise Forbidden(Message("error.other_site"), Message("hint.own_page"))
