"""The TensorBoard entry point. Importing and constructing it is cheap: work starts when TensorBoard listens."""

from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable

from tensorboard.plugins import base_plugin

if TYPE_CHECKING:
    from tb_npu_plugin.discovery.watch import Watcher
    from tb_npu_plugin.server.app import App

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: The flag that names hosts, see server/hosts.py.
ALLOWED = "npu_allowed_hosts"
#: TensorBoard's core plugin: always active, without a tab.
CORE = "core"
#: Timeout of is_active for the first scan, in seconds. Until then the tab is active. TensorBoard's list of plugins waits.
FIRST_RESULT = 0.3
#: When logdirs are scanned and the application is loaded after TensorBoard made its plugins, in seconds: it listens by
#: then, and the first page need not wait.
PRELOAD_AFTER = 0.1
#: Module of the application. Importing it takes about 0.4 s of CPU.
APP = "tb_npu_plugin.server.app"


class NpuPluginLoader(base_plugin.TBLoader):  # type: ignore[misc]  # tensorboard is not typed
    """Makes the plugin and declares its flag."""

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flag of this plugin to those of TensorBoard."""
        parser.add_argument_group("npu_profiler plugin").add_argument(
            f"--{ALLOWED}",
            metavar="HOSTS",
            default="",
            help="Host names, separated by commas, by which a proxy lets users reach this TensorBoard (`*.example.com`: all "
            "names below it; `*`: any). A TensorBoard on the loopback refuses the profiles to all others.",
        )

    def load(self, context: base_plugin.TBContext) -> NpuPlugin:
        """The plugin."""
        return NpuPlugin(context)


class NpuPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # tensorboard is not typed
    """Ascend NPU profiles: tab "NPU Profiler", routes below data/plugin/npu_profiler/."""

    plugin_name = "npu_profiler"

    def __init__(self, context: base_plugin.TBContext) -> None:
        from tb_npu_plugin.descriptors import raise_descriptor_limit

        super().__init__(context)
        raise_descriptor_limit()
        self._context = context
        package = logging.getLogger("tb_npu_plugin")
        if package.level == logging.NOTSET:  # TensorBoard logs warnings only by default
            package.setLevel(logging.INFO)
        # With --logdir_spec TensorBoard leaves context.logdir empty.
        self._logdir: str = context.logdir or self._flag("logdir")
        self._logdir_spec: str = self._flag("logdir_spec")
        self._lock = threading.Lock()
        self._watcher: Watcher | None = None
        self._app: App | None = None

    def _flag(self, name: str) -> Any:
        """A flag of TensorBoard; "" where it was not given, or does not exist."""
        return getattr(self._context.flags, name, None) or ""

    def watcher(self) -> Watcher:
        """The watcher of the logdirs, created on first use."""
        with self._lock:
            if self._watcher is None:
                from tb_npu_plugin.discovery.logdirs import joined_logdirs, parse_logdirs, shows_summaries
                from tb_npu_plugin.discovery.scan import scan
                from tb_npu_plugin.discovery.watch import Watcher

                logdirs = parse_logdirs(self._logdir, self._logdir_spec)
                joined = [] if self._logdir else joined_logdirs(self._logdir_spec)
                scanner = partial(scan, joined=joined)
                self._watcher = Watcher(logdirs, scanner, shows_summaries=shows_summaries(self._logdir_spec))
            return self._watcher

    def app(self) -> App:
        """The application behind the routes, created on first use."""
        watcher = self.watcher()
        with self._lock:
            if self._app is None:
                from tb_npu_plugin.server.app import App
                from tb_npu_plugin.server.hosts import HostCheck

                self._app = App(
                    watcher, hosts=HostCheck(self._flag("host"), bool(self._flag("bind_all")), self._flag(ALLOWED))
                )
            return self._app

    def is_active(self) -> bool:
        """True if the logdir holds profiles (parsed or not), the first scan still runs, or no other plugin is active.
        Reads no result. If the tab is active, a thread makes what its page needs: TensorBoard asks before it shows one."""
        if self.watcher().has_profiles(FIRST_RESULT) is False and self._is_other_active():
            return False
        threading.Thread(target=self._prepare, name="npu-preload", daemon=True).start()
        return True

    def _prepare(self) -> None:
        """Load the application and the frontend's files, and start a worker process if there is something to read."""
        import_module(APP)  # without the lock, which other requests need
        from tb_npu_plugin.errors import BadSetting
        from tb_npu_plugin.server.static import pack_all

        with suppress(BadSetting):  # the requests report it
            self.app().library.prepare()
        pack_all()

    def _is_other_active(self) -> bool:
        """Whether another plugin is active, by TensorBoard's rules."""
        from tensorboard.context import RequestContext

        provider = self._context.data_provider
        listed = () if provider is None else provider.list_plugins(RequestContext(), experiment_id="")
        with_data = frozenset(listed or ())
        plugins = (self._context.plugin_name_to_instance or {}).values()
        others = [plugin for plugin in plugins if plugin.plugin_name not in (self.plugin_name, CORE)]
        return any(with_data.intersection(plugin.data_plugin_names()) or _is_active(plugin) for plugin in others)

    def get_plugin_apps(self) -> Mapping[str, Wsgi]:
        """Routes: the frontend and the API of docs/http_api.md. TensorBoard calls this once, before it listens."""
        preload = threading.Timer(PRELOAD_AFTER, self.is_active)
        preload.daemon = True
        preload.start()
        return {"/index.js": self._serve, "/static/*": self._serve, "/api/*": self._serve}

    def _serve(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return self.app().serve(environ, start_response)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Entry module and tab name."""
        return base_plugin.FrontendMetadata(es_module_path="/static/index.js", tab_name="NPU Profiler")


def _is_active(plugin: base_plugin.TBPlugin) -> bool:
    try:
        return bool(plugin.is_active())
    except Exception:  # TensorBoard calls it too, logs the error and lists the plugin as inactive
        return False
