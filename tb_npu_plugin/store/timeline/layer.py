"""A layer: rows of a timeline that a page shows together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, TypedDict

from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.store.timeline.contract import DerivedFactsJson
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.open import Timeline


class LayerLabelJson(TypedDict):
    """What the slices of a name are."""

    name: str
    """Name of the slices in answers."""
    text: str
    """Shown instead of it."""
    color: str
    """CSS variable of the colour."""
    texts: dict[str, MessageJson]
    """Code and parameters of `text`."""


class ReplacedTracksJson(TypedDict):
    """Tracks of the trace whose slices the layer shows in other rows: those of the first of them."""

    tracks: list[int]
    """Their numbers in the trace."""
    rows: int
    """Number of its rows."""
    slices: int
    """Number of its slices."""


@dataclass(frozen=True)
class Layer:
    """Rows of a timeline, which answers about their slices; here all rows of a trace."""

    timeline: Timeline

    @property
    def drawn(self) -> Drawn:
        """What the bars are made of."""
        return self.timeline

    @property
    def size(self) -> int:
        """Number of slices and values that it keeps in memory."""
        return 0

    def rows_json(self) -> list[Any]:
        """Rows beside those of the trace: see LayerJson."""
        return []

    def labels_json(self) -> list[LayerLabelJson]:
        """The names of all slices beside those of the trace."""
        return []

    def replaced_json(self) -> list[ReplacedTracksJson]:
        """Rows in place of those of the trace. Their slices have the numbers of the trace."""
        return []

    def facts(self, slice_id: int) -> Optional[DerivedFactsJson]:
        """What is known of a slice beside its times; None for slices of the trace."""
        return None
