"""The TensorBoard entry point. Light to import, trivial to make: all work starts with the first request."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable

from tensorboard.plugins import base_plugin

if TYPE_CHECKING:
    from tb_npu_plugin.discovery.watch import Watcher
    from tb_npu_plugin.server.app import App

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: Always active, and without a tab.
CORE = "core"
#: How long is_active may wait for the first result, in seconds. While it is unknown, the tab is active.
FIRST_RESULT = 2.0


class NpuPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # tensorboard is not typed
    """Ascend NPU profiles: tab "NPU Profiler", routes below data/plugin/npu_profiler/."""

    plugin_name = "npu_profiler"

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        flags = context.flags
        self._context = context
        package = logging.getLogger("tb_npu_plugin")
        if package.level == logging.NOTSET:  # TensorBoard shows warnings only, unless asked for more
            package.setLevel(logging.INFO)
        # With --logdir_spec TensorBoard leaves context.logdir empty.
        self._logdir: str = context.logdir or getattr(flags, "logdir", "") or ""
        self._logdir_spec: str = getattr(flags, "logdir_spec", "") or ""
        self._lock = threading.Lock()
        self._watcher: Watcher | None = None
        self._app: App | None = None

    def watcher(self) -> Watcher:
        """The scan of the logdirs, started when first needed."""
        with self._lock:
            if self._watcher is None:
                from tb_npu_plugin.discovery.logdirs import parse_logdirs
                from tb_npu_plugin.discovery.watch import Watcher

                self._watcher = Watcher(parse_logdirs(self._logdir, self._logdir_spec))
            return self._watcher

    def app(self) -> App:
        """The application behind the routes, made when first needed."""
        watcher = self.watcher()
        with self._lock:
            if self._app is None:
                from tb_npu_plugin.server.app import App

                self._app = App(watcher)
            return self._app

    def is_active(self) -> bool:
        """The logdir holds profiles, parsed or not, or may hold some (the first scan still runs), or no other tab has
        anything to show. Reads no result."""
        return self.watcher().has_profiles(FIRST_RESULT) is not False or not self._is_other_active()

    def _is_other_active(self) -> bool:
        """Another tab is active, as TensorBoard decides it."""
        from tensorboard.context import RequestContext

        provider = self._context.data_provider
        listed = () if provider is None else provider.list_plugins(RequestContext(), experiment_id="")
        with_data = frozenset(listed or ())
        plugins = (self._context.plugin_name_to_instance or {}).values()
        others = [plugin for plugin in plugins if plugin.plugin_name not in (self.plugin_name, CORE)]
        return any(with_data.intersection(plugin.data_plugin_names()) or _is_active(plugin) for plugin in others)

    def get_plugin_apps(self) -> Mapping[str, Wsgi]:
        """Routes: the frontend and the API of docs/http_api.md."""
        return {"/index.js": self._serve, "/static/*": self._serve, "/api/*": self._serve}

    def _serve(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return self.app().serve(environ, start_response)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Entry module and tab name."""
        return base_plugin.FrontendMetadata(es_module_path="/static/index.js", tab_name="NPU Profiler")


def _is_active(plugin: base_plugin.TBPlugin) -> bool:
    try:
        return bool(plugin.is_active())
    except Exception:  # TensorBoard asks it too, logs the error and lists it as inactive
        return False
