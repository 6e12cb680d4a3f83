"""What `pip install .` puts in place."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from tests.conftest import ROOT

FULL = pytest.mark.full
#: Every module in C has a stub beside its sources.
NATIVE = [
    ".".join(path.with_suffix("").relative_to(ROOT).parts) for path in (ROOT / "tb_npu_plugin").rglob("_[!_]*.pyi")
]
COMPILE = "import sys; [compile(open(path, 'rb').read(), path, 'exec') for path in sys.argv[1:]]"
NO_CXX = {"CXX": "false"}
NO_COMPILERS = {**NO_CXX, "CC": "false"}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the wheel goes without C code")


def run(*command: str, status: int = 0, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command with more environment variables and check its exit status."""
    environment = {**os.environ, **more}
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git tracks: what stands in the tree by chance must not be needed, or get in."""
    source = tmp_path_factory.mktemp("source")
    wanted = ["setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "tb_npu_plugin"]
    for name in filter(None, run("git", "ls-files", "-z", *wanted).stdout.split("\0")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    return source


def build_metadata(source: Path, folder: Path, repository: str, author: str = "") -> Message:
    """Metadata of the source with these values in place of the unknown ones. Writes into folder."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    about = folder / "tb_npu_plugin" / "__init__.py"
    text = about.read_text()
    for name, value in (("REPOSITORY", repository), ("AUTHOR", author)):
        text, count = re.subn(rf'^{name} = ".*"$', f'{name} = "{value}"', text, flags=re.M)
        assert count == 1
    about.write_text(text)
    run(sys.executable, "setup.py", "--quiet", "egg_info", cwd=folder)
    return email.message_from_string((folder / "tb_npu_plugin.egg-info" / "PKG-INFO").read_text(encoding="utf-8"))


def file_links(description: str) -> list[str]:
    """Targets of the links and pictures that are neither URLs nor places of the page."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", description) if not re.match(r"#|[a-z]+:", target)]


def build_wheel(source: Path, out: Path, env: dict[str, str]) -> zipfile.ZipFile:
    options = ("--quiet", "--no-deps", "--no-build-isolation", "-w", str(out))
    run(sys.executable, "-m", "pip", "wheel", *options, ".", cwd=source, **env)
    return zipfile.ZipFile(next(out.glob("*.whl")))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return build_wheel(source, tmp_path_factory.mktemp("wheel"), NO_CXX)


def test_an_install_holds_all_modules_stubs_and_the_bundle(source: Path, tmp_path: Path) -> None:
    run(sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(tmp_path), cwd=source)
    held = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    package = source / "tb_npu_plugin"
    needed = [*package.rglob("*.py"), *package.rglob("*.pyi"), *(package / "static").iterdir(), package / "py.typed"]
    assert {str(path.relative_to(source)) for path in needed} <= held
    assert "tb_npu_plugin/static/index.js" in held


@pytest.mark.slow
def test_the_oldest_python_compiles_every_file(source: Path) -> None:
    """Neither ruff nor `ast` knows all that the grammar of Python 3.9 refuses."""
    found = re.search(r'python_requires=">=(3\.\d+)"', (source / "setup.py").read_text())
    assert found
    beside = sorted(Path(sys.base_prefix).parent.glob(f"{found[1]}*/bin/python{found[1]}"))
    oldest = str(beside[0]) if beside else shutil.which(f"python{found[1]}")
    if oldest is None or subprocess.run([oldest, "--version"], check=False, capture_output=True).returncode:
        pytest.skip(f"no Python {found[1]} on this machine")
    run(oldest, "-c", COMPILE, *map(str, (source / "tb_npu_plugin").rglob("*.py")))


@FULL
@needs_compiler
def test_wheel_holds_native_modules_for_every_python(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    folders = {name.split("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"tb_npu_plugin"}
    device = "tb_npu_plugin/capture/device/native"  # `tb-npu run` builds it
    native = {f"{module.replace('.', '/')}.abi3.so" for module in NATIVE}
    assert {name for name in names if name.endswith((".so", ".c", ".cpp", ".h"))} == native | {
        str(path.relative_to(ROOT)) for path in (ROOT / device).iterdir()
    }
    assert "-cp39-abi3-linux_" in Path(str(wheel.filename)).name


@FULL
def test_metadata_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    # the stand-in torch_npu inside has metadata, too
    own = [name for name in wheel.namelist() if re.match(r"tb_npu_plugin-[^/]+\.dist-info/", name)]
    files = {Path(name).name: name for name in own}
    entry_points = wheel.read(files["entry_points.txt"]).decode()
    assert "npu_profiler = tb_npu_plugin.plugin:NpuPluginLoader" in entry_points
    assert "tb-npu = tb_npu_plugin.cli:main" in entry_points
    metadata = email.message_from_bytes(wheel.read(files["METADATA"]))
    assert "Apache-2.0" in (metadata["License-Expression"], metadata["License"])
    for path in ("LICENSE", "tb_npu_plugin/static/THIRD_PARTY_NOTICES.md"):
        assert wheel.read(files[Path(path).name]) == (ROOT / path).read_bytes()
    assert len(metadata.get_all("License-File")) == 2
    named = set(re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier"))))
    assert named == set(re.findall(r'"(3\.\d+)"', (ROOT / ".github/workflows/ci.yml").read_text()))
    assert f">={min(named, key=lambda version: int(version[2:]))}" == metadata["Requires-Python"]


@FULL
@needs_compiler
def test_the_wheel_passes_its_own_check(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """tools/check_wheel.py, which cibuildwheel runs, on the unpacked wheel; the other packages are those of this run."""
    wheel.extractall(tmp_path)
    check = (sys.executable, str(ROOT / "tools" / "check_wheel.py"))
    assert str(tmp_path) in run(*check, cwd=tmp_path, PYTHONPATH=str(tmp_path)).stdout
    next(tmp_path.rglob("_native.abi3.so")).unlink()
    assert "tb_npu_plugin.scan._native" in run(*check, cwd=tmp_path, PYTHONPATH=str(tmp_path), status=1).stderr


@FULL
def test_without_a_compiler_setup_says_so_and_the_wheel_is_for_every_system(source: Path, tmp_path: Path) -> None:
    places = ("--build-lib", str(tmp_path), "--build-temp", str(tmp_path))
    errors = run(sys.executable, "setup.py", "build_ext", *places, **NO_COMPILERS).stderr
    assert all(f"{module} was not built (" in errors for module in NATIVE)
    assert errors.count("Traces are read by slower Python code") == len(NATIVE)
    assert not list(tmp_path.rglob("*.so"))
    shutil.copytree(source, tmp_path / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    wheel = build_wheel(tmp_path / "source", tmp_path / "out", NO_COMPILERS)
    assert Path(str(wheel.filename)).name.endswith("-py3-none-any.whl")
    about = next(name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
    assert "Root-Is-Purelib: true" in wheel.read(about).decode()


@FULL
@pytest.mark.parametrize("failure", ["ImportError", "OSError"])
def test_setup_works_with_a_broken_pytorch(tmp_path: Path, failure: str) -> None:
    """Cause: setup.py asks PyTorch where its headers are."""
    (tmp_path / "torch.py").write_text(f"raise {failure}('libtorch_cpu.so: cannot open shared object file')")
    done = run(sys.executable, "setup.py", "--name", PYTHONPATH=str(tmp_path))
    assert done.stdout.split()[-1:] == ["tb-npu-plugin"]


@FULL
@pytest.mark.parametrize("repository", ["", "https://forge.example/team/tb-npu-plugin"])
def test_links_of_the_description_lead_somewhere(source: Path, tmp_path: Path, repository: str) -> None:
    """Those to files are absolute where the repository is known, else paths without a link; pictures go."""
    metadata = build_metadata(source, tmp_path / "source", repository, "A. Author" if repository else "")
    description, tag = metadata.get_payload(), f"v{metadata['Version']}"
    assert metadata["Author"] == ("A. Author" if repository else None)
    assert file_links(description) == []
    for path in file_links((ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / path.partition("#")[0]).exists()
        kind = "raw" if path.endswith(".png") else "blob"
        expected = f"]({repository}/{kind}/{tag}/{path})" if repository else f"`{path}`"
        assert expected in description or (kind == "raw" and not repository)
    if repository:
        assert f"Source, {repository}" in metadata.get_all("Project-URL")
    else:
        assert "![" not in description
        assert metadata.get_all("Project-URL") is metadata["Home-page"] is None


def test_every_requirement_has_a_lowest_and_a_newest_version() -> None:
    """Try a new bound of setup.py as CONTRIBUTING.md says, then add it to the list."""
    setup = (ROOT / "setup.py").read_text()
    required = re.search(r"install_requires=\[(.*?)\]", setup, re.S)
    assert required
    bounds = set(re.findall(r'"([a-z]+)>=([\d.]+)"', required[1]))
    assert len(bounds) == required[1].count('"') // 2
    bounds |= set(re.findall(r'"notebook": \["([a-z]+)>=([\d.]+)"\]', setup))
    assert bounds == set(re.findall(r"^([a-z]+)==([\d.]+)$", (ROOT / "tests/lowest.txt").read_text(), re.M))
    newest = re.findall(r"^([a-z-]+)<=[\d.]+$", (ROOT / "tests/newest.txt").read_text(), re.M)
    named = set(re.findall(r'"([a-z-]+)(?:>=|==)[\d.*]+"', setup))
    assert {"tensorboard", "pytest-timeout", "ruff"} <= named <= set(newest)
    assert newest == sorted(set(newest))
