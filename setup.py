"""Packaging of tb-npu-plugin. Tool settings are in pyproject.toml."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "tb_npu_plugin/__init__.py").read_text(), re.M)
assert VERSION

setup(
    name="tb-npu-plugin",
    version=VERSION.group(1),
    description="Open Ascend NPU profiles in TensorBoard",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=find_packages(include=["tb_npu_plugin", "tb_npu_plugin.*"]),
    include_package_data=True,
    python_requires=">=3.9",
    install_requires=[
        "tensorboard>=2.11",
        "werkzeug>=2.1",
        "protobuf>=3.20",
        "numpy>=1.22",
        "pandas>=1.5",
        "duckdb>=1.1",
        "msgspec>=0.18.5",
        "click>=8.0",
        "rich>=12.0",
    ],
    extras_require={
        "test": ["setuptools>=70.1", "pytest>=7", "pytest-timeout>=2", "hypothesis>=6", "playwright>=1.40"],
        "check": ["ruff==0.17.*", "mypy==2.4.*", "import-linter>=2"],
    },
    entry_points={
        "tensorboard_plugins": ["npu_profiler = tb_npu_plugin.plugin:NpuPlugin"],
        "console_scripts": ["tb-npu = tb_npu_plugin.cli:main"],
    },
    classifiers=[
        "Environment :: Plugins",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Topic :: System :: Monitoring",
    ],
)
