"""Every option that names a file to be written: what cannot be written is told before any work is done."""

from __future__ import annotations

import importlib
import os
import pkgutil
import stat
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import doctor.cli
from doctor.cli.app import app as main
from doctor.cli.outputs import Output, why_not

#: paths that are read, or are where a command is to work, though they need not be there
_NO_OUTPUTS = {"paths", "root"}


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            made = command.get_command(context, name)
            assert made is not None
            yield from _commands(made, (*path, name))
    yield path, command


def _everything() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Commands of the group and, by their modules, those that another one hands its words to."""
    yield from (each for each in _commands(main, ()) if each[0])
    for module in pkgutil.iter_modules(doctor.cli.__path__, "doctor.cli."):
        for each in vars(importlib.import_module(module.name)).values():
            if isinstance(each, click.Command) and each is not main:
                yield (module.name.rpartition("_")[2], each.name or ""), each
                if isinstance(each, click.Group):
                    yield from _commands(each, (module.name,))


COMMANDS = list({id(command): (path, command) for path, command in _everything()}.values())
OUTPUTS = [(command, each) for _, command in COMMANDS for each in command.params if isinstance(each.type, Output)]


def _refused(command: click.Command, parameter: click.Parameter, value: Path) -> None:
    given = (str(value),) if isinstance(parameter, click.Argument) else (parameter.opts[-1], str(value))
    done = CliRunner().invoke(command, list(given))
    assert done.exit_code == 2, (command.name, parameter.name, done.output)
    assert f"cannot write `{value}`" in done.output.replace("\n", " "), done.output


def test_all_outputs_are_known() -> None:
    assert {parameter.name for _, parameter in OUTPUTS} >= {
        "output", "save_facts", "collect", "csv", "page", "metrics_csv", "bundle", "write", "lock",
    }  # fmt: skip
    for path, command in COMMANDS:
        for each in command.params:
            if isinstance(each.type, click.Path) and not each.type.exists:
                told = each.name in _NO_OUTPUTS or (
                    each.name == "collect" and "monitor" in "".join(path)
                )  # it runs on without
                assert told, f"{path}: {each.name} is neither an Output nor an input"


@pytest.mark.parametrize(("command", "parameter"), OUTPUTS)
def test_what_cannot_be_written_is_refused(command: click.Command, parameter: click.Parameter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("there")
    made_by_us = tmp_path / "folder"
    made_by_us.mkdir()
    assert isinstance(parameter.type, Output)
    wrong = tmp_path / "file" if parameter.type._folder else made_by_us
    for value in (
        tmp_path / "file" / "x.csv",
        Path("/proc/x/y.csv"),
        Path("/proc/x.csv"),
        wrong,
        tmp_path / ("x" * 300),
    ):
        _refused(command, parameter, value)
    assert (tmp_path / "file").read_text() == "there"
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}
    assert not list(made_by_us.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("folder", [True, False])
def test_what_one_may_not_write(tmp_path: Path, *, folder: bool) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert why_not(tmp_path / "x", folder=folder, makes_parents=folder) == os.strerror(13)
    finally:
        tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.parametrize(("name", "folder", "makes_parents"), [
    ("new.csv", False, False), ("there.csv", False, False), ("a/b/c.csv", False, True), ("a/b", True, True),
    ("folder", True, False), ("pipe", False, False),
])  # fmt: skip
def test_what_can_be_written_is_left_as_it_is(tmp_path: Path, name: str, *, folder: bool, makes_parents: bool) -> None:
    (tmp_path / "there.csv").write_text("there")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a reader
    before = sorted(tmp_path.rglob("*"))
    assert why_not(tmp_path / name, folder=folder, makes_parents=makes_parents) is None
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "there.csv").read_text() == "there"


def test_a_name_that_no_file_can_have() -> None:
    assert why_not(Path("a\0b"), folder=False, makes_parents=False)


@pytest.mark.parametrize("options", [("-o",), ("--html",), ("--metrics-csv",), ("--bundle",)])
def test_a_disk_that_is_full_is_told_and_costs_the_file_alone(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "train.log"
    log.write_text("{'loss': 0.5}\n" * 9000 + "RuntimeError: the quux is not frobnicated\n")
    done = CliRunner().invoke(main, ["postmortem", str(log), *options, "/dev/full"])
    assert (done.exit_code, "Traceback" in done.output) == (2, False), done.output
    assert "cannot write `/dev/full`" in done.output.replace("\n", " ")
    assert os.strerror(28) in done.output
    if options != ("-o",):
        assert "frobnicated" in done.output or "UNK001" in done.output, "the diagnosis itself is shown"
