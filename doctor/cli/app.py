"""The command `doctor`: a group that imports a command's module only when that command is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from contextlib import suppress
from typing import Any

import click

import doctor

#: command -> (module, one line of help). Kept here so that `doctor --help` imports none of them.
COMMANDS = {
    "check": ("check", "Find what will go wrong on this machine, with this command."),
    "rehearse": ("rehearse", "Rehearse the whole run in miniature, with a tiny model, before the real one."),
    "run": ("run", "Check, guard and sample a training command, and diagnose it when it fails."),
    "monitor": ("monitor", "Sample what the GPUs really do, live or while a command runs."),
    "report": ("report", "Report how a run ended and where its GPU hours went."),
    "hang": ("hang", "Show which process waits for which in a stalled run."),
    "postmortem": ("postmortem", "Diagnose a failed run from its logs."),
    "last": ("past_runs:last", "Show the verdict of the last run."),
    "runs": ("past_runs:runs", "List runs: verdict, time, best metric, command."),
    "compare": ("past_runs:compare", "Show what differs between two runs, or since the last good one."),
    "checkpoint": ("checkpoint", "Name the last complete checkpoint of a folder, and what a resume needs."),
    "fix": ("fix", "Fix what was found: shown first, reversible."),
    "serve": ("serve", "Start a vLLM server with fixes for its known defects."),
    "plan": ("plan", "Size a run: memory of each GPU, batches, and the files that start it."),
    "explain": ("explain", "Print the manual of a problem, or find the problem of an error text."),
    "list": ("list_problems", "List the problems the doctor knows."),
    "env": ("env", "Print a redacted environment report to paste into an issue."),
    "diff": ("diff", "Compare two saved environments, or a saved one with now."),
    "mcp": ("mcp", "Serve the doctor to a coding agent (MCP over stdio)."),
    "agents": ("agents", "Print or install the skill that tells coding agents how to use the doctor."),
    "completion": ("completion", "Print shell completions for bash, zsh or fish."),
    "schema": ("schema", "Print the JSON schema of reports or facts."),
    "dev": ("dev", "Tools for authors of checks."),
}

USAGE, FAILED, INTERRUPTED = 2, 3, 130
#: there is no place for what is written: no bug of anybody's
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


_COLUMNS = 80  # where nobody tells


def _columns() -> int:
    """Columns of the terminal, as `shutil` tells them, which would be imported with all archives for it."""
    told = os.environ.get("COLUMNS", "")
    if told.isdigit() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1).columns or _COLUMNS
    except (OSError, ValueError):  # no terminal; a closed stream
        return _COLUMNS


class LazyGroup(click.Group):
    """Shows every command without importing it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a user meets them."""
        del ctx
        return [name for name in COMMANDS if name != "dev"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one command that was asked for."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        module, _, name = module.partition(":")
        command = getattr(importlib.import_module(f"doctor.cli.{module}"), name or "command")
        assert isinstance(command, click.Command)  # noqa: S101 - our own modules, for the type checker
        return command

    def get_help(self, ctx: click.Context) -> str:
        """In Chinese in a Chinese locale; settings are not read for it, so that it stays fast."""
        locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
        if not locale.startswith("zh"):
            ctx.terminal_width = max(min(_columns(), ctx.max_content_width or _COLUMNS) - 2, 50)
            return super().get_help(ctx)
        from doctor.cli.first_screen import chinese

        return chinese()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name; its help is in the language of the call."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near and (file := _file_meant(args[0])) is not None:
                raise click.UsageError(file, ctx) from None
            hint = f" The nearest is `{near[0]}`." if near else ""
            msg = f"There is no command `{args[0]}`.{hint}"
            raise click.UsageError(msg, ctx) from None
        return name, None if command is None else _in_its_language(command, rest), rest


def _in_its_language(command: click.Command, words: list[str]) -> click.Command:
    """The command, with Chinese help where its words ask for help and the call is in Chinese."""
    own = words[: words.index("--")] if "--" in words else words
    if "--help" not in own and "-h" not in own:
        return command
    from doctor.cli.options import spoken

    if spoken(words) != "zh":
        return command
    from doctor.cli.chinese_help import chinese

    return chinese(command)


def _file_meant(word: str) -> str | None:
    """What is said of a word that is a path and no command, and that leads nowhere; None for any other word.

    Names in the folder are asked for a near one; a folder with more than 10,000 of them is not read to its end.
    """
    from itertools import islice

    folder, name = os.path.split(word)
    if os.sep not in word and "." not in name.strip("."):
        return None
    try:
        with os.scandir(folder or ".") as entries:
            names = [each.name for each in islice(entries, 10_000)]
    except OSError:
        names = []
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1, cutoff=0.75) if name else []
    if not near:
        return f"The file `{word}` does not exist."
    return f"The file `{word}` does not exist. Did you mean `{os.path.join(folder, near[0])}`?"  # noqa: PTH118


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 no errors, 1 errors, 2 usage, 3 the doctor itself failed, 119 the guard stopped the run, "
    "130 interrupted.",
)
@click.version_option(doctor.__version__, prog_name="doctor")
def app() -> None:
    """Find out why GRPO training with TRL, vLLM, DeepSpeed, Accelerate, veRL or Trinity-RFT goes wrong.

    \b
    doctor check                                     this machine, this environment
    doctor check -- accelerate launch train_grpo.py  ... with this command
    doctor run -- accelerate launch train_grpo.py    check, guard and diagnose it
    doctor train.log                                 why a run failed
    doctor explain VLL001                            what a problem is, the fix
    """


#: scripts -> what starts them
_STARTS = {".py": "python", ".sh": "bash"}


def routed(argv: list[str]) -> list[str]:
    """The words with the command that a file or a launch command stands for; commands win over files of their name.

    `doctor -- COMMAND` and `doctor train.py ...` are checks, `doctor train.log` and a folder of logs are post-mortems,
    a run folder is a report.
    """
    if len(argv) > 1 and argv[0] == "--":
        return ["check", *argv]
    if not argv or argv[0] in COMMANDS or argv[0].startswith("-") or not os.path.exists(argv[0]):  # noqa: PTH110
        return argv
    path, rest = argv[0], argv[1:]
    end = os.path.splitext(path)[1].lower()  # noqa: PTH122 - pathlib is not imported for `doctor --version`
    if os.path.isdir(path):  # noqa: PTH112
        is_run = os.path.isfile(os.path.join(path, "run.json"))  # noqa: PTH113, PTH118
        return ["report" if is_run else "postmortem", path, *rest]
    if end in _STARTS:
        return ["check", "--", _STARTS[end], path, *rest]
    return ["report" if end == ".csv" else "postmortem", path, *rest]


def run(argv: list[str]) -> int:
    """Run the command line; returns the exit code and prints no traceback for what the user did."""
    try:
        result: Any = app.main(routed(argv), prog_name="doctor", standalone_mode=False)
    except click.exceptions.Exit as exc:
        return exc.exit_code
    except (click.Abort, KeyboardInterrupt):
        with suppress(OSError):  # the terminal may be gone
            click.echo(_translated("interrupted", argv), err=True)
        return INTERRUPTED
    except click.ClickException as exc:
        _show(exc, argv)
        return USAGE
    except (BrokenPipeError, SystemExit):
        # the reader (head, less) has gone, which click and rich take for an exit with code 1: nothing is left to say,
        # and nothing may be flushed at exit
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
        return 0
    except OSError as exc:
        if exc.errno == errno.ENAMETOOLONG and str(exc.filename) in argv:  # of no file, whoever looks for it
            _show(click.UsageError(f"`{str(exc.filename)[:80]}...`: {exc.strerror}"), argv)
            return USAGE
        from doctor.cli.runs import no_folder_here

        if (reason := no_folder_here()) is not None:
            _show(click.UsageError(f"the current folder cannot be used: {reason}"), argv)
            return USAGE
        if exc.errno not in FULL:
            return _crashed(argv)
        with suppress(OSError):
            click.echo(_translated(f"the output could not be written: {exc.strerror}", argv), err=True)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - what is left in its buffer has no place either
        return FAILED
    except Exception:  # noqa: BLE001 - our own bug: say so, with what helps to mend it
        return _crashed(argv)
    return result if isinstance(result, int) else 0


def _translated(text: str, argv: list[str]) -> str:
    from doctor.catalogue.reasons import translated
    from doctor.cli.options import spoken

    return translated(text, spoken(argv), "notices")


def _show(exc: click.ClickException, argv: list[str]) -> None:
    """Say why a call is refused; in Chinese where that was asked for."""
    from doctor.base.redact import redact_text

    if isinstance(exc, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # of click 8.2: the help itself
        exc.show()
        return
    said = exc.format_message()
    told = redact_text(_translated(said, argv), homes=False)
    if told == said:
        exc.show()
        return
    context = getattr(exc, "ctx", None)
    if context is not None:
        click.echo(context.get_usage().replace("Usage:", "用法:", 1), err=True)
        click.echo(f"用 `{context.command_path} --help` 查看帮助。\n", err=True)
    click.echo(f"错误:{told}", err=True)


def _crashed(argv: list[str]) -> int:
    import platform
    import traceback

    from doctor.base.redact import redact_text, secrets_in, secrets_of_environment, without

    known = [*secrets_in(" ".join(argv)), *secrets_of_environment()]
    click.echo(without(redact_text(traceback.format_exc()), known, parts=False), err=True)
    said = (
        f"doctor {doctor.__version__} itself failed (Python {platform.python_version()}, {platform.system()}). "
        "This is a bug in the doctor, not in your run: please report it with the lines above."
    )
    with suppress(Exception):  # what failed may be what translates
        said = _translated(said, argv)
    click.echo(said, err=True)
    return FAILED
