"""Messages to the user: a code and parameters, in English and Chinese. messages.json is the catalogue.

Texts name what their figures are of by the words of WORDS: a step, or what takes its place in a capture without steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Union

#: Languages of the catalogue.
Language = Literal["en", "zh"]
#: {code: {"en": template, "zh": template}}; {name} is a parameter.
CATALOGUE: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))

#: What the figures of a run are of: a step, an iteration of a serving engine, the capture, or one of its repeats.
Period = Literal["step", "iteration", "capture", "repeat"]
#: Parameters of any text that name the period; a step unless `in_period` says otherwise.
WORDS = ("period", "periods", "period_time", "per_period")
_OF_STEPS: dict[str, dict[str, str]] = {
    language: {word: CATALOGUE[f"{word}.step"][language] for word in WORDS} for language in ("en", "zh")
}


class MessageJson(TypedDict):
    """A message of messages.json."""

    code: str
    """Key of the message."""
    params: dict[str, Union[str, int, MessageJson]]
    """By name; a parameter is data or a nested message."""


class Message(str):
    """An English text with its code and parameters, so that a client can translate it."""

    code: str
    params: dict[str, str | int]

    def __new__(cls, code: str, /, **params: str | int) -> Message:
        """Raises KeyError for an unknown code or a missing parameter."""
        text = super().__new__(cls, CATALOGUE[code]["en"].format(**{**_OF_STEPS["en"], **params}))
        text.code = code
        text.params = params
        return text

    @staticmethod
    def filled(code: str, params: Mapping[str, str | int]) -> Message:
        """The message with those of the parameters that its text names."""
        return Message(
            code, **{name: value for name, value in params.items() if f"{{{name}}}" in CATALOGUE[code]["en"]}
        )

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str | int]]:
        return (self.code,), self.params

    def as_json(self) -> MessageJson:
        """JSON object with code and parameters."""
        return {"code": self.code, "params": {name: to_json(value) for name, value in self.params.items()}}

    def in_language(self, language: Language) -> str:
        """The text in a language."""
        params = {
            name: value.in_language(language) if isinstance(value, Message) else value
            for name, value in self.params.items()
        }
        return CATALOGUE[self.code][language].format(**{**_OF_STEPS[language], **params})

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Message:
        """Inverse of `as_json`."""
        return Message(value["code"], **{name: from_json(param) for name, param in value["params"].items()})


def to_json(value: Any) -> Any:
    """JSON of a message, or of data, which stay as they are."""
    return value.as_json() if isinstance(value, Message) else value


def from_json(value: Any) -> Any:
    """Inverse of `to_json`."""
    return Message.from_json(value) if isinstance(value, dict) else value


def in_period(message: Message, period: Period) -> Message:
    """The message with its words for another period than a step."""
    if period == "step":
        return message
    words = {word: Message(f"{word}.{period}") for word in WORDS if f"{{{word}}}" in CATALOGUE[message.code]["en"]}
    params = {
        name: in_period(value, period) if isinstance(value, Message) else value
        for name, value in message.params.items()
    }
    return Message(message.code, **params, **words)


def shorten_data(text: str, most: int) -> str:
    """The first `most` characters of quoted data; a message is not shortened."""
    return text if isinstance(text, Message) else text[:most]


def messages_of(fields: Mapping[str, Any]) -> dict[str, MessageJson]:
    """Code and parameters of the fields that are messages, by field name."""
    return {name: text.as_json() for name, text in fields.items() if isinstance(text, Message)}
