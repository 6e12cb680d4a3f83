"""Text decoded from invalid UTF-8: invalid bytes and NUL are lone surrogates."""

from __future__ import annotations


def is_damaged(text: str) -> bool:
    """Whether the text has lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def repair(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
