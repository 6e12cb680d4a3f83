"""Texts as HTML: escaped, shortened, and in both languages."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Optional
from urllib.parse import quote

from tb_npu_plugin.messages import Language, Message
from tb_npu_plugin.printable import printable

#: Languages of the catalogue, and their `lang` attribute.
LANGUAGES: tuple[tuple[Language, str], ...] = (("en", "en"), ("zh", "zh-CN"))
#: Characters of a name, and of data in a sentence, that are shown at most.
LONGEST_NAME, LONGEST = 120, 240
#: Groups digits in the figures of messages.
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
UNKNOWN = "–"


def escape(text: str) -> str:
    """Data as HTML, also inside an attribute."""
    return html.escape(printable(_shorten(text, LONGEST_NAME)))


def say(message: Message) -> str:
    """A message in each language; what is between backticks is code."""
    message = _with_short_data(message)
    return "".join(
        f'<span lang="{attribute}">{_with_code(message.in_language(language))}</span>'
        for language, attribute in LANGUAGES
    )


def say_field(answer: Mapping[str, Any], field: str) -> str:
    """A field of an answer: its message, else the data."""
    message = answer["texts"].get(field)
    return say(Message.from_json(message)) if message is not None else escape(answer[field])


def figure(value: Optional[float], decimals: int, unit: str = "") -> str:
    """A figure with its exact value for programs; unknown is a dash."""
    if value is None:
        return UNKNOWN
    return f'<data value="{value!r}">{grouped(value, decimals)}{unit}</data>'


def grouped(value: float, decimals: int) -> str:
    """1234.5 → "1 234.50"."""
    return f"{value:,.{decimals}f}".replace(",", NARROW_SPACE)


def _with_code(text: str) -> str:
    parts = (html.escape(printable(part)) for part in text.split("`"))
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _with_short_data(message: Message) -> Message:
    params: dict[str, str | int] = {}
    for name, value in message.params.items():
        if isinstance(value, Message):
            params[name] = _with_short_data(value)
        else:
            params[name] = _shorten(value, LONGEST) if isinstance(value, str) else value
    return Message(message.code, **params)


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# Addresses of the page in TensorBoard (frontend/src/state/url.ts, frontend/src/widgets/diagnosis/finding.tsx).

PLUGIN = "npu_profiler"
#: Parameter that chooses the table of a view, if it shows one at a time.
_TABS = {"kernel": "kernel.tab", "operator": "operator.tab", "memory": "m.tab"}


def address(url: str, run: str, evidence: Mapping[str, Any]) -> str:
    """Where TensorBoard at `url` shows a piece of evidence: a time range, a row of a table, or a view. Absent fields are
    null.

    Tokens of runs and spans are hashes of paths below the logdir: the address holds for a TensorBoard whose --logdir is the
    folder that was diagnosed, also a copy of it.
    """
    view, table = evidence["view"], evidence.get("table")
    start, end = evidence.get("start_ns"), evidence.get("end_ns")
    params = {"view": view, "run": run, "span": evidence.get("span") or "", "step": evidence.get("step") or ""}
    if table is not None:
        row = (evidence.get("row") or "")[:LONGEST].replace("%", "%25").replace("~", "%7E")
        params[f"t.{view}.{table}"] = f"q:{row}" if row else ""
        if view in _TABS:
            params[_TABS[view]] = table
    if start is not None and end is not None:
        params["at"] = f"{start},{end - start}"
    pairs = (f"p.{PLUGIN}.{name}={_quote(value)}" for name, value in params.items() if value)
    return f"{url.rstrip('/')}/#{'&'.join((PLUGIN, *pairs))}"


def _quote(text: str) -> str:
    return quote(text, safe="", errors="replace")
