"""Which hosts are answered (DNS rebinding)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from tensorboard import program
from tensorboard.plugins import base_plugin
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from werkzeug.test import Client

from tb_npu_plugin.plugin import NpuPlugin, NpuPluginLoader
from tb_npu_plugin.server.hosts import HostCheck
from tests.http.conftest import PREFIX, Browser

LOCAL = ("localhost", "localhost:6006", "LOCALHOST", "a.localhost.", "127.0.0.1:6006", "127.8.9.10", "[::1]:6006", "")
FOREIGN = (
    "evil.example",
    "evil.example:6006",
    "127.0.0.1.evil.example",
    "notlocalhost",
    "10.0.0.1",
    "[::2]",
    "a b",
    "[",
)


@pytest.mark.parametrize(
    ("check", "answered", "refused"),
    [
        (HostCheck(), LOCAL, FOREIGN),
        (HostCheck("127.0.0.1"), LOCAL, FOREIGN),
        (HostCheck("::1"), LOCAL, FOREIGN),
        (HostCheck("myhost.localhost"), ("myhost.localhost:1", *LOCAL), FOREIGN),
        (HostCheck(allowed="hub.example:443, *.App.example"), ("HUB.example:443", "a.b.app.example", *LOCAL), FOREIGN),
        (HostCheck(allowed="*.app.example"), (), ("app.example", "aapp.example", "hub.example")),
        (HostCheck(allowed="*"), (*LOCAL, *FOREIGN), ()),
        (HostCheck(bind_all=True), (*LOCAL, *FOREIGN), ()),  # it does not know its names
        (HostCheck("10.0.0.1"), (*LOCAL, *FOREIGN), ()),
        (HostCheck("node1", allowed="hub.example"), ("node1:6006", "hub.example", *LOCAL), FOREIGN),
    ],
)
def test_hosts(check: HostCheck, answered: tuple[str, ...], refused: tuple[str, ...]) -> None:
    def is_refused(host: str) -> bool:
        try:
            check.check(host)
        except Exception:
            return True
        return False

    assert [host for host in answered if is_refused(host)] == []
    assert [host for host in refused if not is_refused(host)] == []


def test_a_foreign_host_gets_the_page_but_no_data(browser: Browser) -> None:
    refused = browser.ask("/api/catalog", headers={"Host": "evil.example:6006"})
    assert refused.status_code == 403 and refused.get_json()["code"] == "forbidden"
    assert (
        "evil.example" in refused.get_json()["message"]
        and "--npu_allowed_hosts=evil.example" in refused.get_json()["hint"]
    )
    assert browser.ask("/static/index.js", headers={"Host": "evil.example"}).status_code == 200, "it shows the error"
    assert browser.ask("/api/catalog", headers={"Host": "127.0.0.1:6006"}).status_code == 200


def test_the_flag_of_tensorboard_reaches_the_plugin(tmp_path: Path) -> None:
    tensorboard = program.TensorBoard(plugins=[CorePluginLoader, NpuPluginLoader])
    tensorboard.configure(("tensorboard", f"--logdir={tmp_path}", "--npu_allowed_hosts=hub.example"))
    plugin = NpuPluginLoader().load(base_plugin.TBContext(logdir=str(tmp_path), flags=tensorboard.flags))
    assert plugin._flag("npu_allowed_hosts") == "hub.example"
    client = Client(plugin.get_plugin_apps()["/api/*"])
    for host, status in (("hub.example", 200), ("other.example", 403)):
        assert client.get(f"{PREFIX}/api/catalog", headers={"Host": host}).status_code == status
    plugin.app().library.close()
    assert NpuPlugin(base_plugin.TBContext(logdir="", flags=SimpleNamespace()))._flag("npu_allowed_hosts") == ""
