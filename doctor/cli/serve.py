"""`doctor serve`: a vLLM server that starts, tells how it is, and says why when it does not."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from doctor.cli import options
from doctor.cli.monitor import Duration

_REFUSED = 1
_PORT = 8000  # of vLLM's servers and TRL's
#: exit codes of a server that was asked to end: by Ctrl-C, SIGTERM or SIGHUP
_ASKED = {128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP}

_PHRASES = {
    "en": {
        "suggest": "suggested: {}",
        "refused": "not started, because of {}: see above",
        "run": "the run folder is {}",
        "bare": "no run folder can be created ({}): the server is not started",
        "unattached": "the start-up hook is not in the server (was `python -I` or `-E` used?): nothing was corrected",
        "unsigned": "the run folder cannot be written ({}): whether the server runs the start-up hook is unknown",
        "overdue": "The server did not start within {:g} s. Its output shows:",
        "died": "The server ended with exit code {}. Its output shows:",
        "engine": "The engine failed. Its output shows:",
        "no_cause": "no known cause; the full output is in {}",
    },
    "zh": {
        "suggest": "建议:{}",
        "refused": "由于 {},未启动:见上文",
        "run": "运行目录为 {}",
        "bare": "无法创建运行目录({}):未启动服务器",
        "unattached": "启动钩子没有进入服务器(中间是否用了 `python -I` 或 `-E`?):未作任何修正",
        "unsigned": "无法写入运行目录({}):启动钩子是否进入服务器未知",
        "overdue": "{:g} 秒内未能启动。其输出表明:",
        "died": "服务器以退出码 {} 结束。其输出表明:",
        "engine": "引擎出错。其输出表明:",
        "no_cause": "没有指向原因的内容;全部输出见 {}",
    },
}


class _Own(click.Command):
    """A command whose options end with the first word that is not one of them: the rest is the server's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--` before the server's words."""
        takes_value = {
            name: not (isinstance(each, click.Option) and each.is_flag)
            for each in self.get_params(ctx)
            for name in each.opts
            if name.startswith("-")
        }
        place = 0
        while place < len(args) and args[place].split("=")[0] in takes_value:
            word = args[place]
            place += 1 + (takes_value[word.split("=")[0]] and "=" not in word)
        if place < len(args) and args[place] != "--":
            args = [*args[:place], "--", *args[place:]]
        return super().parse_args(ctx, args)


@click.command(cls=_Own, context_settings={"allow_interspersed_args": False})
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix that has vLLM.")
@click.option("--openai", is_flag=True, help="Start `vllm serve` instead of the demo server with `/generate`.")
@click.option("--trl", is_flag=True, help="Start `trl vllm-serve`, for TRL's trainers.")
@click.option("--dry-run", is_flag=True, help="Print the command and its environment; start nothing.")
@click.option("--gate", is_flag=True, help="Do not start with confirmed errors.")
@click.option("--strict", is_flag=True, help="Do not start with any error or warning.")
@click.option(
    "--startup-timeout",
    type=Duration(),
    default="30m",
    show_default=True,
    help="End a server that does not start within this time.",
)
@click.option(
    "--stall",
    type=Duration(),
    default="30s",
    show_default=True,
    help="/health returns 503 after an engine produced nothing for this time while requests wait.",
)
@click.option(
    "--drain",
    type=Duration(),
    default="30s",
    show_default=True,
    help="Time for open requests to finish when the server stops.",
)
@click.option(
    "--max-request", type=click.IntRange(1), default=128, show_default=True, metavar="MIB", help="Largest request body."
)
@click.option(
    "--max-prompts",
    type=click.IntRange(1),
    default=16384,
    show_default=True,
    help="Maximum number of prompts in one request.",
)
@options.ignore
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] [ARGUMENTS OF THE SERVER]")
def command(words: tuple[str, ...], **chosen: Any) -> int:
    """Start the installed vLLM's server with its known gaps corrected at run time; nothing on disk is changed.

    \b
    doctor serve --model Qwen/Qwen2.5-0.5B           the demo server: /generate, /health, /ready
    doctor serve --openai Qwen/Qwen2.5-0.5B          vllm serve
    doctor serve --trl --model Qwen/Qwen2.5-0.5B     trl vllm-serve
    doctor serve --dry-run --python ~/venvs/vllm --model Qwen/Qwen2.5-0.5B
    """
    if chosen["openai"] and chosen["trl"]:
        raise click.UsageError("--openai and --trl are two servers: choose one")
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    serve = _Serve(words, chosen, settings, language)
    return serve.run()


class _Serve:
    """One call of the command."""

    def __init__(self, words: tuple[str, ...], chosen: dict[str, Any], settings: Any, language: str) -> None:
        self._words = words
        self._chosen = chosen
        self._settings = settings
        self._language = language
        self._phrases = _PHRASES[language]
        self._serving: Any = None
        self._read: Any = None
        self._reading = threading.Lock()
        self._ended = False
        self._mode: Any = "openai" if chosen["openai"] else "trl" if chosen["trl"] else "demo"

    def run(self) -> int:
        """Look, add, judge, start."""
        server, added = self._prepared()
        words = (*self._words, *added)
        report, outcome = self._judged((*server.judged, *words))
        self._draw(report)
        if self._chosen["dry_run"]:
            self._print(server.argv + words)
            return int(outcome.exit_code(strict=self._strict))
        if self._strict and outcome.errors + outcome.warnings:
            return self._refuse("--strict")
        if self._chosen["gate"] and any(_confirmed_error(each) for each in outcome.findings):
            return self._refuse("--gate")
        return self._start(server.argv + words, report)

    @property
    def _strict(self) -> bool:
        return bool(self._chosen["strict"] or self._settings.strict)

    def _say(self, text: str) -> None:
        from doctor.base.redact import redact_text
        from doctor.run.console import fresh_line

        fresh_line()
        click.echo(redact_text(f"doctor: {text}", homes=False), err=True)

    def _refuse(self, option: str) -> int:
        self._say(self._phrases["refused"].format(option))
        return _REFUSED

    # Before it starts -----------------------------------------------------------------------------------------

    def _context(self, argv: Sequence[str], python: str | None = None) -> Any:
        from doctor.base.fact import Context

        return Context(tuple(argv), Path.cwd(), dict(os.environ), python or self._chosen["python"])

    def _prepared(self) -> tuple[Any, tuple[str, ...]]:
        """The server's command, and the words that the doctor adds; each is said."""
        from doctor.base.fact import Unavailable
        from doctor.diagnosis.diagnose import Patient, examine
        from doctor.readers.patient.target import refuse_wrong_option
        from doctor.serve.choices import choices
        from doctor.serve.command import TYPED, NoServer, server_of

        if self._words and self._words[0] in {"python", "python3", "vllm", "trl"}:
            raise click.UsageError(f"`{self._words[0]}`: give the server's arguments alone, with --openai or --trl")
        context = self._context((*TYPED[self._mode], *self._words))
        try:
            refuse_wrong_option(context)
        except Unavailable as exc:
            raise click.UsageError(f"--python: {exc}") from None
        names = ("interpreter", "packages", "launch", "serving", "gpus", "environment", "model")
        states = examine(context, Patient(), names).states
        try:
            server = server_of(self._mode, states)
        except NoServer as exc:
            raise click.UsageError(str(exc)) from None
        self._serving = states["serving"].value if states["serving"].status == "ok" else None
        made = choices(states, self._language, demo=self._mode == "demo")
        for each in made:
            self._say(each.sentence if each.words else self._phrases["suggest"].format(each.sentence))
        return server, tuple(word for each in made for word in each.words)

    def _judged(self, argv: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
        """What `doctor check` says of the command, without what is put right here."""
        from doctor.diagnosis.diagnose import diagnose
        from doctor.diagnosis.report import as_dict
        from doctor.diagnosis.suppress import Ignored
        from doctor.serve.command import MENDED

        mended = [Ignored(each, "`doctor serve` corrects it") for each in MENDED] if self._mode == "demo" else []
        diagnosis, _ = diagnose(
            self._context(argv, argv[0]), ignored=[*self._settings.ignored, *mended], language=self._language
        )
        return as_dict(diagnosis), diagnosis.outcome

    def _draw(self, report: dict[str, Any]) -> None:
        """A report on stderr, unless nothing was found: stdout is the server's."""
        if not report["findings"] and not report["crashed"]:
            return
        from doctor.catalogue.reasons import localised
        from doctor.diagnosis.report import shortened
        from doctor.render.console import console_for, draw

        data = localised(report, self._language) if self._language != "en" else report
        draw(shortened(data, Path.cwd()), console_for(sys.stderr), language=self._language)

    def _limits(self) -> Any:
        from doctor.fixes.vllm_server.settings import ServerBounds

        chosen = self._chosen
        return ServerBounds(
            chosen["max_request"] << 20, chosen["max_prompts"], chosen["drain"], self._mode == "demo", chosen["stall"]
        )

    def _print(self, argv: tuple[str, ...]) -> None:
        """What would be started, ready to be pasted but for the run folder's name and secrets."""
        from doctor.base.redact import redact_argv
        from doctor.serve.patient import FOLDER, variables

        added = variables(f"RUN_FOLDER/{FOLDER}", self._limits(), os.environ)
        words = [f"{name}={shlex.quote(value)}" for name, value in added.items()]
        click.echo(" \\\n  ".join([f"env {words[0]}", *words[1:], shlex.join(redact_argv(argv))]))

    # While it runs --------------------------------------------------------------------------------------------

    def _start(self, argv: tuple[str, ...], report: dict[str, Any]) -> int:
        from doctor.cli.runs import new_run
        from doctor.run.supervise import answers, supervise
        from doctor.serve.patient import FOLDER, lay, variables
        from doctor.serve.watch import Watch

        try:
            run = new_run("serve", self._language, lambda made: lay(made.path))
            folder = run.path / FOLDER
        except OSError as exc:
            self._say(self._phrases["bare"].format(exc.strerror))
            return _REFUSED
        with suppress(OSError):
            (run.path / "check.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        self._say(self._phrases["run"].format(run.path))
        read = self._reader(run)
        watch = Watch(run, self._deadline(), self._address(), read, self._say, lambda: self._make_ready(read))
        environment = variables(folder, self._limits(), os.environ)
        code = supervise(argv, run, environment=environment, on_start=watch.start, language=self._language)
        # neither the doctor's own failure nor an impatient Ctrl-C changes the code of the server
        with suppress(Exception, KeyboardInterrupt):
            self._ended = True
            watch.stop()
            if answers(run):
                self._explain(code, watch, read)
        return code

    def _unattached(self, watch: Any) -> str:
        """Why there is no sign of the start-up hook, as a sentence."""
        from doctor.run.disk import refusal

        number = refusal(watch.run)
        return self._phrases["unattached"] if number is None else self._phrases["unsigned"].format(os.strerror(number))

    def _deadline(self) -> float | None:
        """A worker without a server of its own never listens."""
        headless = self._serving is not None and "headless" in self._serving.arguments
        return None if headless else float(self._chosen["startup_timeout"])

    def _address(self) -> tuple[str, int]:
        serving = self._serving
        host = serving.host if serving is not None and serving.host not in {None, "0.0.0.0", "::"} else "127.0.0.1"  # noqa: S104 - compared
        return host, (serving.port if serving is not None else None) or _PORT

    def _reader(self, run: Any) -> Callable[[], dict[str, Any]]:
        """A post-mortem of what the server has printed so far, and of how it ended where it has."""

        def read() -> dict[str, Any]:
            from doctor.diagnosis.report import as_dict
            from doctor.logs.postmortem import examine

            signatures = self._signatures()
            result = examine([str(run.path)], run_dir=str(run.path), language=self._language, prepared=signatures)
            return as_dict(result.diagnosis)

        return read

    def _make_ready(self, read: Callable[[], dict[str, Any]]) -> None:
        """Do once what the first diagnosis does: three quarters of its time go into what it imports."""
        self._signatures()
        import doctor.render.console  # noqa: F401

        if not self._ended:
            with suppress(Exception):  # nothing has been printed yet
                read()

    def _signatures(self) -> Any:
        """What every post-mortem needs, read once, whoever asks first."""
        with self._reading:
            if self._read is None:
                from doctor.logs.postmortem import prepare

                read = prepare()
                read.scanner.matcher()  # made ahead: a server that dies waits seconds for the cause, not longer
                self._read = read
            return self._read

    def _explain(self, code: int, watch: Any, read: Callable[[], dict[str, Any]]) -> None:
        """Say why it ended, where nobody asked it to."""
        if not watch.attached:
            self._say(self._unattached(watch))
        if watch.overdue and watch.attached:
            text = self._phrases["overdue"].format(self._chosen["startup_timeout"])
        elif watch.engine_died:
            text = self._phrases["engine"]
        elif code in _ASKED or code == 0:
            return
        else:
            text = self._phrases["died"].format(code)
        from doctor.logs.gathered import LogNotReadable
        from doctor.logs.read.layouts import NoLogs

        try:
            report = read()
        except (NoLogs, LogNotReadable) as exc:
            self._say(f"{text} {exc}")
            return
        self._say(text)
        if report["findings"]:
            self._draw(report)
        else:
            self._say(self._phrases["no_cause"].format(watch.console))


def _confirmed_error(finding: Any) -> bool:
    from doctor.catalogue.finding import CONFIRMED
    from doctor.catalogue.problem import ERROR

    return finding.severity is ERROR and finding.confidence is CONFIRMED
