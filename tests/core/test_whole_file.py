"""What cannot be written whole leaves nothing behind, keeps what was there, and says which file it was."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doctor.base.whole_file import named, whole, write_new, write_whole
from doctor.cli.app import run


@contextmanager
def no_room() -> Iterator[None]:
    """Files can be made but not filled, as on a full disk: a limit of the process, which gives EFBIG for ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("write", [write_whole, write_new])
def test_no_half_of_a_new_file(write, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with no_room(), pytest.raises(OSError, match="too large") as raised:
        write(path, "abc")
    assert raised.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
    write(path, "abc")
    assert path.read_text() == "abc"


def test_an_old_file_stays_and_so_do_its_mode_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("a.txt")
    with no_room(), pytest.raises(OSError, match="too large"):
        write_whole(link, "new")
    assert (path.read_text(), sorted(each.name for each in tmp_path.iterdir())) == ("old", ["a.txt", "link"])
    write_whole(link, b"new")
    assert (path.read_text(), link.is_symlink(), path.stat().st_mode & 0o777) == ("new", True, 0o640)


def test_what_has_several_names_or_none_is_written_where_it_is(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    other.hardlink_to(path)
    write_whole(path, "new")
    assert other.read_text() == "new"
    write_whole(Path("/dev/null"), "new")
    assert not Path("/dev/null").is_file()


def test_a_file_that_is_there_is_no_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileExistsError):
        write_new(path, "new")
    assert path.read_text() == "old"


def test_an_error_keeps_the_name_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, named(tmp_path):
        (tmp_path / "b").read_bytes()
    assert raised.value.filename == str(tmp_path / "b")
    with pytest.raises(ValueError, match="x"), whole(tmp_path / "c"):
        raise ValueError("x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("catalogue_read_once")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["postmortem", "a.log", "-o", "out.txt"], "out.txt"),
        (["postmortem", "a.log", "--format", "html", "-o", "out.html"], "out.html"),
        (["postmortem", "a.log", "--html", "page.html"], "page.html"),
        (["postmortem", "a.log", "--bundle", "b.tar.gz"], "b.tar.gz"),
        (["plan", "7B", "--gpus", "8xH100", "--write", "plan"], "ds_zero2.json"),
        (["agents", "--install"], "SKILL.md"),
    ],
    ids=lambda each: each if isinstance(each, str) else each[0],
)
def test_outputs_of_commands(words, name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text("RuntimeError: CUDA error: an illegal memory access was encountered\n")
    with no_room():
        assert run(words) == 2
    told = capsys.readouterr().err
    assert name in told
    assert "None" not in told
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["a.log"]
