"""Values of TensorBoard that several converters make."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.util import tensor_util


def scalar(tag: str, value: float) -> Any:
    """A scalar; float32, as MindSpore records it."""
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def text(tag: str, markdown: str) -> Any:
    """A value of the Text dashboard."""
    out = summary_pb2.Summary.Value(tag=tag)
    out.metadata.CopyFrom(text_metadata.create_summary_metadata(display_name=None, description=""))
    out.tensor.CopyFrom(tensor_util.make_tensor_proto(markdown))
    return out
