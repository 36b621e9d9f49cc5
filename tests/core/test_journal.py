"""Plans applied to real files: undone byte for byte, also after a kill at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.plan import Edit as Bytes
from doctor.catalogue.plan import Plan, Refused, Run, Safety, SetEnv, contents, edit, rewrite
from doctor.mend import journal

Files = dict[str, tuple[bytes, int]]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "zero3.json").write_bytes(b'{"fp16": {"enabled": true}}\r\n')
    (folder / "train.py").write_text("lr = 1\n")
    (folder / "train.py").chmod(0o751)
    return folder


def plan(folder: Path, *more: Run) -> Plan:
    steps = (
        rewrite(str(folder / "zero3.json"), '{"bf16": {"enabled": true}}\r\n'),
        SetEnv(str(folder / ".env"), "NCCL_DEBUG", "WARN"),
        edit(str(folder / "train.py"), Bytes(5, 6, "2")),
        SetEnv(str(folder / ".env"), "B", "2"),
    )
    return Plan("NUM001", Safety.SAFE, (*steps, *more))


def files(folder: Path) -> Files:
    return {each.name: (each.read_bytes(), stat.S_IMODE(each.stat().st_mode)) for each in folder.iterdir()}


def test_apply_and_undo_restore_every_byte_and_mode(work: Path) -> None:
    before = files(work)
    entry = journal.apply(plan(work), work)
    after = files(work)
    assert after["train.py"] == (b"lr = 2\n", 0o751)
    assert after[".env"][0] == b"NCCL_DEBUG=WARN\nB=2\n"
    assert after["zero3.json"][0].endswith(b"\r\n")
    assert [(each.problem, each.state) for each in journal.entries(work)] == [("NUM001", "done")]
    journal.undo(entry)
    assert files(work) == before
    assert [each.state for each in journal.entries(work)] == ["undone"]


def killed_at(number: int, replaced: bool, act: Callable[[], Any]) -> int:
    """Wait status of a child that acts and is killed around its `number`-th durable write."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    counter = [0]
    original = Path.replace

    def replace(self: Path, target: Any) -> Path:
        counter[0] += 1
        if counter[0] == number and not replaced:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(self, target)
        if counter[0] == number and replaced:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    Path.replace = replace  # type: ignore[method-assign,assignment]
    try:
        act()
    finally:
        os._exit(0)


@pytest.mark.process
@pytest.mark.parametrize("replaced", [False, True])
def test_a_kill_at_any_moment_leaves_nothing_half_changed(work: Path, replaced: bool) -> None:
    before = files(work)
    for number in range(1, 99):
        status = killed_at(number, replaced, lambda: journal.apply(plan(work), work))
        if os.WIFEXITED(status):
            break
        journal.recover(work)
        for finished in [
            each for each in journal.entries(work) if each.state == "done"
        ]:  # killed behind the last write
            assert len(files(work)) == 3
            journal.undo(finished)
        assert files(work) == before, number
        assert all(each.state == "undone" for each in journal.entries(work))
    assert number > 10
    assert files(work) != before


@pytest.mark.process
@pytest.mark.parametrize("replaced", [False, True])
def test_a_kill_while_undoing_can_be_finished(work: Path, tmp_path: Path, replaced: bool) -> None:
    before = files(work)
    for number in range(1, 99):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        journal.apply(plan(work), work)
        status = killed_at(number, replaced, lambda: journal.undo(journal.entries(work)[-1]))
        if os.WIFEXITED(status):
            break
        if (entry := journal.entries(work)[-1]).state != "undone":
            journal.undo(entry)
        assert files(work) == before, number
        shutil.rmtree(journal.state_folder(work))
    assert number > 4
    assert files(work) == before


@pytest.mark.process
def test_a_failing_command_takes_the_files_back(work: Path) -> None:
    before = files(work)
    with pytest.raises(Refused, match="exit code 1"):
        journal.apply(plan(work, Run((sys.executable, "-c", "raise SystemExit(1)"))), work)
    assert files(work) == before
    assert [each.state for each in journal.entries(work)] == ["undone"]


@pytest.mark.process
def test_a_command_is_taken_back_by_its_own(work: Path, tmp_path: Path) -> None:
    sign = tmp_path / "installed"
    install = Run(("touch", str(sign)), ("rm", str(sign)))
    entry = journal.apply(plan(work, install), work)
    assert sign.exists()
    journal.undo(entry)
    assert not sign.exists()


@pytest.mark.process
def test_what_cannot_be_taken_back_is_said_before_anything_is(work: Path) -> None:
    entry = journal.apply(plan(work, Run(("true",))), work)
    after = files(work)
    with pytest.raises(Refused, match="cannot be undone"):
        journal.undo(entry)
    assert files(work) == after


@pytest.mark.process
def test_an_interrupted_command_that_nothing_takes_back_is_told_once(work: Path) -> None:
    entry = journal.apply(Plan("NUM001", Safety.UNSAFE, (Run(("true",)),)), work)
    entry.data["state"] = entry.steps[0]["state"] = journal.BEGUN  # as a doctor leaves it that was killed meanwhile
    entry.keep()
    with pytest.raises(Refused, match="`true` was interrupted and cannot be undone"):
        journal.recover(work)
    assert journal.recover(work) == []
    assert [each.state for each in journal.entries(work)] == ["abandoned"]


def test_a_file_changed_since_is_not_touched(work: Path) -> None:
    entry = journal.apply(plan(work), work)
    (work / "train.py").write_text("lr = 3  # mine\n")
    after = files(work)
    with pytest.raises(Refused, match="was changed since"):
        journal.undo(entry)
    assert files(work) == after


def test_a_lost_backup_is_refused(work: Path) -> None:
    entry = journal.apply(plan(work), work)
    after = files(work)
    (entry.folder / "0.before").unlink()
    with pytest.raises(Refused, match="missing or damaged"):
        journal.undo(entry)
    assert files(work) == after


def test_a_changed_file_is_refused_and_the_others_are_taken_back(work: Path) -> None:
    made = plan(work)
    (work / "train.py").write_text("lr = 3\n")
    before = files(work)
    with pytest.raises(Refused, match="has changed since"):
        journal.apply(made, work)
    assert files(work) == before


def test_a_link_stays_a_link(work: Path, tmp_path: Path) -> None:
    real = tmp_path / "shared.json"
    (work / "zero3.json").rename(real)
    (work / "zero3.json").symlink_to(real)
    entry = journal.apply(plan(work), work)
    assert (work / "zero3.json").is_symlink()
    assert b"bf16" in real.read_bytes()
    journal.undo(entry)
    assert b"fp16" in real.read_bytes()


def test_all_names_of_a_file_stay_its_names(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    os.link(work / "zero3.json", other)
    before = other.read_bytes()
    entry = journal.apply(plan(work), work)
    assert other.samefile(work / "zero3.json")
    assert b"bf16" in other.read_bytes()
    journal.undo(entry)
    assert other.samefile(work / "zero3.json")
    assert other.read_bytes() == before


def test_the_cache_of_an_installed_file_keeps_its_content(work: Path, tmp_path: Path) -> None:
    # uv and conda link the files of an environment to their cache, which other environments share
    cached = tmp_path / "cache.json"
    os.link(work / "zero3.json", cached)
    step = replace(rewrite(str(work / "zero3.json"), "new"), own_copy=True)
    entry = journal.apply(Plan("VLL001", Safety.SAFE, (step,)), work)
    assert b"fp16" in cached.read_bytes()
    journal.undo(entry)
    assert (work / "zero3.json").read_bytes() == cached.read_bytes()


@pytest.mark.parametrize(("old", "new"), [(b"aaaa", b"bb"), (b"aa", b"bbbb"), (b"abcab", b"abdabx"), (b"", b"b")])
def test_a_file_that_a_kill_left_half_written_is_taken_back(work: Path, tmp_path: Path, old: bytes, new: bytes) -> None:
    path = work / "zero3.json"
    path.write_bytes(old)
    os.link(path, tmp_path / "other")
    for written in range(len(new) + 1):
        entry = journal.apply(Plan("NUM001", Safety.SAFE, (rewrite(str(path), new.decode()),)), work)
        path.write_bytes(new[:written] + old[written:])  # as a kill inside of the write leaves it
        entry.data["state"] = entry.steps[0]["state"] = journal.BEGUN
        entry.keep()
        journal.recover(work)
        assert path.read_bytes() == old
        assert (tmp_path / "other").samefile(path)


def test_several_fixes_of_a_file_are_walked_back_in_order(work: Path) -> None:
    before = files(work)
    script = str(work / "train.py")
    done = [
        journal.apply(Plan(name, Safety.SAFE, (rewrite(script, text),)), work)
        for name, text in (
            ("TRL2205/removed", "lr = 2\n"),
            ("TRL2205/transformers_removed", "lr = 3\n"),
            ("TRL2205/removed", "lr = 4\n"),
        )
    ]
    aside = journal.apply(Plan("DSP004", Safety.SAFE, (rewrite(str(work / "zero3.json"), "{}"),)), work)
    chain = journal.standing_on(done[1:2], journal.entries(work))
    assert [each.folder for each in chain] == [done[2].folder, done[1].folder]
    (work / "train.py").write_text("lr = 4  # mine\n")
    with pytest.raises(Refused, match="was changed since"):
        journal.undo_all(chain)
    assert (work / "train.py").read_text() == "lr = 4  # mine\n"
    (work / "train.py").write_text("lr = 4\n")
    journal.undo_all(chain)
    assert (work / "train.py").read_text() == "lr = 2\n"
    journal.undo_all(journal.standing_on([done[0], aside], journal.entries(work)))
    assert files(work) == before


def test_an_edit_between_two_fixes_is_nobodys_to_take_back(work: Path) -> None:
    script = work / "train.py"
    journal.apply(Plan("TRL2205/removed", Safety.SAFE, (rewrite(str(script), "lr = 2\n"),)), work)
    script.write_text("lr = 2\n# mine\n")
    journal.apply(Plan("TRL2205/transformers_removed", Safety.SAFE, (rewrite(str(script), "lr = 5\n# mine\n"),)), work)
    with pytest.raises(Refused, match="was changed since"):
        journal.undo_all(list(reversed(journal.entries(work))))
    assert script.read_text() == "lr = 5\n# mine\n"


def test_what_was_shown_is_what_is_done(work: Path) -> None:
    made = plan(work)
    shown = contents(made)
    (work / ".env").write_text("B=1\n")  # a dotenv file is read when it is written: it must be the one that was shown
    before = files(work)
    with pytest.raises(Refused, match="has changed since the plan was shown"):
        journal.apply(made, work, shown)
    assert files(work) == before


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_read_only_folder_is_refused_before_anything_is_changed(work: Path, tmp_path: Path) -> None:
    before = files(work)
    for each in (tmp_path, *tmp_path.parents):
        if str(each).startswith("/tmp/"):
            each.chmod(each.stat().st_mode | 0o055)
    program = (
        "import difflib, os, sys; from pathlib import Path; from doctor.mend import journal\n"
        "from doctor.catalogue.plan import Plan, Refused, Safety, rewrite\n"
        "os.setuid(65534)  # nobody; the interpreter may lie where only root reads\n"
        "file = str(Path(sys.argv[1]) / 'zero3.json')\n"
        "try: journal.apply(Plan('NUM001', Safety.SAFE, (rewrite(file, 'x'),)), Path(sys.argv[1]))\n"
        "except Refused as exc: print(exc)\n"
    )
    home = tmp_path / "nobody"
    home.mkdir()
    home.chmod(0o777)
    root = str(Path(journal.__file__).parents[2])
    env = {**os.environ, "XDG_STATE_HOME": str(home), "PYTHONPATH": root}
    out = subprocess.run(
        [sys.executable, "-c", program, str(work)], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert "cannot be written by this user" in out.stdout, out.stderr
    assert files(work) == before


def test_two_doctors_do_not_mend_at_once() -> None:
    with journal.locked(), pytest.raises(Refused, match="another `doctor fix`"), journal.locked():
        pass
