"""Open Ascend NPU profiles in TensorBoard."""

__version__ = "0.1.0"
