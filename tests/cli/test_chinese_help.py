"""`--help` of every command is Chinese in a Chinese locale: no text of it is missing, none is left over."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from doctor.catalogue.reasons import table, translated
from doctor.cli.app import COMMANDS, app
from doctor.cli.chinese_help import chinese, paragraphs, said_of_example, without_extra
from doctor.cli.fix import SUBCOMMANDS
from tests.commands import run_doctor

#: of click itself
_CLICKS = "Show this message and exit."
#: what stands beside a command and is a command itself, the same in every language
_COMMAND = re.compile(r'vllm serve|trl vllm-serve|eval "\$\(doctor .*|doctor completion .*')
_LETTERS = re.compile(r"[一-鿿]")
_CODE = re.compile(r"`[^`]+`|(?<![\w-])--[a-z][\w-]*")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command of a user, by the words that call it."""
    context = click.Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        yield name, command
    for name, (module, _) in SUBCOMMANDS.items():
        yield f"fix {name}", importlib.import_module(f"doctor.cli.{module}").command


def texts() -> Iterator[tuple[str, str]]:
    """(command, text) of all that a help shows in words."""
    yield "every", _CLICKS
    yield from (("fix", text) for _, text in SUBCOMMANDS.values())
    for name, command in commands():
        for raw, lines in paragraphs(inspect.cleandoc(command.help or "")):
            said = map(said_of_example, lines) if raw else [" ".join(" ".join(lines).split())]
            yield from ((name, each) for each in said if each and not _COMMAND.fullmatch(each))
        for each in command.params:
            if text := getattr(each, "help", None):
                yield name, without_extra(text)


def test_every_text_of_a_help_has_its_chinese() -> None:
    found = list(texts())
    assert len(found) > 200
    assert [f"{name}: {text}" for name, text in found if translated(text, "zh", "help") == text] == []


def test_no_chinese_is_left_over() -> None:
    shown = {text for _, text in texts()}
    unused = [each for each in table("help") if "{}" not in each and each not in shown]
    assert unused == []


def test_the_chinese_names_the_same_options_and_code() -> None:
    for english, chinese_ in table("help").items():
        assert _LETTERS.search(chinese_) or english.rstrip(".") == chinese_.rstrip("。"), english
        assert sorted(set(_CODE.findall(english))) == sorted(set(_CODE.findall(chinese_))), english


@pytest.mark.parametrize("width", [50, 80, 100])
@pytest.mark.parametrize(
    "name", [*(each for each in COMMANDS if each != "dev"), *(f"fix {each}" for each in SUBCOMMANDS)]
)
def test_a_help_in_chinese_fits_and_has_no_english_head(name: str, width: int) -> None:
    command = chinese(dict(commands())[name])
    context = command.make_context(f"doctor {name}", [], resilient_parsing=True, terminal_width=width)
    shown = command.get_help(context)
    assert shown.startswith("用法:")
    for word in ("Usage", "Options", "[OPTIONS]", "default: ", "Show this message", "Commands:"):
        assert word not in shown
    kept = {line.strip() for raw, lines in paragraphs(inspect.cleandoc(command.help or "")) if raw for line in lines}
    for line in shown.splitlines():
        is_example = any(line.strip().startswith(each.split("  ")[0]) for each in kept)
        has_one_word = len(line.split()) == 1 or line.lstrip().startswith("-")  # names of options are not cut
        assert cell_len(line) <= width or is_example or has_one_word, line


def test_help_follows_the_option_and_the_command_stays_english_elsewhere(tmp_path: Path) -> None:
    assert run_doctor("compare", "--lang", "zh", "--help", cwd=tmp_path).stdout.startswith("用法:doctor compare [选项]")
    assert run_doctor("fix", "env", "--help", "--lang=zh", cwd=tmp_path).stdout.startswith("用法:doctor fix env [选项]")
    assert run_doctor("compare", "--help", cwd=tmp_path).stdout.startswith("Usage: doctor compare [OPTIONS]")
    assert run_doctor("monitor", "--help", "--", "x", "--lang", "zh", cwd=tmp_path).stdout.startswith("Usage: ")


@pytest.mark.process
def test_help_follows_the_locale_and_the_settings(tmp_path: Path) -> None:
    assert run_doctor("runs", "--help", cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"}).stdout.startswith(
        "用法:doctor runs"
    )
    (tmp_path / "doctor.toml").write_text('lang = "zh"\n')
    assert run_doctor("runs", "-h", cwd=tmp_path).stdout.startswith("用法:doctor runs")
