"""Open Ascend NPU profiles in TensorBoard."""

__version__ = "0.2.0"
#: Author and repository URL (without a slash at the end) for the package's metadata; "" while unknown.
AUTHOR = ""
REPOSITORY = ""
