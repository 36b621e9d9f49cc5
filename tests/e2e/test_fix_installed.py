"""`doctor fix` on an installed file: links, caches and checkouts are respected, and what cannot be is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.base.state import state_folder
from doctor.catalogue.plan import Plan, Safety, SetEnv
from doctor.mend import journal
from tests.fixes.test_api_server import SERVER
from tests.fixes.wheels import development_install, environment

from .environments import run_doctor

pytestmark = pytest.mark.process

LINE = "app.state.engine_client = engine"


@pytest.fixture
def installed(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """A function that makes an environment with vLLM 0.8.5's demo server; gives interpreter and file."""

    def make(kind: str) -> tuple[Path, Path]:
        python = environment(tmp_path / "my envs" / "one", {})
        site = next(python.parents[1].glob("lib/python*/site-packages"))
        if kind == "editable":
            source = tmp_path / "my checkouts" / "vllm"
            development_install(python, source, "vllm")
            for each in site.glob("vllm-0.1.dist-info"):
                metadata = each / "METADATA"
                metadata.write_text(metadata.read_text().replace("Version: 0.1", "Version: 0.8.5"))
            (site / "__editable__.vllm.pth").write_text(f"{source}\n")
            folder = source / "vllm"
        else:
            info = site / "vllm-0.8.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.8.5\n")
            (info / "RECORD").write_text("vllm/__init__.py,,\nvllm/entrypoints/api_server.py,,\n")
            folder = site / "vllm"
        file = folder / "entrypoints" / "api_server.py"
        file.parent.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "_version.py").touch()
        file.write_text(SERVER)
        return python, file

    return make


Installed = Callable[[str], tuple[Path, Path]]


def fix(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_doctor("fix", "VLL001", "--python", str(python), *arguments, cwd=folder)


@pytest.mark.parametrize("kind", ["venv", "symlinked venv", "conda", "editable"])
def test_mended_and_taken_back(installed: Installed, tmp_path: Path, kind: str) -> None:
    python, file = installed(kind)
    cached = tmp_path / "cached.py"
    if kind == "symlinked venv":
        (tmp_path / "link").symlink_to(python.parents[1])
        python = tmp_path / "link" / "bin" / "python"
    if kind == "conda":
        (python.parents[1] / "conda-meta").mkdir()
        os.link(file, cached)  # conda and uv link files to their package cache
    done = fix(python, tmp_path, "--apply", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert file.read_text() == SERVER.replace("    return app", f"    {LINE}\n    return app")
    if kind == "conda":
        assert cached.read_text() == SERVER
    assert not list(file.parent.glob("*.tmp"))
    assert fix(python, tmp_path, "--undo").returncode == 0
    assert file.read_text() == SERVER


def test_read_only_site_packages_are_refused(installed: Installed, tmp_path: Path) -> None:
    python, file = installed("venv")
    file.chmod(0o444)
    file.parent.chmod(0o555)
    if os.geteuid() != 0:
        done = fix(python, tmp_path, "--apply", "--yes")
        assert done.returncode == 2
        assert "cannot be written by this user" in done.stderr
    else:  # root may write anything; so another user asks
        program = (
            "import os, sys\nfrom pathlib import Path\nfrom doctor.mend import journal\n"
            "from doctor.catalogue.plan import Plan, Refused, Safety, edit\n"
            "from doctor.facts.interpreter import Interpreter\n"
            "from doctor.mend.environment.plan import refuse_unfit\n"
            "from doctor.fixes.vllm.serving.api_server_engine_client import missing_line\n"
            "os.setuid(65534)\nfile, site, prefix = sys.argv[1:]\n"
            "source = Path(file).read_bytes()\n"
            "try: journal.apply(Plan('VLL001', Safety.UNSAFE, (edit(file, missing_line(source, file)),)), Path('/'))\n"
            "except Refused as exc: print(exc)\n"
            "try: refuse_unfit(Interpreter('python', '3.11.7', environment_kind='venv', prefix=prefix, path=(site,)))\n"
            "except Refused as exc: print(exc)\n"
        )
        for each in (tmp_path, *tmp_path.parents):
            if str(each).startswith("/tmp/"):
                each.chmod(each.stat().st_mode | 0o055)
        site = file.parents[2]
        argv = [sys.executable, "-c", program, str(file), str(site), str(python.parents[1])]
        root = str(Path(journal.__file__).parents[2])
        env = {**os.environ, "PYTHONPATH": root, "XDG_STATE_HOME": str(tmp_path / "state")}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=env)
        assert done.stdout.count("cannot be written by this user") == 2, done.stdout + done.stderr
    assert file.read_text() == SERVER
    file.parent.chmod(0o755)


def test_two_doctors_at_once(installed: Installed, tmp_path: Path) -> None:
    python, file = installed("venv")
    with journal.locked():
        done = fix(python, tmp_path, "--apply", "--yes")
        shown = fix(python, tmp_path)
    assert done.returncode == 2
    assert "another `doctor fix` is running" in done.stderr
    assert shown.returncode == 0  # looking is free
    assert file.read_text() == SERVER


def test_a_missing_backup_is_told_and_nothing_changes(installed: Installed, tmp_path: Path) -> None:
    python, file = installed("venv")
    assert fix(python, tmp_path, "--apply", "--yes").returncode == 0
    (backup,) = state_folder(tmp_path).glob("journal/*/0.before")
    backup.unlink()
    undone = fix(python, tmp_path, "--undo")
    assert undone.returncode == 2
    assert "missing or damaged" in undone.stderr
    assert LINE in file.read_text()


def test_another_release_is_refused(installed: Installed, tmp_path: Path) -> None:
    python, file = installed("venv")
    file.write_text(SERVER.replace("init_app", "make_app"))
    done = fix(python, tmp_path, "--apply", "--yes")
    assert done.returncode == 2
    assert "is not the file that vLLM 0.8.5 ships" in done.stderr


def test_what_a_killed_doctor_left_is_taken_back_by_the_next(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("A=0\n")
    entry = journal.apply(Plan("NUM001", Safety.SAFE, (SetEnv(str(env), "A", "1"),)), tmp_path)
    entry.data["state"] = journal.BEGUN  # as a doctor leaves it that was killed before the last write
    entry.keep()
    listed = run_doctor("fix", cwd=tmp_path)
    assert "An earlier fix of NUM001 was interrupted" in listed.stderr
    assert env.read_text() == "A=0\n"
