"""Text that holds bytes that were no text: they are lone surrogates, which no encoder takes."""

from __future__ import annotations


def is_damaged(text: str) -> bool:
    """The text holds bytes that were no UTF-8, or NUL."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def repaired(text: str) -> str:
    """Damaged text with U+FFFD in place of what is no text."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
