# SPDX-License-Identifier: Apache-2.0
"""Packaging of tb-npu-plugin. Tool settings are in pyproject.toml."""

from __future__ import annotations

import re
import runpy
import sys
from contextlib import suppress
from pathlib import Path

import setuptools
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).parent
ABOUT = runpy.run_path(str(HERE / "tb_npu_plugin/__init__.py"))
VERSION, AUTHOR, REPOSITORY = (ABOUT[name] for name in ("__version__", "AUTHOR", "REPOSITORY"))
#: Minor versions of Python 3 that CI tests (.github/workflows).
PYTHONS = range(9, 14)
#: setuptools 77 introduced the SPDX field; older ones ignore it with a warning.
HAS_SPDX = int(setuptools.__version__.split(".")[0]) >= 77
#: A Markdown link or picture whose target is a file of the repository.
FILE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![#/]|[a-z]+:)([^)\s]+)\)")


def native(
    module: str, folder: str, sources: tuple[str, ...], headers: tuple[str, ...], scan: tuple[str, ...] = ()
) -> Extension:
    """An extension in C from tb_npu_plugin/<folder>/native, and from these sources of the scanner's."""
    native, shared = f"tb_npu_plugin/{folder}/native", "tb_npu_plugin/scan/native"
    return Extension(
        f"tb_npu_plugin.{folder}.{module}",
        sources=[*(f"{native}/{name}.c" for name in sources), *(f"{shared}/{name}.c" for name in scan)],
        depends=[f"{native}/{name}.h" for name in headers]
        + ([f"{shared}/json.h", f"{shared}/interner.h"] if scan else []),
        include_dirs=[shared] if scan else [],
        define_macros=[("Py_LIMITED_API", "0x03090000")],
        # Contracted, a product and a sum would round otherwise than Python does.
        extra_compile_args=["-std=c11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"],
        py_limited_api=True,
        optional=True,  # an editable install must not miss it, either
    )


SCANNER = native(
    "_native",
    "scan",
    ("module", "walker", "blocks", "columns", "json", "decimal", "interner"),
    ("walker", "json", "interner"),
)
ARGS = native("_args", "scan", ("args_module", "args", "json"), ("args", "json"))
CSV = native("_csv", "readers", ("module", "rows"), ("rows",), scan=("decimal", "interner"))
PACKING = native("_packing", "analysis", ("module", "packing"), ("packing",))


class BuildNative(build_ext):
    """Builds what there is a compiler for. The package does without each of them. built: their names."""

    def initialize_options(self) -> None:
        """Nothing is built yet."""
        super().initialize_options()
        self.built: list[str] = []

    def run(self) -> None:
        """Build all, and say in one line that the slower scanner will be used."""
        super().run()
        if SCANNER.name not in self.built:
            tell_terminal(
                "tb-npu-plugin is installed without its C scanner: traces are read about 5 times slower. "
                "To build it, install a C compiler (gcc) and Python's headers, then install again."
            )

    def build_extension(self, ext: Extension) -> None:
        """Build, or say what is missing for it."""
        try:
            super().build_extension(ext)
        except Exception as error:  # whatever the compiler's trouble is, the package works
            print(
                f"tb-npu-plugin: {ext.name} was not built ({error}). Traces are read by slower Python code, with the same "
                "results. A C compiler and Python's headers are needed to build it.",
                file=sys.stderr,
            )
        else:
            self.built.append(ext.name)


def tell_terminal(line: str) -> None:
    """Print a line to the user's terminal, if there is one: pip hides what a build prints."""
    with suppress(OSError), Path("/dev/tty").open("w") as terminal:
        print(line, file=terminal)


class TaggedWheel(bdist_wheel):
    """A wheel without binaries is for every system."""

    def get_tag(self) -> tuple[str, str, str]:
        """Tags of the file's name: Python, ABI, platform."""
        if self.get_finalized_command("build_ext").built:
            return super().get_tag()
        self.root_is_pure = True
        return "py3", "none", "any"


def long_description() -> str:
    """README.md for a package index: file links point to the repository at this version's tag.

    While REPOSITORY is unknown, a link becomes its text and path, and pictures are left out.
    """

    def replace(found: re.Match[str]) -> str:
        is_picture, text, path = found.groups()
        if REPOSITORY:
            return f"{is_picture}[{text}]({REPOSITORY}/{'raw' if is_picture else 'blob'}/v{VERSION}/{path})"
        if is_picture:
            return ""
        return f"`{path}`" if text == path else f"{text} (`{path}`)"

    text = FILE_LINK.sub(replace, (HERE / "README.md").read_text(encoding="utf-8"))
    return re.sub(r"\n{3,}", "\n\n", text)


def project_urls() -> dict[str, str]:
    """Links of the package index; none while REPOSITORY is unknown."""
    if not REPOSITORY:
        return {}
    return {
        "Source": REPOSITORY,
        "Issues": f"{REPOSITORY}/issues",
        "Changelog": f"{REPOSITORY}/blob/v{VERSION}/CHANGELOG.md",
    }


setup(
    name="tb-npu-plugin",
    version=VERSION,
    description="Open Ascend NPU profiles in TensorBoard",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    **{"license_expression" if HAS_SPDX else "license": "Apache-2.0"},
    license_files=["LICENSE", "tb_npu_plugin/static/THIRD_PARTY_NOTICES.md"],
    **({"author": AUTHOR} if AUTHOR else {}),
    project_urls=project_urls(),
    packages=find_packages(include=["tb_npu_plugin", "tb_npu_plugin.*"]),
    include_package_data=False,  # it would bring the sources in C along
    package_data={
        "tb_npu_plugin": ["py.typed", "messages.json", "problems.csv", "static/*"],
        "tb_npu_plugin.config_check": ["keys.csv"],
        "tb_npu_plugin.discovery": ["skips.csv"],
        "tb_npu_plugin.scan": ["*.pyi"],
        "tb_npu_plugin.readers": ["*.pyi"],
        "tb_npu_plugin.analysis": ["*.pyi"],
        "tb_npu_plugin.schema": ["*.csv"],
        "tb_npu_plugin.summary": ["messages.csv"],
        "tb_npu_plugin.cli": ["mock.csv"],
        "tb_npu_plugin.capture.models": ["*.csv"],
        "tb_npu_plugin.capture.simulation": ["*.csv"],
        "tb_npu_plugin.capture.writers": ["metrics.csv", "profiler_info.json", "mindspore/profiler_info.json"],
        "tb_npu_plugin.capture.api": ["profiler_config.json", "*.csv"],
        "tb_npu_plugin.capture.mindspore": ["operators.csv"],
        # What tb-npu run builds and puts on the path.
        "tb_npu_plugin.capture.device": [
            "*.csv",
            "native/*",
            "site/*.py",
            "site/*/*.py",
            "site/*/contrib/*.py",
            "site/*.dist-info/*",
        ],
    },
    ext_modules=[SCANNER, ARGS, CSV, PACKING],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": TaggedWheel},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    python_requires=">=3.9",
    install_requires=[
        "tensorboard>=2.11",
        "werkzeug>=2.1",
        "protobuf>=3.20",
        "numpy>=1.22",
        "duckdb>=1.1",
        "msgspec>=0.18.5",
        "click>=8.0",
        "rich>=12.3",
        "pyyaml>=6.0",
    ],
    extras_require={
        # Data frames of the Python API. No requirement: the newest pandas would replace the numpy < 2 that CANN and MindSpore
        # need, and a cap would replace the pandas 3 of others (docs/install.md).
        "notebook": ["pandas>=1.5"],
        # PyTorch is not among them: tools/ensure_torch.sh installs a CPU build where one can be had.
        "test": [
            "setuptools>=70.1",
            "pandas>=1.5",
            "pytest>=7",
            "pytest-timeout>=2",
            "pytest-xdist>=3.2",
            "hypothesis>=6",
            "playwright>=1.40",
            "websockets>=13",  # Firefox in tests/e2e
            "matplotlib>=3.5",  # the picture of export_memory_timeline
            "coverage>=7.2",  # tools/mutants.py
        ],
        "check": ["ruff==0.17.*", "mypy==2.4.*", "import-linter>=2", "types-PyYAML", "vulture>=2.11"],
    },
    entry_points={
        "tensorboard_plugins": ["npu_profiler = tb_npu_plugin.plugin:NpuPluginLoader"],
        "console_scripts": ["tb-npu = tb_npu_plugin.cli:main"],
    },
    classifiers=[
        "Environment :: Plugins",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in PYTHONS),
        "Topic :: System :: Monitoring",
    ],
)
