from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.packages import Copy, Packages, TorchBuild
from doctor.readers.patient.packages import merged
from tests.facts.environments import facts, lay, pip_install, venv, wheel

pytestmark = pytest.mark.process


@pytest.fixture
def site(tmp_path) -> Path:
    """site-packages of a fresh environment in `tmp_path`/env."""
    return venv(tmp_path / "env")


def packages(tmp_path: Path, **environ: str) -> Packages:
    state = facts(Context(python=str(tmp_path / "env"), environ=environ))["packages"]
    assert state.status == "ok", state.reason
    return state.value


def test_what_pip_installed(tmp_path):
    """Real pip, real wheels."""
    venv(tmp_path / "env")
    pip_install(
        tmp_path / "env/bin/python",
        wheel(tmp_path, "trl", "1.16.0", {"trl/__init__.py": ""}),
        wheel(tmp_path, "flash_attn", "2.8.3", {"flash_attn/__init__.py": ""}),
    )
    found = packages(tmp_path)
    assert found.version("trl") == "1.16.0"
    assert found.version("flash-attn") == "2.8.3"
    assert found.matches("trl", ">=1.10,<2") is True
    assert found.matches("vllm", ">=0.8") is None
    assert found.distributions["trl"].broken is None
    assert found.modules["flash_attn"].endswith("site-packages/flash_attn")
    assert found.modules["vllm"] is None
    assert found.complete
    assert found.source == "probe"


def test_two_versions_on_the_path(tmp_path, site):
    lay(tmp_path / "extra", "transformers", "4.40.0", files={"transformers/__init__.py": ""})
    lay(site, "transformers", "5.0.0", files={"transformers/__init__.py": ""})
    found = packages(tmp_path, PYTHONPATH=str(tmp_path / "extra"))
    each = found.distributions["transformers"]
    assert (each.version, each.location) == ("4.40.0", str(tmp_path / "extra"))
    assert each.shadowed == (Copy("5.0.0", str(site)),)
    assert found.modules["transformers"] == str(tmp_path / "extra/transformers")
    assert packages(tmp_path).distributions["transformers"].shadowed == ()


def test_two_versions_in_one_folder(tmp_path, site):
    """An upgrade that died half-way: which code is there cannot be told from the metadata."""
    lay(site, "torch", "2.5.1")
    lay(site, "torch", "2.6.0")
    each = packages(tmp_path).distributions["torch"]
    assert each.version is None
    assert each.broken == "torch-2.5.1.dist-info and torch-2.6.0.dist-info stand side by side"
    assert each.shadowed == ()


def test_an_emptied_metadata_beside_a_good_one(tmp_path, site):
    lay(site, "torch", "2.5.1").joinpath("METADATA").write_text("")
    lay(site, "torch", "2.6.0")
    each = packages(tmp_path).distributions["torch"]
    assert each.version == "2.6.0"
    assert each.broken == "torch-2.5.1.dist-info and torch-2.6.0.dist-info stand side by side"


def test_a_development_install_is_not_its_own_duplicate(tmp_path, site):
    source = tmp_path / "src/trl"
    (source / "trl").mkdir(parents=True)
    (source / "trl/__init__.py").write_text("")
    (source / "trl.egg-info").mkdir()
    (source / "trl.egg-info/PKG-INFO").write_text("Name: trl\nVersion: 1.17.0.dev0\n")
    info = lay(site, "trl", "1.17.0.dev0")
    (info / "direct_url.json").write_text(json.dumps({"dir_info": {"editable": True}, "url": source.as_uri()}))
    (site / "__editable__.trl.pth").write_text(str(source))
    each = packages(tmp_path).distributions["trl"]
    assert (each.editable, each.editable_from, each.shadowed) == (True, str(source), ())
    beside = packages(tmp_path, PYTHONPATH=str(source)).distributions["trl"]
    assert (beside.editable, beside.location, beside.shadowed) == (True, str(source), ())


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("__version__ = '2.6.0+cu124'\ncuda = '12.4'\nhip = None\n", TorchBuild("2.6.0+cu124", "12.4")),
        (
            ("from typing import Optional\n__version__ = '2.13.0+cpu'\ndebug = False\ncuda: Optional[str] = None\n"
            "hip: Optional[str] = None\nxpu: Optional[str] = None\n"),
            TorchBuild("2.13.0+cpu"),
        ),
        ('__version__ = "2.5.1+rocm6.2"\ncuda: str | None = None\nhip: str | None = "6.2.41134"\n',
         TorchBuild("2.5.1+rocm6.2", None, "6.2.41134")),
        ("raise SystemExit", None),
    ],
)  # fmt: skip
def test_the_build_of_torch(tmp_path, site, text, build):
    lay(site, "torch", "2.6.0", files={"torch/__init__.py": "raise SystemExit", "torch/version.py": text})
    assert packages(tmp_path).torch_build == build


VLLM = {
    "vllm/__init__.py": "",
    "vllm/version.py": "try:\n    from ._version import __version__\nexcept Exception:\n    pass\n",
}


def test_files_that_vllm_lacks(tmp_path, site):
    lay(site, "vllm", "0.8.5", files=VLLM)
    assert packages(tmp_path).missing_files == ("vllm/_version.py", "vllm/_C*.so")
    (site / "vllm/_version.py").write_text("")
    (site / "vllm/_C.abi3.so").write_text("")
    assert packages(tmp_path).missing_files == ()


def test_builds_without_kernels_and_metadata_alone(tmp_path, site):
    lay(site, "vllm", "0.8.5.post1+empty", files={**VLLM, "vllm/_version.py": ""})
    assert packages(tmp_path).missing_files == ()


def test_metadata_alone_claims_no_missing_files(tmp_path, site):
    lay(site, "vllm", "0.33.0")
    found = packages(tmp_path)
    assert (found.version("vllm"), found.modules["vllm"], found.missing_files) == ("0.33.0", None, ())


def test_libraries_of_the_wheels(tmp_path, site):
    for path in ("cublas/lib/libcublasLt.so.12", "nccl/lib/libnccl.so.2", "cu13/lib/libcudart.so.13"):
        (site / "nvidia" / path).parent.mkdir(parents=True)
        (site / "nvidia" / path).write_text("")
    found = packages(tmp_path).wheel_libraries
    assert found["libcublasLt"] == str(site / "nvidia/cublas/lib/libcublasLt.so.12")
    assert set(found) == {"libcublasLt", "libnccl", "libcudart"}


def test_no_secret_of_a_requirement_is_kept(tmp_path, site):
    lay(site, "ours", "1.0", "trl @ git+https://me:ghp_abcdefghijklmnopqrstuvwxyz0123@git.example.com/trl")
    requires = packages(tmp_path).distributions["ours"].requires
    assert requires == ("trl @ git+https://***@git.example.com/trl",)


def test_leftovers_and_bare_folders(tmp_path, site):
    (site / "~rl-1.0.dist-info").mkdir()
    (site / "wandb").mkdir()
    found = packages(tmp_path)
    assert found.leftovers == (str(site / "~rl-1.0.dist-info"),)
    assert found.namespaces == ("wandb",)


def test_names_are_compared_as_the_index_does():
    records = [
        {"name": name, "version": "1", "folder": folder, "file": "x", "broken": None, "editable": None,
         "requires": [], "requires_python": None}
        for name, folder in (("Flash_Attn", "/a"), ("flash.attn", "/b"))
    ]  # fmt: skip
    found = merged(records)
    assert set(found) == {"flash-attn"}
    assert found["flash-attn"].shadowed == (Copy("1", "/b"),)
