from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import doctor
from doctor.base.fact import Context
from doctor.facts.interpreter import Interpreter
from tests.facts.environments import facts, interpreter, lay, pip_install, script, venv, wheel

pytestmark = pytest.mark.process

STRANGE = "mit Leerzeichen und Ümläuten 中文"


def chosen(context: Context) -> Interpreter:
    state = facts(context, "interpreter")["interpreter"]
    assert state.status == "ok", state.reason
    return state.value


def refused(context: Context) -> str:
    state = facts(context, "interpreter", "packages")["interpreter"]
    assert state.status == "unavailable", state.value
    return state.reason


def launched(command: str, folder: Path, **environ: str) -> Context:
    return Context(argv=tuple(command.split()), cwd=folder, environ=environ)


# --python ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.9", "3.12"])
def test_another_interpreter_by_its_file(version):
    python = interpreter(version)
    found = chosen(Context(python=python))
    assert found.executable == python
    assert found.version_info == tuple(int(part) for part in version.split("."))
    assert found.chosen_because == "--python"
    assert found.environment_kind == "system"
    assert not found.is_own


@pytest.mark.parametrize("name", ["env", STRANGE])
def test_a_venv_by_its_folder(name, tmp_path):
    site = venv(tmp_path / name)
    lay(site, "trl", "1.16.0", files={"trl/__init__.py": ""})
    for typed in (str(tmp_path / name), f"{name}/", str(tmp_path / name / "bin/python")):
        states = facts(Context(python=typed, cwd=tmp_path))
        found = states["interpreter"].value
        assert found.environment_kind == "venv"
        assert found.prefix == str(tmp_path / name)
        assert found.base_prefix != found.prefix
        assert states["packages"].value.modules["trl"] == str(site / "trl")


def test_a_strange_path_in_a_c_locale(tmp_path):
    """Python 3.6 without a locale takes paths for ASCII; the answer must be printable all the same."""
    site = venv(tmp_path / STRANGE, python=interpreter("3.6"))
    lay(site, "trl", "0.11.4")
    packages = facts(Context(python=str(tmp_path / STRANGE), environ={"LC_ALL": "C"}))["packages"].value
    assert packages.distributions["trl"].location == str(site)
    packages.distributions["trl"].location.encode()


def test_a_conda_prefix(tmp_path):
    """What makes a prefix conda's is its folder of package records."""
    venv(tmp_path / "conda")
    (tmp_path / "conda/conda-meta").mkdir()
    for name in ("cuda-cudart-12.4.127-0.json", "libcublas-12.4.5.8-0.json", "history"):
        (tmp_path / "conda/conda-meta" / name).write_text("{}")
    states = facts(Context(python=str(tmp_path / "conda")))
    assert states["interpreter"].value.environment_kind == "conda"
    assert states["packages"].value.conda == {"cuda-cudart": "12.4.127", "libcublas": "12.4.5.8"}


def test_what_is_no_interpreter_is_not_started(tmp_path):
    script(tmp_path / "train.sh", f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    assert refused(Context(python="train.sh", cwd=tmp_path)) == (
        f"`{tmp_path / 'train.sh'}` is not a Python interpreter: its name does not say so, and it was not started"
    )
    assert not (tmp_path / "ran").exists()


def test_reasons_for_what_cannot_be_asked(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "windows").mkdir()
    script(tmp_path / "windows/python3.11", "MZ\0\0not for this machine")
    cases = {
        "./missing/python": "`./missing/python` does not exist",
        "python9.9": "`python9.9` is not on PATH",
        "empty": "`empty` is a folder without bin/python",
        "./link": "`./link` is a link to `nowhere`, which does not exist",
        "./loop": "`./loop` is a link to `loop`, which does not exist",
        "./python": f"`{tmp_path / 'python'}` is not executable",
        "windows/python3.11": f"`{tmp_path / 'windows/python3.11'}` cannot be started: {os.strerror(8)}",
    }
    for typed, reason in cases.items():
        assert refused(Context(python=typed, cwd=tmp_path)) == reason


def test_an_interpreter_that_hangs_is_killed_with_its_children(tmp_path):
    script(tmp_path / "python", f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path / 'pid'}\nwait\n")
    started = time.monotonic()
    assert refused(Context(python=str(tmp_path / "python"))) == f"`{tmp_path / 'python'}` did not answer within 3 s"
    assert time.monotonic() - started < 10
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the sleeping grandchild lives on")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\nkill -SEGV $$\n", "was killed by SIGSEGV"),
        ("#!/bin/sh\necho 'Fatal: no module named encodings' >&2\nexit 3\n",
         "ended with exit status 3: Fatal: no module named encodings"),
        ("#!/bin/sh\necho token=hf_abcdefghijklmnopqrstuvwxyz >&2\nexit 1\n", "ended with exit status 1: token=hf_***"),
        ("#!/bin/sh\necho hello\n", "answered with something other than the probe's report"),
        ("#!/bin/sh\necho 'doctor-probe:{broken'\n", "answered with something other than the probe's report"),
        ("#!/bin/sh\necho\necho 'doctor-probe:[1]'\n", "answered with something other than the probe's report"),
    ],
)  # fmt: skip
def test_an_interpreter_that_fails(text, reason, tmp_path):
    script(tmp_path / "python3", text)
    assert refused(Context(python=str(tmp_path / "python3"))) == f"`{tmp_path / 'python3'}` {reason}"


def test_an_interpreter_that_never_stops_talking(tmp_path):
    script(tmp_path / "python3", "#!/bin/sh\nexec yes\n")
    reason = refused(Context(python=str(tmp_path / "python3")))
    assert reason == f"`{tmp_path / 'python3'}` is not a Python interpreter: it answers without end"


def test_a_pth_file_that_prints_does_not_disturb(tmp_path):
    site = venv(tmp_path / "env")
    (site / "noise.pth").write_text("import sys; print('hello'); sys.stderr.write('careful')\n")
    assert chosen(Context(python=str(tmp_path / "env"))).environment_kind == "venv"


# With a launch command ----------------------------------------------------------------------------------------


def test_the_launcher_that_pip_wrote(tmp_path):
    """Real pip, real console script: in a long path with spaces it begins as sh and replaces itself."""
    packed = wheel(tmp_path, "accelerate", "1.0", {"acc.py": "def main(): pass\n"}, "accelerate=acc:main")
    for name, mark in (("env", "#!/"), (f"{STRANGE} {'x' * 130}", "'''exec'")):
        venv(tmp_path / name)
        pip_install(tmp_path / name / "bin/python", packed)
        assert mark in (tmp_path / name / "bin/accelerate").read_text()
        found = chosen(launched("accelerate launch train.py", tmp_path, PATH=f"{tmp_path / name / 'bin'}:/bin"))
        assert found.prefix == str(tmp_path / name)
        assert found.chosen_because == "`accelerate` on PATH runs it"


@pytest.fixture
def two(tmp_path) -> Path:
    """Two environments: `train` has the launchers, `other` is active."""
    for name in ("train", "other"):
        venv(tmp_path / name)
    for name in ("accelerate", "torchrun", "deepspeed", "trl", "vllm", "ray"):
        script(tmp_path / "train/bin" / name, f"#!{tmp_path / 'train/bin/python3'}\nimport sys\n")
    return tmp_path


COMMANDS = (
    "accelerate launch train.py", "torchrun --nproc_per_node 2 train.py", "deepspeed train.py",
    "trl grpo --config x.yaml", "vllm serve model", "nohup accelerate launch train.py",
    "python train.py", "python -m accelerate.commands.launch train.py", "env A=1 python3 train.py",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_interpreter_that_the_command_would_start(command, two):
    path = f"{two / 'train/bin'}:{two / 'other/bin'}:/usr/bin:/bin"
    found = chosen(launched(command, two, PATH=path, VIRTUAL_ENV=str(two / "other")))
    assert found.prefix == str(two / "train")


def test_assignments_and_paths_in_the_command(two):
    other = f"{two / 'other/bin'}:/bin"
    for command in (
        f"PATH={two / 'train/bin'} accelerate launch train.py",
        f"PATH={two / 'train/bin'}:$PATH accelerate launch train.py",
        f"{two / 'train/bin/accelerate'} launch train.py",
        "./train/bin/python train.py",
        f"PYTHON_EXEC={two / 'train/bin/python'} torchrun train.py",
    ):
        environ = {"PATH": other, "VIRTUAL_ENV": str(two / "other")}
        if "PYTHON_EXEC" in command:
            script(two / "other/bin/torchrun", f"#!{two / 'other/bin/python'}\n")
        assert chosen(launched(command, two, **environ)).prefix == str(two / "train")


def test_first_on_the_path_of_the_training(two):
    (two / "code").mkdir()
    (two / "code/train.py").write_text("")
    (two / "linked.py").symlink_to("code/train.py")
    (two / "vllm").mkdir()
    (two / "vllm/__init__.py").write_text("")
    environ = {"PATH": f"{two / 'train/bin'}:/bin"}
    cases = {
        "accelerate launch code/train.py": str(two / "code"),
        "python linked.py": str(two / "code"),
        "accelerate launch -m pkg.train": str(two),
        "python -m verl.trainer.main_ppo a=1": str(two),
        "trl grpo --config x.yaml": None,
    }
    for command, first in cases.items():
        states = facts(launched(command, two, **environ))
        assert states["interpreter"].value.first_on_path == first
        expected = str(two / "vllm") if first == str(two) else None
        assert states["packages"].value.modules["vllm"] == expected
    safe = launched("python -m verl.trainer.main_ppo a=1", two, PYTHONSAFEPATH="1", **environ)
    assert chosen(safe).first_on_path is None


def test_a_launcher_that_path_lacks(two):
    context = launched("accelerate launch train.py", two, PATH="/bin", VIRTUAL_ENV=str(two / "other"))
    found = chosen(context)
    assert found.prefix == str(two / "other")
    assert found.chosen_because == "active venv, for `accelerate` is not on PATH"


def test_a_launcher_whose_environment_is_gone(two):
    (two / "train/bin/python3").unlink()
    (two / "train/bin/python").unlink()
    reason = refused(launched("accelerate launch train.py", two, PATH=str(two / "train/bin")))
    assert reason == f"`{two / 'train/bin/accelerate'}` starts `{two / 'train/bin/python3'}`, which does not exist"


@pytest.mark.parametrize("first", ["#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"])
def test_env_in_the_first_line(first, two):
    script(two / "bin/accelerate", f"{first}\n")
    found = chosen(launched("accelerate launch t.py", two, PATH=f"{two / 'bin'}:{two / 'other/bin'}"))
    assert found.prefix == str(two / "other")
    reason = refused(launched("accelerate launch t.py", two, PATH=str(two / "bin")))
    assert "its first line names `python3`, which PATH does not have" in reason


def test_a_launcher_that_is_no_python_script(two):
    script(two / "bin/accelerate", "#!/bin/bash\nexec something\n")
    reason = refused(launched("accelerate launch t.py", two, PATH=str(two / "bin")))
    assert reason == f"`{two / 'bin/accelerate'}` is not a Python script; name the interpreter with --python"


# pyenv, uv, conda ----------------------------------------------------------------------------------------------

SHIM = """#!/usr/bin/env bash
set -e
program="${{0##*/}}"
export PYENV_ROOT="{root}"
exec "{root}/libexec/pyenv" exec "$program" "$@"
"""


@pytest.fixture
def pyenv(tmp_path) -> Path:
    """A pyenv root with two versions; only one has accelerate."""
    root = tmp_path / "pyenv"
    for name in ("3.10.2", "3.10.14", "3.12.1"):
        venv(root / "versions" / name)
    script(root / "versions/3.10.14/bin/accelerate", f"#!{root}/versions/3.10.14/bin/python\n")
    for name in ("python", "accelerate"):
        script(root / "shims" / name, SHIM.format(root=root))
    (root / "version").write_text("3.12.1\n")
    return root


def test_pyenv_shims(pyenv, tmp_path):
    work = tmp_path / "work/deep"
    work.mkdir(parents=True)
    path = f"{pyenv / 'shims'}:/bin"
    assert chosen(launched("python t.py", work, PATH=path)).prefix == str(pyenv / "versions/3.12.1")
    named = chosen(launched("python t.py", work, PATH=path, PYENV_VERSION="3.10.2"))
    assert named.prefix == str(pyenv / "versions/3.10.2")
    reason = refused(launched("accelerate launch t.py", work, PATH=path))
    assert reason == (
        "the interpreter of `accelerate` cannot be determined: "
        f"pyenv has no `accelerate` for 3.12.1 ({pyenv / 'version'})"
    )
    (tmp_path / "work/.python-version").write_text("# ours\n3.10\n")  # the newest 3.10
    found = chosen(launched("accelerate launch t.py", work, PATH=path))
    assert found.prefix == str(pyenv / "versions/3.10.14")
    assert chosen(Context(python="python", cwd=work, environ={"PATH": path})).prefix == found.prefix
    (pyenv / "version").unlink()
    (tmp_path / "work/.python-version").unlink()
    venv(tmp_path / "system")
    outside = chosen(launched("python t.py", work, PATH=f"{path}:{tmp_path / 'system/bin'}"))
    assert outside.prefix == str(tmp_path / "system")


def test_other_shims_are_not_guessed(tmp_path):
    script(tmp_path / "python", '#!/usr/bin/env bash\nexec asdf exec "python" "$@"\n')
    reason = refused(launched("python t.py", tmp_path, PATH=str(tmp_path)))
    assert "is a shim that chooses when it runs" in reason


def test_uv_run(two):
    project = two / "project"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").write_text("[project]\nname='x'\n")
    environ = {"PATH": f"{two / 'other/bin'}:/bin", "VIRTUAL_ENV": str(two / "other")}
    missing = refused(launched("uv run accelerate launch t.py", project / "src", **environ))
    assert f"`{project / '.venv'}` does not exist yet" in missing
    venv(project / ".venv")
    for command in ("uv run python t.py", "uv run t.py"):
        assert chosen(launched(command, project / "src", **environ)).prefix == str(project / ".venv")
    elsewhere = chosen(launched("uv run --project ../../project python t.py", two / "other/bin", **environ))
    assert elsewhere.prefix == str(project / ".venv")
    assert chosen(launched("uv run --active python t.py", project, **environ)).prefix == str(two / "other")
    assert chosen(launched("uv run python t.py", two, **environ)).prefix == str(two / "other")
    reason = refused(launched("uv run --isolated python t.py", project, **environ))
    assert "makes its environment when it starts" in reason


def test_conda_run(two):
    shutil.copytree(two / "train", two / "conda/envs/grpo", symlinks=True)
    (two / "conda/envs/grpo/conda-meta").mkdir()
    environ = {"PATH": f"{two / 'other/bin'}:/bin", "CONDA_EXE": str(two / "conda/bin/conda")}
    named = chosen(launched("conda run -n grpo python t.py", two, **environ))
    assert named.executable == str(two / "conda/envs/grpo/bin/python")
    placed = chosen(launched(f"conda run -p {two / 'train'} python t.py", two, **environ))
    assert placed.prefix == str(two / "train")
    reason = refused(launched("conda run -n nope python t.py", two, **environ))
    assert "conda environment `nope` was not found" in reason


def test_poetry_is_not_guessed(two):
    reason = refused(launched("poetry run python t.py", two, PATH=f"{two / 'train/bin'}:/bin"))
    assert reason == "`poetry run` chooses the interpreter when it runs; name the interpreter with --python"


# Without a command ----------------------------------------------------------------------------------------------


def test_the_active_environment(two):
    train, other = str(two / "train"), str(two / "other")
    assert chosen(Context(environ={"VIRTUAL_ENV": train})).prefix == train
    conda = chosen(Context(environ={"CONDA_PREFIX": train}))
    assert (conda.prefix, conda.chosen_because) == (train, "active conda environment")
    both = {"VIRTUAL_ENV": train, "CONDA_PREFIX": other}
    assert chosen(Context(environ=both)).prefix == train
    assert chosen(Context(environ={**both, "PATH": f"{other}/bin:{train}/bin"})).prefix == other
    assert chosen(Context(environ={**both, "PATH": f"{train}/bin:{other}/bin"})).prefix == train
    assert chosen(Context(environ={"VIRTUAL_ENV": str(two / "deleted")}, cwd=two)).is_own


@pytest.mark.parametrize(("folder", "below"), [(".venv", ""), ("venv", ""), (".venv", "src/deep")])
def test_the_environment_of_the_project_although_it_is_not_active(two, folder, below):
    venv(two / "project" / folder)
    (two / "project" / "pyproject.toml").write_text("")
    cwd = two / "project" / below
    cwd.mkdir(parents=True, exist_ok=True)
    found = chosen(Context(environ={"PATH": os.defpath}, cwd=cwd))
    assert found.prefix == str(two / "project" / folder)
    assert found.chosen_because == f"the environment `{folder}` of this project, which is not active"
    active = chosen(Context(environ={"VIRTUAL_ENV": str(two / "train")}, cwd=cwd))
    assert active.prefix == str(two / "train")


def test_a_folder_that_is_called_so_is_no_environment(two):
    (two / "project" / "env" / "bin").mkdir(parents=True)
    (two / "project" / "env" / "bin" / "python").write_text("")
    assert chosen(Context(environ={"PATH": os.defpath}, cwd=two / "project")).is_own


def test_the_own_interpreter_is_the_last_resort(tmp_path):
    found = chosen(Context(environ={"PATH": os.defpath}, cwd=tmp_path))
    assert found.is_own
    assert found.executable == sys.executable
    assert found.version == ".".join(str(part) for part in sys.version_info[:3])
    assert found.chosen_because == "the doctor's own"
    assert chosen(Context(environ={"VIRTUAL_ENV": sys.prefix}, cwd=tmp_path)).is_own == (sys.prefix != sys.base_prefix)


@pytest.mark.parametrize("mark", ["uv-receipt.toml", "pipx_metadata.json", None])
def test_an_environment_of_the_doctor_alone_is_not_judged(mark, two):
    """`uvx grpo-doctor check` and pipx: PATH's python is judged, or the active venv, never the tool's own."""
    home = two / "cache/uv/archive-v0/abc" if mark is None else two / "tools/grpo-doctor"
    site = venv(home)
    if mark:
        (home / mark).write_text("")
    (site / "doctor.pth").write_text(str(Path(doctor.__path__[0]).parent))
    asking = (
        "import os; from doctor.base.fact import Context; from doctor.readers.patient.target import collect;"
        "t = collect(Context(environ=dict(os.environ)), None); print(t.executable, '|', t.chosen_because)"
    )
    tool = f"{home}/bin"
    for environ, expected in (
        ({"PATH": f"{tool}:{two / 'train/bin'}"}, f"{two / 'train/bin/python'} | `python` on PATH, because the doctor"),
        ({"PATH": tool, "VIRTUAL_ENV": str(two / "other")}, f"{two / 'other/bin/python'} | active venv"),
        ({"PATH": tool}, f"{home}/bin/python | the doctor's own"),
    ):
        said = subprocess.run(
            [f"{home}/bin/python", "-c", asking], env=environ, capture_output=True, text=True, check=True, cwd=two
        )
        assert said.stdout.startswith(expected)
