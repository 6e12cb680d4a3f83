"""Requests that change something."""

from __future__ import annotations

import pytest

from tests.http.conftest import Browser


@pytest.mark.parametrize("path", ["/api/rescan", "/api/reading"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_what_changes_something_is_no_get(browser: Browser, method: str, path: str) -> None:
    response = browser.ask(path, method=method, span="nonsense", stage="all", do="cancel")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # curl
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"}, 200),
        ({"Origin": "http://localhost"}, 200),
        ({"Origin": "https://proxy.example", "X-Forwarded-Host": "proxy.example"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://other.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_what_changes_something_comes_from_our_own_page(browser: Browser, headers: dict[str, str], status: int) -> None:
    response = browser.ask("/api/rescan", method="POST", headers=headers)
    assert response.status_code == status, response.text
