"""Names and cells come from anybody: on a terminal and in a log they must not move the cursor, colour, reorder or add lines."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Mapping
from typing import Any

REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    """The text without control characters (line breaks among them), bidirectional marks and bytes that are no UTF-8."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or unicodedata.category(sign) == "Zs" else REPLACEMENT for sign in text)


class Lines(str):
    """A text of a log record that keeps its line breaks: a traceback."""

    __slots__ = ()


def package_logger(name: str) -> logging.Logger:
    """The logger of a module, whose records are printable in whatever handler."""
    logger = logging.getLogger(name)
    logger.addFilter(_make_printable)
    return logger


def _make_printable(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(map(_printable_arg, record.args))
    elif isinstance(record.args, Mapping):
        record.args = {name: _printable_arg(value) for name, value in record.args.items()}
    if record.exc_info and not record.exc_text:  # what handlers print instead of formatting `exc_info`
        record.exc_text = printable_lines(logging.Formatter().formatException(record.exc_info))
    return True


def _printable_arg(value: Any) -> Any:
    if isinstance(value, (int, float)) or value is None:
        return value  # for %d
    return printable_lines(value) if isinstance(value, Lines) else printable(str(value))


def printable_lines(text: str) -> str:
    """As `printable`, but line breaks are kept: a traceback."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))
