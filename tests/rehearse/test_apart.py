"""Writes of a rehearsal go to an overlay; where there is none, what was there is refused to those who change it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from doctor.monitors.rehearse.settings import VARIABLE, PassSettings
from doctor.rehearse import enter
from doctor.rehearse.apart import Apart, apart

pytestmark = pytest.mark.process

#: what a script does that is careless about what lies there
CHANGES = """
import os, pathlib, shutil, sys
root = pathlib.Path(sys.argv[1])
for change in (
    lambda: (root / "kept.txt").write_text("other"),
    lambda: (root / "gone.txt").unlink(),
    lambda: os.rename(root / "moved.txt", root / "elsewhere.txt"),
    lambda: shutil.rmtree(root / "folder"),
    lambda: os.truncate(root / "cut.txt", 1),
    lambda: open(root / "more.txt", "a").write("more"),
    lambda: (root / "new.txt").write_text("new"),
    lambda: os.replace(root / "new.txt", root / "over.txt"),
):
    try:
        change()
        print("done")
    except OSError as error:
        print(type(error).__name__)
print((root / "kept.txt").read_text())
"""


def filled(folder: Path) -> Path:
    """A folder of the user's."""
    (folder / "folder").mkdir(parents=True)
    for name in ("kept", "gone", "moved", "cut", "more", "over", "folder/inner"):
        (folder / f"{name}.txt").write_text("mine\n")
    return folder


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder with what it holds and when it was changed."""
    return {
        str(each.relative_to(folder)): f"{hashlib.sha256(each.read_bytes()).hexdigest()} {each.stat().st_mtime_ns}"
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


@pytest.fixture
def held(tmp_path: Path) -> Apart:
    root = tmp_path / "stage"
    root.mkdir()
    made = apart(root)
    if not made.held:
        pytest.skip(f"no overlay here: {made.why}")
    return made


def test_an_overlay_holds_every_write_and_shows_it_to_the_command(tmp_path: Path, held: Apart) -> None:
    folder = filled(tmp_path / "mine")
    before = tree(folder)
    words = held.around([sys.executable, "-c", CHANGES, str(folder)], tmp_path)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["done"] * 8 + ["other"]
    assert tree(folder) == before
    held.clear()
    assert not held.layers or not held.layers.exists()


def test_a_user_without_privileges_is_held_as_well(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("the other tests are run by such a user")
    with tempfile.TemporaryDirectory() as base:  # a folder of theirs: others may not enter pytest's
        home = Path(base)
        program = home / "enter.py"
        shutil.copyfile(enter.__file__, program)
        folder = filled(home / "mine")
        for name in ("stage", "layers"):
            (home / name).mkdir()
        for each in (home, *home.rglob("*")):
            os.chown(each, 65534, 65534)
        before = tree(folder)
        specification = {"root": str(home / "stage"), "layers": str(home / "layers"), "cwd": str(home)}
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
        if python is None:
            pytest.skip("no Python that everybody may start")
        done = subprocess.run(
            [python, "-I", str(program), json.dumps(specification), "--", python, "-c", CHANGES, str(folder)],
            capture_output=True, text=True, check=False, user=65534, group=65534, extra_groups=[],
        )  # fmt: skip
        if done.returncode and any(each in done.stderr for each in ("Operation not permitted", "Permission denied")):
            pytest.skip(f"no user namespaces here: {done.stderr[-200:]}")
        assert done.stdout.split() == ["done"] * 8 + ["other"], done.stderr
        assert tree(folder) == before
        assert tmp_path.exists()


def test_the_stage_is_written_through(tmp_path: Path, held: Apart) -> None:
    words = held.around(["sh", "-c", f"echo through > {held.root}/told; pwd; id -u; exit 7"], tmp_path)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stdout.split() == [str(tmp_path), str(os.getuid())]
    assert (held.root / "told").read_text() == "through\n"


def test_a_command_that_is_not_there_has_a_shells_code(tmp_path: Path, held: Apart) -> None:
    done = subprocess.run(held.around(["no-such-program"], tmp_path), capture_output=True, check=False)
    assert done.returncode == 127


def test_two_at_a_time_have_layers_of_their_own(tmp_path: Path, held: Apart) -> None:
    other = held.beside()
    assert other.layers != held.layers
    sleeping = subprocess.Popen(held.around(["sleep", "20"], tmp_path))
    try:
        done = subprocess.run(other.around(["sh", "-c", f"echo x > {tmp_path}/x"], tmp_path), check=False)
        assert done.returncode == 0
        assert not (tmp_path / "x").exists()
    finally:
        sleeping.kill()
        sleeping.wait()


def test_without_an_overlay_what_was_there_is_refused_and_told(tmp_path: Path) -> None:
    folder = filled(tmp_path / "mine")
    time.sleep(0.05)
    stage = tmp_path / "stage"
    stage.mkdir()
    settings = tmp_path / "settings.json"
    settings.write_text(PassSettings(stage, time.time_ns()).as_json())
    before = tree(folder)
    begin = "from doctor.monitors.rehearse import attach; attach.begin()\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + CHANGES, str(folder)], capture_output=True, text=True, check=True,
        env={**os.environ, VARIABLE: str(settings)},
    )  # fmt: skip
    assert done.stdout.split() == ["RefusedError"] * 6 + ["done", "RefusedError", "mine"], done.stderr
    after = tree(folder)
    assert {name: each for name, each in after.items() if name != "new.txt"} == before
    told = [json.loads(line) for path in stage.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert {Path(each["path"]).name for each in told if each["kind"] == "refused"} >= {"kept.txt", "gone.txt"}


@pytest.mark.parametrize("offline", [True, False])
def test_addresses_beyond_this_machine_are_told_and_refused_offline(tmp_path: Path, *, offline: bool) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(PassSettings(tmp_path, time.time_ns(), offline=offline, held=True).as_json())
    program = """
from doctor.monitors.rehearse import attach; attach.begin()
import socket
for address in (("192.0.2.1", 9), ("127.0.0.1", 9)):
    with socket.socket() as one:
        one.settimeout(0.2)
        try:
            one.connect(address)
        except OSError as error:
            print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, VARIABLE: str(settings)},
    )  # fmt: skip
    first, second = done.stdout.split()
    assert (first == "OfflineError") is offline
    assert second == "ConnectionRefusedError"
    told = [json.loads(line) for path in tmp_path.rglob("*.jsonl") for line in path.read_text().splitlines()]
    (contacted,) = [each for each in told if each["kind"] == "contacted"]
    assert (contacted["host"], contacted["refused"]) == ("192.0.2.1", offline)
