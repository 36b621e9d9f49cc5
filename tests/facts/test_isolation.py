"""The examined interpreter runs nothing of its environment, and is understood as a normal start would see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import doctor
from doctor.base.fact import Context
from doctor.readers.patient.carry import lay_hook
from tests.facts.environments import facts, interpreter, lay, script, venv
from tests.facts.test_probe import ask

pytestmark = pytest.mark.process

#: what each back end lays for an editable install of `/src/trl`: file -> text
EDITABLE = {
    "setuptools finder": {
        "__editable__.trl-1.0.pth": "import __editable___trl_1_0_finder; __editable___trl_1_0_finder.install()",
        "__editable___trl_1_0_finder.py":
            "MAPPING: dict[str, str] = {'trl': '{src}/trl'}\n"
            "NAMESPACES: dict[str, list[str]] = {}\ndef install(): 1/0\n",
    },
    "setuptools path": {"__editable__.trl-1.0.pth": "{src}"},
    "hatchling": {"_trl.pth": "{src}"},
    "flit or poetry": {"trl.pth": "# made by a back end\n{src}\n"},
    "meson-python": {
        "trl-editable.pth": "import _trl_editable_loader",
        "_trl_editable_loader.py": "def install(a, b, c, d): 1/0\ninstall({'trl'}, '{src}/build', ['ninja'], False)\n",
    },
    "scikit-build-core": {
        "_trl_editable.pth": "import _trl_editable\n",
        "_trl_editable.py": "def install(*a): 1/0\n"
            "install({'trl': '{src}/trl/__init__.py', 'trl.x': '{src}/x.py'}, {}, None)\n",
    },
}  # fmt: skip


def lay_editable(site: Path, source: Path, back_end: str) -> None:
    (source / "trl").mkdir(parents=True, exist_ok=True)
    (source / "trl/__init__.py").write_text("")
    for name, text in EDITABLE[back_end].items():
        (site / name).write_text(text.replace("{src}", str(source)))


@pytest.mark.parametrize("version", ["3.6", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_nothing_of_the_environment_runs(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    site = venv(tmp_path / "env", python=python)
    witness = tmp_path / "it-ran"
    write = f"open({str(witness)!r}, 'a').write(__name__)"
    (site / "sitecustomize.py").write_text(write)
    (site / "usercustomize.py").write_text(write)
    (site / "evil.pth").write_text(f"import sys; {write}\n")
    (site / "json.py").write_text(write)
    subprocess.run([tmp_path / "env/bin/python", "-c", ""], check=True)
    assert witness.exists()  # a normal start does run them
    witness.unlink()
    states = facts(Context(python=str(tmp_path / "env/bin/python"), cwd=tmp_path))
    assert not witness.exists()
    assert states["interpreter"].value.prefix == str(tmp_path / "env")
    assert states["interpreter"].value.environment_kind == "venv"
    assert not states["packages"].value.complete  # what was not run may give any module


@pytest.mark.parametrize("back_end", EDITABLE)
@pytest.mark.parametrize("version", ["3.8", "3.12"])
def test_every_editable_install_is_found_and_its_hook_not_run(back_end: str, version: str, tmp_path: Path) -> None:
    site = venv(tmp_path / "env", python=interpreter(version))
    lay_editable(site, tmp_path / "src", back_end)
    packages = facts(Context(python=str(tmp_path / "env/bin/python"), cwd=tmp_path))["packages"].value
    assert packages.modules["trl"]
    assert packages.complete
    if back_end != "meson-python":
        assert packages.modules["trl"] == str(tmp_path / "src/trl")


@pytest.mark.parametrize(
    ("line", "complete"),
    [
        ("import sys; sys.path.insert(0, '/opt/hidden')", False),
        ("import company_start", False),
        ("import _mine_editable", False),  # named as a hook, and there is none
        ("import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'", True),
        ("import sys, types, os;has_mfs = sys.version_info > (3, 5);p = os.path.join('x', 'google')", True),
        ("import _virtualenv", True),
        ("# import company_start", True),
        ("/does/not/exist", True),
    ],
)
def test_a_line_that_is_not_understood_leaves_absence_unknown(line: str, complete: bool, tmp_path: Path) -> None:
    site = venv(tmp_path / "env")
    (site / "start.pth").write_text(f"{line}\n")
    packages = facts(Context(python=str(tmp_path / "env/bin/python"), cwd=tmp_path))["packages"].value
    assert packages.modules["vllm"] is None
    assert packages.complete == complete


ROOT = Path(doctor.__file__).parent.parent
HOOKS = {"hook": ROOT / "monitors/inject/sitecustomize.py", "site": ROOT / "fixes/vllm_server/sitecustomize.py"}


@pytest.mark.parametrize("folder", HOOKS)
@pytest.mark.parametrize(
    ("change", "own"),
    [
        ("", True),
        ("a company's", False),
        ("about the doctor", False),
        ("elsewhere", False),
        ("nothing beside it", False),
        ("more in it", False),
    ],
)
def test_only_the_doctors_own_start_up_hook_is_known(folder: str, change: str, own: bool, tmp_path: Path) -> None:
    """A hook of somebody else may bring any module, whatever words it begins with."""
    venv(tmp_path / "env")
    patient = tmp_path / "doctor-runs/20260301T101500Z-a" / ("patient" if change != "elsewhere" else "hooks")
    (patient / "lib/doctor").mkdir(parents=True)
    if change != "nothing beside it":
        (patient / "lib/doctor/_carried.json").write_text("{}")
    text = HOOKS[folder].read_text()
    if change == "a company's":
        text = f"import hidden\n{text}"
    elif change == "about the doctor":
        text = '"""A hook as the doctor has one."""\nimport hidden\n'
    (tmp_path / "sitecustomize.py").write_text(text)
    lay_hook(tmp_path / "sitecustomize.py", patient / folder)
    if change == "more in it":
        with zipfile.ZipFile(patient / folder, "a") as archive:
            archive.writestr("vllm.py", "")
    context = Context(
        python=str(tmp_path / "env/bin/python"), cwd=tmp_path, environ={"PYTHONPATH": str(patient / folder)}
    )
    packages = facts(context)["packages"].value
    assert packages.complete is own
    assert packages.has("vllm") is (False if own else None)
    assert own or str(patient / folder) in packages.why_unknown("vllm")


@pytest.mark.parametrize("name", ["old-1.0-py3.11.egg", "code.zip", "broken.zip"])
def test_an_archive_on_the_path_may_hold_any_module(name: str, tmp_path: Path) -> None:
    site = venv(tmp_path / "env")
    if name == "broken.zip":
        (tmp_path / name).write_bytes(b"PK\3\4 and no more")
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("vllm/__init__.py", "")
    (site / "easy-install.pth").write_text(f"{tmp_path / name}\n" if name.endswith("egg") else "")
    environ = {} if name.endswith("egg") else {"PYTHONPATH": str(tmp_path / name)}
    packages = facts(Context(python=str(tmp_path / "env/bin/python"), cwd=tmp_path, environ=environ))["packages"].value
    assert packages.has("vllm") is None
    assert name in packages.why_unknown("vllm")


@pytest.mark.parametrize("version", ["3.6", "3.8", "3.9", "3.12", "3.13"])
@pytest.mark.parametrize("options", [(), ("--system-site-packages",)])
def test_the_path_is_that_of_an_isolated_normal_start(version: str, options: tuple[str, ...], tmp_path: Path) -> None:
    site = venv(tmp_path / "env", *options, python=interpreter(version))
    (tmp_path / "developed").mkdir()
    (site / "a.pth").write_text(f"{tmp_path / 'developed'}\n{tmp_path / 'developed'}\n\n")
    python = str(tmp_path / "env/bin/python")
    show = "import json, sys; print(json.dumps([sys.path, sys.prefix, sys.base_prefix]))"
    said = subprocess.run([python, "-I", "-B", "-c", show], capture_output=True, check=True, text=True)
    path, prefix, base = json.loads(said.stdout)
    answer = ask(python)
    assert (answer["path"], answer["prefix"], answer["base_prefix"]) == (path, prefix, base)


@pytest.mark.parametrize("python", ["/usr/bin/python3", sys.executable])
def test_the_path_of_a_system_is_its_own_with_the_folders_of_debian(python: str) -> None:
    if not Path(python).exists():
        pytest.skip("no such Python on this machine")
    show = "import json, sys; print(json.dumps([[each for each in sys.path if __import__('os').path.exists(each)]]))"
    said = subprocess.run([python, "-I", "-B", "-c", show], capture_output=True, check=True, text=True)
    answer = ask(python)
    assert [each for each in answer["path"] if os.path.exists(each)] == json.loads(said.stdout)[0]  # noqa: PTH110


def test_a_conda_environment_is_a_prefix_of_its_own(tmp_path: Path) -> None:
    """As conda lays it: the interpreter with its library in the prefix, conda-meta beside it, no pyvenv.cfg."""
    real = Path(os.path.realpath(interpreter("3.12")))
    prefix, base = tmp_path / "envs/train", real.parent.parent
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "bin/python3.12").write_bytes(real.read_bytes())
    (prefix / "bin/python3.12").chmod(0o755)
    (prefix / "bin/python").symlink_to("python3.12")
    library = prefix / "lib/python3.12"
    library.mkdir()
    for each in (base / "lib/python3.12").iterdir():
        if each.name != "site-packages":
            (library / each.name).symlink_to(each)
    for each in (base / "lib").glob("libpython*"):
        (prefix / "lib" / each.name).symlink_to(each)
    lay(library / "site-packages", "trl", "0.14.0", files={"trl/__init__.py": ""})
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta/cuda-nvcc-12.4.99-0.json").write_text("{}")
    states = facts(Context(python=str(prefix / "bin/python"), cwd=tmp_path))
    if states["interpreter"].status != "ok":
        pytest.skip("this Python cannot be moved")
    assert (states["interpreter"].value.environment_kind, states["interpreter"].value.prefix) == ("conda", str(prefix))
    packages = states["packages"].value
    assert packages.version("trl") == "0.14.0"
    assert packages.modules["trl"] == str(library / "site-packages/trl")
    assert packages.conda["cuda-nvcc"] == "12.4.99"


def test_a_namespace_package_over_two_folders_is_one(tmp_path: Path) -> None:
    site = venv(tmp_path / "env")
    (tmp_path / "more/verl/part").mkdir(parents=True)
    (site / "verl/other").mkdir(parents=True)
    (site / "more.pth").write_text(f"{tmp_path / 'more'}\n")
    packages = facts(Context(python=str(tmp_path / "env/bin/python"), cwd=tmp_path))["packages"].value
    assert packages.modules["verl"] == str(site / "verl")
    assert "verl" in packages.namespaces


def test_the_doctors_own_interpreter_gives_the_same_answers_from_within_and_from_without(tmp_path: Path) -> None:
    start = script(tmp_path / "run/train.py", "")
    show = (
        "import json, sys; from doctor.readers.patient import probe; "
        f"print(json.dumps(probe.report({{'first': {str(start.parent)!r}, 'cwd': '/', 'environ': {{}}, 'own': True}})))"
    )
    said = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True, text=True, cwd="/")
    within, without = json.loads(said.stdout), ask(sys.executable, str(start.parent))
    assert {name for name in within if within[name] != without[name]} <= {"path", "user_site", "searched"}
    assert within["modules"] == without["modules"]
