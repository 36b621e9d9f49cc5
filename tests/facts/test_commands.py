from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.checks.launch.commands.launcher_not_found import LOOKED_UP
from doctor.facts.commands import Command, Commands
from tests.facts.environments import facts, script, venv


def commands(folder: Path, command: str = "", **environ: str) -> Commands:
    context = Context(argv=tuple(command.split()), cwd=folder, environ=environ)
    return facts(context, "commands")["commands"].value


@pytest.mark.process
def test_each_launcher_has_its_own_interpreter(tmp_path):
    venv(tmp_path / "env")
    python = str(tmp_path / "env/bin/python")
    script(tmp_path / "env/bin/torchrun", f"#!{python}\n")
    script(tmp_path / "bin/accelerate", "#!/usr/bin/python3.9\n")
    script(tmp_path / "bin/torchrun", "#!/usr/bin/python3.9\n")
    script(tmp_path / "bin/deepspeed", "#!/usr/bin/env python\n")
    script(tmp_path / "bin/ray", "#!/bin/bash\n")
    (tmp_path / "bin/trl").write_text("#!/usr/bin/python3\n")  # not executable
    (tmp_path / "bin/vllm").mkdir()
    found = commands(tmp_path, PATH=f"{tmp_path / 'env/bin'}:{tmp_path / 'bin'}").found
    folder = str((tmp_path / "env/bin").resolve())
    assert found["python"] == Command("python", python, python, folder=folder)
    assert found["torchrun"] == Command("torchrun", str(tmp_path / "env/bin/torchrun"), python, folder=folder)
    assert found["deepspeed"].interpreter == python
    assert found["accelerate"].interpreter == "/usr/bin/python3.9"
    gone = None if Path("/usr/bin/python3.9").exists() else "`/usr/bin/python3.9` does not exist"
    assert found["accelerate"].problem == gone
    assert found["ray"] == Command("ray", str(tmp_path / "bin/ray"), None)
    assert not {"trl", "vllm", "trinity"} & found.keys()


@pytest.mark.process
def test_the_command_brings_its_own_path(tmp_path):
    venv(tmp_path / "env")
    script(tmp_path / "env/bin/vllm", f"#!{sys.executable}\n")
    assert "vllm" not in commands(tmp_path, PATH="/nowhere").found
    found = commands(tmp_path, f"PATH={tmp_path / 'env/bin'} vllm serve x", PATH="/nowhere").found
    assert found["vllm"].interpreter == sys.executable


@pytest.mark.process
def test_a_home_that_is_a_link_is_one_folder(tmp_path):
    venv(tmp_path / "data/env")
    (tmp_path / "home").symlink_to("data")
    script(tmp_path / "data/env/bin/accelerate", f"#!{tmp_path / 'data/env/bin/python'}\n")
    found = commands(tmp_path, PATH=str(tmp_path / "home/env/bin")).found
    assert found["accelerate"].interpreter != found["python"].interpreter
    assert found["accelerate"].folder == found["python"].folder == str((tmp_path / "data/env/bin").resolve())


def test_relative_and_empty_entries_of_path(tmp_path):
    script(tmp_path / "trl", f"#!{sys.executable}\n")
    script(tmp_path / "tools/ray", f"#!{sys.executable}\n")
    found = commands(tmp_path, PATH=":tools").found
    assert found["trl"].path == str(tmp_path / "trl")
    assert found["ray"].path == str(tmp_path / "tools/ray")


def test_env_that_finds_nothing(tmp_path):
    script(tmp_path / "accelerate", "#!/usr/bin/env python3\n")
    found = commands(tmp_path, PATH=str(tmp_path)).found["accelerate"]
    assert found.interpreter is None
    assert found.problem == "its first line names `python3`, which PATH does not have"


@pytest.mark.process
def test_uv_writes_launchers_that_find_python_beside_them(tmp_path):
    """`uv venv --relocatable` and uv's usual form."""
    venv(tmp_path / "env")
    beside = """#!/bin/sh\n'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"\n' '''\n"""
    usual = f"#!/bin/sh\n'''exec' '{tmp_path}/env/bin/python' \"$0\" \"$@\"\n' '''\n"
    script(tmp_path / "env/bin/trl", beside)
    script(tmp_path / "env/bin/vllm", usual)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/trl").symlink_to("../env/bin/trl")
    found = commands(tmp_path, PATH=f"{tmp_path / 'bin'}:{tmp_path / 'env/bin'}").found
    assert found["trl"].interpreter == str(tmp_path / "env/bin/python")
    assert found["vllm"].interpreter == str(tmp_path / "env/bin/python")


def test_files_that_are_no_scripts(tmp_path):
    script(tmp_path / "accelerate", "").write_bytes(b"\x7fELF" + bytes(range(256)))
    script(tmp_path / "trl", "#!")
    script(tmp_path / "ray", '#!/bin/sh\n\'\'\'exec\' "unclosed "$0" "$@"\n')
    script(tmp_path / "vllm", "").write_bytes("#!/usr/bin/pythön\n".encode("latin-1"))
    found = commands(tmp_path, PATH=str(tmp_path)).found
    assert [found[name].interpreter for name in ("accelerate", "trl", "ray", "vllm")] == [None] * 4


@pytest.mark.parametrize("name", sorted({each.split()[0] for each in LOOKED_UP}))
def test_each_launcher_that_can_be_missed_is_looked_for(tmp_path: Path, name: str) -> None:
    script(tmp_path / "bin" / name, "#!/bin/sh\n")
    assert name in commands(tmp_path, PATH=str(tmp_path / "bin")).found
