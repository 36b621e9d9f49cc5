from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.packages import Packages
from doctor.readers.patient import probe
from tests.facts.environments import facts, interpreter, lay, script, venv

pytestmark = pytest.mark.process

VERSIONS = ("2.7", "3.6", "3.8", "3.9", "3.12", "3.13")


def ask(python: str, first: str | None = None, cwd: Path | None = None, **environ: str) -> dict:
    """The probe's answer as a child gives it, started as the doctor starts it."""
    request = {"first": first, "cwd": str(cwd or Path("/")), "environ": environ, "own": False}
    flags = ["-E", "-s", "-S", "-B"] if "2.7" in python else ["-I", "-S", "-B"]
    with Path(probe.__file__).open("rb") as source:
        done = subprocess.run(
            [python, *flags, "-", json.dumps(request)],
            stdin=source, capture_output=True, check=True, env=environ, cwd="/",
        )  # fmt: skip
    assert done.stderr == b""
    return json.loads(done.stdout.decode().split(probe.MARK)[1])


def by_name(answer: dict) -> dict[str, dict]:
    return {each["name"]: each for each in answer["distributions"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_interpreter_answers(version, tmp_path):
    python = interpreter(version)
    for number in range(3):
        lay(tmp_path, f"package-{number}", f"1.{number}", "torch>=2; extra == 'x'")
    answer = ask(python, PYTHONPATH=str(tmp_path), HOME=str(tmp_path))
    assert answer["version"].startswith(version)
    assert answer["machine"] == os.uname().machine
    assert by_name(answer)["package-1"]["version"] == "1.1"
    assert by_name(answer)["package-1"]["requires"] == ["torch>=2; extra == 'x'"]
    assert by_name(answer)["package-1"]["requires_python"] == ">=3.9"


@pytest.mark.parametrize("options", [(), ("--system-site-packages",), ("--system-site-packages", "none")])
@pytest.mark.parametrize("version", ["3.8", "3.12"])
def test_folders_stand_in_the_order_of_a_normal_start(version, options, tmp_path):
    """The truth is the interpreter's own sys.path in a normal start of a script."""
    python = interpreter(version)
    if options[-1:] == ("none",):
        environment = Path(python)
    else:
        venv(tmp_path / "env", *options, python=python)
        environment = tmp_path / "env/bin/python"
    home = tmp_path / "home"
    user = home / f".local/lib/python{version}/site-packages"
    user.mkdir(parents=True)
    (tmp_path / "developed").mkdir()
    (user / "own.pth").write_text(f"# a comment\nimport sys\n{tmp_path / 'developed'}\n")
    (tmp_path / "extra").mkdir()
    start = script(tmp_path / "run/train.py", "import json, sys; print(json.dumps(sys.path))")
    environ = {"HOME": str(home), "PYTHONPATH": f"{tmp_path / 'extra'}:/nowhere:"}
    said = subprocess.run(
        [environment, start], env=environ, capture_output=True, check=True, cwd=tmp_path / "home", text=True
    )
    real = [each for each in json.loads(said.stdout) if Path(each).is_dir()]
    answer = ask(str(environment), str(start.parent), home, **environ)
    assert answer["searched"] == list(dict.fromkeys(real))


def test_what_a_normal_start_adds_is_told_apart(tmp_path):
    python = interpreter("3.9")
    home = tmp_path / "home"
    user = home / ".local/lib/python3.9/site-packages"
    lay(user, "trl", "0.14.0", files={"trl/__init__.py": ""})
    lay(tmp_path / "first", "trl", "1.0.0", files={"trl/__init__.py": ""})
    answer = ask(python, HOME=str(home), PYTHONPATH=str(tmp_path / "first"))
    assert answer["pythonpath"] == [str(tmp_path / "first")]
    assert answer["user_site"] == str(user)
    assert str(user) not in answer["path"]
    assert [each["version"] for each in answer["distributions"] if each["name"] == "trl"] == ["1.0.0", "0.14.0"]
    assert answer["modules"]["trl"] == str(tmp_path / "first/trl")
    off = ask(python, HOME=str(home), PYTHONNOUSERSITE="1")
    assert off["user_site"] is None
    assert "trl" not in by_name(off)
    moved = ask(python, HOME="/nowhere", PYTHONUSERBASE=str(home / ".local"))
    assert moved["user_site"] == str(user)


def test_nothing_of_the_user_is_run(tmp_path):
    """Modules on PYTHONPATH and beside the script would run on an import; only .pth files may."""
    python = interpreter("3.12")
    for name in ("json", "re", "site", "sitecustomize", "usercustomize", "trl", "vllm"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})")
    answer = ask(python, str(tmp_path), tmp_path, PYTHONPATH=str(tmp_path), HOME=str(tmp_path))
    assert not (tmp_path / "ran").exists()
    assert answer["modules"]["trl"] == str(tmp_path / "trl.py")


SHADOWS = {
    "vllm/vllm/__init__.py": "",  # a checkout named vllm beside the script: a folder without __init__
    "trl.py": "",
    "datasets/__init__.py": "",
    "wandb/run-1/files.txt": "",  # what wandb leaves behind: a folder without __init__
    "ray/notes.txt": "",
    "flash_attn.cpython-38-x86_64-linux-gnu.so": "",
}


@pytest.mark.parametrize("version", ["3.8", "3.12"])
def test_modules_are_what_import_would_take(version, tmp_path):
    """The truth is importlib's answer in the interpreter itself."""
    python = interpreter(version)
    site = venv(tmp_path / "env", python=python)
    for name in ("vllm", "trl", "datasets", "torch", "ray"):
        lay(site, name, "1.0", files={f"{name}/__init__.py": ""})
    (site / "deepspeed.abi3.so").write_text("")
    (site / "peft").mkdir()
    for path, text in SHADOWS.items():
        (tmp_path / "run" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / path).write_text(text)
    asking = """
import importlib.util, json
found = {}
for name in NAMES:
    spec = importlib.util.find_spec(name)
    origin = spec and (spec.origin if spec.loader and spec.origin else list(spec.submodule_search_locations)[0])
    found[name] = origin[: -len("/__init__.py")] if origin and origin.endswith("/__init__.py") else origin
print(json.dumps(found))
""".replace("NAMES", repr(probe.MODULES))
    start = script(tmp_path / "run/train.py", asking)
    said = subprocess.run([tmp_path / "env/bin/python", start], env={}, capture_output=True, check=True, text=True)
    answer = ask(str(tmp_path / "env/bin/python"), str(start.parent))
    real = json.loads(said.stdout)
    assert answer["modules"] == real
    assert (real["flash_attn"] is None) == (version == "3.12")  # built for 3.8 by its name
    assert real["vllm"] == str(site / "vllm")  # a bare folder never hides a package further down
    assert real["wandb"] == str(tmp_path / "run/wandb")
    assert set(answer["namespaces"]) == {"wandb", "peft"}


def finder_of_setuptools(name: str, folder: Path) -> str:
    """The finder that setuptools itself writes for an editable install of a package with a layout of its own."""
    making = (
        "from setuptools.command.editable_wheel import _finder_template as make;"
        f"print(make({name!r}, {{{name!r}: {str(folder)!r}}}, {{}}))"
    )
    command = [interpreter("3.11"), "-W", "ignore", "-c", making]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip("no setuptools >= 64 beside Python 3.11")
    return made.stdout


def test_a_bare_folder_hides_a_finder_install(tmp_path):
    """setuptools' editable finder is asked after the path: a folder named like the package wins."""
    python = tmp_path / "env/bin/python"
    site = venv(tmp_path / "env")
    source = tmp_path / "src/vllm-checkout"
    (source / "vllm").mkdir(parents=True)
    (source / "vllm/__init__.py").write_text("")
    (site / "__editable___vllm_1_0_finder.py").write_text(finder_of_setuptools("vllm", source / "vllm"))
    (site / "__editable__.vllm-1.0.pth").write_text(
        "import __editable___vllm_1_0_finder; __editable___vllm_1_0_finder.install()"
    )
    info = lay(site, "vllm", "1.0")
    (info / "direct_url.json").write_text(json.dumps({"dir_info": {"editable": True}, "url": source.as_uri()}))
    run = tmp_path / "run"
    (run / "vllm").mkdir(parents=True)
    show = (
        "import importlib.util; s = importlib.util.find_spec('vllm');"
        "print(s.origin or list(s.submodule_search_locations)[0])"
    )
    for folder, expected in ((tmp_path, source / "vllm"), (run, run / "vllm")):
        start = script(folder / "show.py", show)
        said = subprocess.run([python, start], env={}, capture_output=True, check=True, text=True).stdout.strip()
        assert said.removesuffix("/__init__.py") == str(expected)
        answer = ask(str(python), str(folder))
        assert answer["modules"]["vllm"] == str(expected)
        assert ("vllm" in answer["namespaces"]) == (folder == run)
    assert by_name(answer)["vllm"]["editable"] == str(source)


def test_setup_py_develop(tmp_path):
    """The old development install: an .egg-link and an egg-info in the source folder."""
    python = interpreter("3.9")
    site = venv(tmp_path / "env", python=python, pip=True)
    source = tmp_path / "deepspeed src"
    source.mkdir()
    (source / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='deepspeed', version='0.16.5', py_modules=['deepspeed'],"
        " install_requires=['torch>=2', 'ninja; sys_platform == \"linux\"'], extras_require={'dev': ['pytest']})"
    )
    (source / "deepspeed.py").write_text("")
    subprocess.run(
        [tmp_path / "env/bin/python", "setup.py", "-q", "develop", "--no-deps"],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    answer = ask(str(tmp_path / "env/bin/python"))
    found = by_name(answer)["deepspeed"]
    assert (found["version"], found["editable"], found["folder"]) == ("0.16.5", str(source), str(source))
    assert "torch>=2" in found["requires"]
    assert any("ninja" in each and "linux" in each for each in found["requires"])
    assert any(each.startswith("pytest") and 'extra == "dev"' in each for each in found["requires"])
    for path in source.iterdir():
        path.rename(source.parent / path.name)
    source.rmdir()
    lost = by_name(ask(str(tmp_path / "env/bin/python")))["deepspeed"]
    assert lost["version"] is None
    assert lost["broken"] == f"deepspeed.egg-link points to `{source}`, which does not exist"
    assert (site / "deepspeed.egg-link").exists()


def broken_cases(site: Path) -> dict[str, str | None]:
    """Lay every kind of broken metadata; distribution -> reason."""
    lay(site, "empty", "1.0").joinpath("METADATA").write_text("")
    lay(site, "zeros", "1.0").joinpath("METADATA").write_bytes(b"\0" * 4096)
    lay(site, "gone", "1.0").joinpath("METADATA").unlink()
    lay(site, "versionless", "1.0").joinpath("METADATA").write_text("Name: versionless\n\nText")
    lay(site, "junk", "1.0").joinpath("METADATA").write_bytes(bytes(range(256)) * 100)
    lay(site, "cut", "1.0").joinpath("RECORD").unlink()
    debian = lay(site, "debian", "1.0")
    debian.joinpath("RECORD").unlink()
    debian.joinpath("INSTALLER").write_text("debian\n")
    latin = "Name: latin\nAuthor: Jürgen\nVersion: 1.0\n".encode("latin-1")
    lay(site, "latin", "1.0").joinpath("METADATA").write_bytes(latin)
    loop = lay(site, "loop", "1.0")
    loop.joinpath("METADATA").unlink()
    loop.joinpath("METADATA").symlink_to("METADATA")
    pipe = lay(site, "pipe", "1.0")
    pipe.joinpath("METADATA").unlink()
    os.mkfifo(pipe / "METADATA")
    (site / "round").symlink_to("round")
    return {
        "empty": "METADATA is empty",
        "zeros": "METADATA is empty",
        "gone": "METADATA is missing",
        "versionless": "METADATA states no version",
        "junk": "METADATA names no distribution",
        "cut": "RECORD is missing: the installation was cut short",
        "debian": None,
        "latin": None,
        "loop": f"METADATA cannot be read ({os.strerror(40)})",
        "pipe": "METADATA is not a regular file",
    }


def test_broken_metadata_is_named(tmp_path):
    site = tmp_path / "lib/site-packages"
    expected = broken_cases(site)
    (site / "~orch-2.1.0.dist-info").mkdir()
    (site / "~orch").mkdir()
    answer = ask(interpreter("3.12"), PYTHONPATH=str(site), HOME="/nowhere")
    found = {each["name"]: each["broken"] for each in answer["distributions"]}
    assert {name: found[name] for name in expected} == expected
    assert by_name(answer)["latin"]["version"] == "1.0"
    assert answer["leftovers"] == [str(site / "~orch"), str(site / "~orch-2.1.0.dist-info")]
    assert not any("orch" in each["name"] for each in answer["distributions"])


def test_a_huge_metadata_costs_nothing(tmp_path):
    info = lay(tmp_path, "huge", "1.0")
    with (info / "METADATA").open("wb") as file:
        file.write(b"Name: huge\nVersion: 1.0\nLicense: ")
        file.truncate(100 << 20)
    started = time.process_time()
    data = probe.read_file(str(info / "METADATA"), probe.HEADER_BYTES, header=True)
    assert data is not None
    assert len(data) == probe.HEADER_BYTES
    assert time.process_time() - started < 2
    assert probe.dist_info(str(tmp_path), info.name)["version"] == "1.0"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read(tmp_path):
    info = lay(tmp_path / "closed", "trl", "1.0")
    info.parent.chmod(0o000)
    try:
        answer = ask(interpreter("3.12"), PYTHONPATH=str(info.parent))
    finally:
        info.parent.chmod(0o755)
    assert "trl" not in by_name(answer)


def test_a_thousand_distributions(tmp_path):
    site = venv(tmp_path / "env")
    for number in range(1000):
        lay(site, f"package-{number}", f"1.{number}", *(f"package-{each}>=1" for each in range(20)))
    packages = facts(Context(python=str(tmp_path / "env")))["packages"].value
    assert isinstance(packages, Packages)
    assert len(packages.distributions) == 1000
    assert packages.version("package-999") == "1.999"
    assert len(packages.distributions["package-7"].requires) == 20


def test_eggs_and_old_metadata(tmp_path):
    """An egg folder of `setup.py install` (flash-attn is still installed so) and a distutils .egg-info file."""
    egg = tmp_path / "flash_attn-2.5.8-py3.12-linux-x86_64.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO/PKG-INFO").write_text("Metadata-Version: 2.1\nName: flash_attn\nVersion: 2.5.8\n")
    (egg / "EGG-INFO/requires.txt").write_text("torch\neinops\n\n[dev]\npytest\n\n[:python_version < '3.9']\nninja\n")
    (tmp_path / "PyGObject-3.42.2.egg-info").write_text("Metadata-Version: 1.1\nName: PyGObject\nVersion: 3.42.2\n")
    answer = ask(interpreter("3.12"), PYTHONPATH=f"{egg}:{tmp_path}")
    found = by_name(answer)
    assert found["flash_attn"]["version"] == "2.5.8"
    assert found["flash_attn"]["requires"] == [
        "torch", "einops", 'pytest; extra == "dev"', "ninja; python_version < '3.9'",
    ]  # fmt: skip
    assert found["PyGObject"]["version"] == "3.42.2"


def test_the_own_interpreter_answers_without_a_child(tmp_path, monkeypatch):
    """In-process, what this process had added to its path is taken out again: the answer equals a child's."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(Path(sys.argv[0]).parent), str(tmp_path), *sys.path])
    request = {"first": None, "cwd": "/", "environ": {"HOME": str(tmp_path)}, "own": True}
    own = probe.report(request)
    child = ask(sys.executable, HOME=str(tmp_path))
    kept = [each for each in own["searched"] if each in child["searched"]]
    assert kept == child["searched"]
    assert str(tmp_path) not in own["searched"]
    assert own["version"] == child["version"]
    versions = {each["name"]: each["version"] for each in own["distributions"]}
    assert versions["pytest"] == by_name(child)["pytest"]["version"]


def test_the_probe_looks_for_what_the_checks_ask() -> None:
    from doctor.data.stack import LOOKED_FOR
    from doctor.readers.patient.probe import MODULES

    assert MODULES == LOOKED_FOR
