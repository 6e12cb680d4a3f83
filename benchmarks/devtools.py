"""A Chromium that is driven over a pipe, with nothing enabled of DevTools.

Playwright enables the domain Network: the page's process then keeps the bodies of answers, which no user's page does.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import IO, Any

KEY_CODES = {key: ord(key.upper()) for key in "wasdf"}
CONTROL = 2


class Chromium:
    """Sends commands of the DevTools protocol and returns their results."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands, self._answers = commands, answers
        self._number = 0
        self._session: str | None = None

    def send(self, method: str, **params: Any) -> Any:
        """The result of a command to the page. Raises RuntimeError."""
        return self._call(method, params, self._session)

    def _call(self, method: str, params: Mapping[str, Any], session: str | None = None) -> Any:
        """The result of a command to the browser, or to the page of a session."""
        self._number += 1
        target = {} if session is None else {"sessionId": session}
        message = {"id": self._number, "method": method, "params": params, **target}
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self) -> Any:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("Chromium ended")
            text += byte
        return json.loads(text)

    def renderers(self) -> list[int]:
        """Ids of the processes of pages."""
        processes = self._call("SystemInfo.getProcessInfo", {})["processInfo"]
        return [int(one["id"]) for one in processes if one["type"] == "renderer"]

    def open_page(self, size: Mapping[str, int]) -> None:
        """Take the first page, in a window of `size` (width, height)."""
        targets = self._call("Target.getTargets", {})["targetInfos"]
        (page,) = [one["targetId"] for one in targets if one["type"] == "page"]
        self._session = self._call("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        self.send("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; None if it throws."""
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression: str, seconds: float) -> Any:
        """The value of an expression as soon as it is true. Raises RuntimeError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.evaluate(expression):
                return value
            time.sleep(0.1)
        raise RuntimeError(f"not true after {seconds} s: {expression}")

    def press(self, key: str) -> None:
        code = {"key": key, "code": f"Key{key.upper()}", "windowsVirtualKeyCode": KEY_CODES[key]}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=key, **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def move(self, x: float, y: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x: float, y: float, down: float, modifiers: int = 0) -> None:
        at = {"x": x, "y": y, "deltaX": 0, "deltaY": down, "modifiers": modifiers}
        self.send("Input.dispatchMouseEvent", type="mouseWheel", **at)


@contextlib.contextmanager
def chromium(program: str, flags: list[str]) -> Iterator[Chromium]:
    """Start a Chromium with an empty page; ends it afterwards."""
    (commands, to_browser), (from_browser, answers) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="npu-bench-chromium-", ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", *flags, "about:blank"]
        script = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'  # Chromium reads from 3 and writes to 4
        with (
            subprocess.Popen(
                ["sh", "-c", script, program, *options],
                pass_fds=(commands, answers),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process,
            os.fdopen(to_browser, "wb") as write,
            os.fdopen(from_browser, "rb") as read,
        ):
            os.close(commands)
            os.close(answers)
            try:
                yield Chromium(write, read)
            finally:
                process.terminate()
                process.wait(60)
