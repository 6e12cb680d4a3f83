"""Marks of the iterations of serving engines: host ranges, named by the engine. One tolerant pattern per family.

Source: names in traces of vLLM, SGLang and TraceLens; for the others, their source code alone (`from_code`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Optional

from tb_npu_plugin.tables import Column, Kind, column_texts

#: What an iteration does for its requests: their prompts, one more token each, both, or for speculative decoding.
Phase = Literal["prefill", "decode", "mixed", "verify", "draft"]
#: Part of a word in a mark -> phase; the first that occurs counts.
_PHASES: dict[str, Phase] = {
    "draft": "draft",
    "verify": "verify",
    "mixed": "mixed",
    "extend": "prefill",
    "prefill": "prefill",
    "decode": "decode",
}
#: Longest number that is read, in digits; a longer one is unknown.
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Engine:
    """A family of marks.

    Groups of `pattern`: word (tells the phase), requests, tokens, or those of prefill and decode apart: context,
    context_tokens, generation, generation_tokens. A group that is missing is unknown.

    first, last: If several marks make an iteration, names of its first or of its last one. Before the first there is
        no iteration: others use such names, too. Where another engine marks whole iterations on the thread, they add to those.
    setting: What the server must be started with to mark iterations; "": nothing.
    devices: Kinds of devices on which this way to mark is advised; vllm-ascend is vLLM on an NPU.
    """

    name: str
    pattern: re.Pattern[str]
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    setting: str = ""
    devices: tuple[str, ...] = ("NPU",)
    from_code: bool = False

    @property
    def marks_whole(self) -> bool:
        """Whether one mark is an iteration."""
        return not (self.first or self.last)


@dataclass(frozen=True)
class Mark:
    """What the name of a mark tells; None: unknown. tokens: new tokens of all requests."""

    engine: Engine
    phase: Optional[Phase] = None
    requests: Optional[int] = None
    tokens: Optional[int] = None


ENGINES = (
    # execute_new_1_cached_2, execute_context_1(888)_generation_2(2), …_context_1(888_788544)…, and of TraceLens
    # execute_34_context_1(sq32sk32…)_generation_2(sq2sk90…)
    Engine(
        "vLLM",
        re.compile(
            r"execute(?:_\d+)?_(?:context|new)_(?P<context>\d+)(?:\((?:sq)?(?P<context_tokens>\d+)[^)]*\))?"
            r"_(?:generation|cached)_(?P<generation>\d+)(?:\((?:sq)?(?P<generation_tokens>\d+)[^)]*\))?.*"
        ),
        devices=("GPU",),
    ),
    # step[EXTEND bs=1 toks=888], step[DECODE bs=32], step[DRAFT_LOOP raw_bs=3 bs=4]; bs is padded beside raw_bs
    Engine(
        "SGLang",
        re.compile(
            r"step\[(?P<word>[A-Z_]+)(?![A-Z_])(?=(?:[^\]]*?\b(?:raw_)?bs=(?P<requests>\d+))?)"
            r"(?=(?:[^\]]*?\btoks=(?P<tokens>\d+))?)[^\]]*\].*"
        ),
        devices=("NPU", "GPU"),
    ),
    # prefill[bs=1 tok=888], decode[bs=117/128]: 128 is padded
    Engine(
        "ATOM",
        re.compile(
            r"(?P<word>prefill|decode)\[(?=(?:[^\]]*?\bbs=(?P<requests>\d+))?)"
            r"(?=(?:[^\]]*?\btok\w*=(?P<tokens>\d+))?)[^\]]*\].*"
        ),
        devices=("GPU",),
        from_code=True,
    ),
    Engine(
        "vllm-ascend",
        re.compile(r"prepare input|forward|post process|sample_token|draft_token|async_state_update"),
        first=("prepare input",),
        setting="VLLM_CUSTOM_SCOPES_FOR_PROFILING=1",
        from_code=True,
    ),
    # vLLM with the same setting on a GPU, in 2025 without the part before the colon
    Engine(
        "vLLM",
        re.compile(r"gpu_model_runner: .+|Preprocess|Forward|Postprocess|Sample|Bookkeep|Draft|EPLB"),
        first=("gpu_model_runner: preprocess", "Preprocess"),
        devices=(),
        from_code=True,
    ),
    Engine(
        "MindIE",
        re.compile(r"(?:(?P<word>Prefill|Decoder)_layer|LmHead)::Execute"),
        last=("LmHead::Execute",),
        from_code=True,
    ),
)
#: Calls that replay a graph. Source of those of an NPU: reports alone.
GRAPH_LAUNCH = re.compile(r"(?:cuda|hip)GraphLaunch(?:_\w+)?|(?:AscendCL@)?aclmdlRIExecute(?:Async)?")

#: Takes the place of the column "step" in tables of iterations.
ITERATION = Column("step", Kind.TEXT, *column_texts("iterations.step"), "identity")


def mark_of(name: str) -> Optional[Mark]:
    """What the name of a host range tells about an iteration; None for other ranges."""
    for engine in ENGINES:
        found = engine.pattern.fullmatch(name)
        if found is not None:
            texts = found.groupdict()
            word = (texts.get("word") or "").lower()
            requests = _sum(texts, "requests", "context", "generation")
            tokens = _sum(texts, "tokens", "context_tokens", "generation_tokens")
            phase = next((phase for part, phase in _PHASES.items() if part in word), _phase_of_counts(texts))
            return Mark(engine, phase, requests, tokens)
    return None


def _phase_of_counts(texts: dict[str, Optional[str]]) -> Optional[Phase]:
    """The phase by the requests with a context and those that generate."""
    context, generation = (bool((texts.get(key) or "").strip("0")) for key in ("context", "generation"))
    if context and generation:
        return "mixed"
    return "prefill" if context else "decode" if generation else None


def _sum(texts: dict[str, Optional[str]], *keys: str) -> Optional[int]:
    """Sum of the given numbers; None without one, or if one is too long."""
    given = [text for key in keys if (text := texts.get(key)) is not None]
    return sum(map(int, given)) if given and all(len(text) <= _MOST_DIGITS for text in given) else None
