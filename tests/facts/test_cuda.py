"""CUDA_HOME by torch's rule, toolkits, and libraries in LD_LIBRARY_PATH, in folders that the test lays out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from doctor.facts import cuda
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.readers.machine import cuda as cuda_reader
from doctor.readers.machine import toolkits

pytestmark = pytest.mark.process


def toolkit(folder: Path, nvcc: str | None = None, version_json: dict | None = None, header: int | None = None) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    if nvcc is not None:
        (folder / "nvvm").mkdir()
        program = folder / "bin" / "nvcc"
        program.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {nvcc}, V{nvcc}.99'\n")
        program.chmod(0o755)
    if version_json is not None:
        (folder / "version.json").write_text(json.dumps(version_json))
    if header is not None:
        (folder / "include" / "cuda_runtime_api.h").write_text(f"// x\n#define CUDART_VERSION  {header}\n")
        (folder / "include" / "cuda.h").write_text("")
    return folder


def collect(packages=None, **variables: str) -> cuda.Cuda:
    return cuda_reader.collect(Environment({"PATH": "/nowhere", **variables}), packages)


def test_the_variable_wins_over_nvcc_on_path_and_is_taken_unseen(tmp_path):
    kit = toolkit(tmp_path / "kit", nvcc="12.4")
    found = collect(CUDA_HOME="/no/such/cuda", CUDA_PATH="/other", PATH=str(kit / "bin"))
    assert (found.cuda_home, found.cuda_home_from) == ("/no/such/cuda", "CUDA_HOME")
    assert (found.nvcc, found.nvcc_version) == (None, None)


def test_empty_variable_falls_through_to_cuda_path(tmp_path):
    kit = toolkit(tmp_path / "kit", nvcc="12.4")
    found = collect(CUDA_HOME="", CUDA_PATH=str(kit))
    assert (found.cuda_home_from, found.nvcc_version) == ("CUDA_PATH", "12.4")


def test_nvcc_on_path_gives_its_grandparent(tmp_path):
    kit = toolkit(tmp_path / "kit", nvcc="11.8")
    found = collect(PATH=f"/nowhere:{kit / 'bin'}")
    assert (found.cuda_home, found.cuda_home_from) == (str(kit), "nvcc on PATH")
    assert found.nvcc_version == "11.8"
    assert any(each.path == str(kit) and each.version == "11.8" and each.has_nvcc for each in found.toolkits)


def test_version_json_is_believed_without_running_nvcc(tmp_path):
    kit = toolkit(tmp_path / "kit", nvcc="9.9", version_json={"cuda_nvcc": {"version": "12.1.105"}})
    assert collect(CUDA_HOME=str(kit)).nvcc_version == "12.1"


def test_the_header_does_not_speak_for_nvcc(tmp_path):
    """Conda installs an nvcc of one release beside the runtime of another."""
    kit = toolkit(tmp_path / "kit", nvcc="12.6", header=12010)
    assert collect(CUDA_HOME=str(kit)).nvcc_version == "12.6"


def test_toolkit_without_nvcc_is_dated_by_its_header(tmp_path):
    kit = toolkit(tmp_path / "kit", header=12080)
    found = collect(CUDA_HOME=str(kit))
    mine = next(each for each in found.toolkits if each.path == str(kit))
    assert (mine.version, mine.has_nvcc) == ("12.8", False)
    assert found.nvcc is None


def test_a_wrapper_called_nvcc_does_not_make_its_folder_a_toolkit(tmp_path):
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "nvcc"
    wrapper.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.2, V12.2.1'\n")
    wrapper.chmod(0o755)
    found = collect(PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert (found.cuda_home, found.nvcc_version) == (str(tmp_path), "12.2")
    assert str(tmp_path) not in [each.path for each in found.toolkits]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cuda_nvcc": "12.4"}', '{"cuda_nvcc": {"version": 12}}'])
def test_version_json_of_any_content(tmp_path, text):
    kit = toolkit(tmp_path / "kit", nvcc="12.4")
    (kit / "version.json").write_text(text)
    assert collect(CUDA_HOME=str(kit)).nvcc_version == "12.4"


def test_nvcc_that_prints_nonsense_or_cannot_run(tmp_path):
    kit = toolkit(tmp_path / "kit", nvcc="x")
    assert collect(CUDA_HOME=str(kit)).nvcc_version is None
    (kit / "bin" / "nvcc").write_bytes(b"\x7fELF\0\0")
    assert collect(CUDA_HOME=str(kit)).nvcc_version is None


def libraries(folder: Path, *names: str) -> str:
    """Real files with full versions, and links with the major version as ldconfig makes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"\x7fELF")
        stem, _, version = name.partition(".so.")
        link = folder / f"{stem}.so.{version.split('.')[0]}"
        if not link.exists():
            link.symlink_to(name)
        (folder / f"{stem}.so").symlink_to(name)
    return str(folder)


def test_first_copy_in_the_path_with_its_full_version(tmp_path):
    old = libraries(tmp_path / "old", "libcublasLt.so.12.1.3.1", "libcublas.so.12.1.3.1", "libother.so.1.0")
    new = libraries(tmp_path / "new", "libcublasLt.so.12.4.5.8", "libnccl.so.2.21.5")
    found = collect(LD_LIBRARY_PATH=f"{old}::{tmp_path}/absent:{new}").shadowing
    assert {(each.stem, each.version, each.folder) for each in found} == {
        ("libcublasLt", "12.1.3.1", old),
        ("libcublas", "12.1.3.1", old),
        ("libnccl", "2.21.5", new),
    }
    assert all(each.path.endswith((".so.12", ".so.2")) for each in found)


def test_only_what_the_wheel_also_brings_and_not_the_wheels_own_folder(tmp_path):
    own = libraries(tmp_path / "site-packages/nvidia/nccl/lib", "libnccl.so.2.21.5")
    system = libraries(tmp_path / "lib", "libcudart.so.12.1.105", "libnccl.so.2.18.1")
    packages = Packages(wheel_libraries={"libnccl": f"{own}/libnccl.so.2"})
    assert collect(packages, LD_LIBRARY_PATH=own).shadowing == ()
    assert [each.stem for each in collect(packages, LD_LIBRARY_PATH=f"{own}:{system}").shadowing] == []
    found = collect(packages, LD_LIBRARY_PATH=f"{system}:{own}").shadowing
    assert [(each.stem, each.version) for each in found] == [("libnccl", "2.18.1")]


def test_broken_links_do_not_count(tmp_path):
    (tmp_path / "libcudart.so.12").symlink_to(tmp_path / "gone")
    assert collect(LD_LIBRARY_PATH=str(tmp_path)).shadowing == ()


def test_compiler_and_ninja_on_the_path_of_the_command(tmp_path):
    for name in ("c++", "ninja"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert (collect().has_cxx_compiler, collect().has_ninja) == (False, False)
    found = collect(PATH=str(tmp_path))
    assert (found.has_cxx_compiler, found.has_ninja) == (True, True)
    assert collect(PATH=str(tmp_path), CXX="/no/such/g++ -O2").has_cxx_compiler is False


def test_a_folder_is_not_a_program(tmp_path):
    (tmp_path / "nvcc").mkdir()
    assert toolkits.which("nvcc", {"PATH": str(tmp_path)}) is None
    assert toolkits.which("sh", {"PATH": os.environ["PATH"]}) is not None
