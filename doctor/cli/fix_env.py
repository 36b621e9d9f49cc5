"""`doctor fix env`: versions that fit each other, the driver, the GPUs and the Python, smallest change first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from doctor.cli import options
from doctor.cli.fix import recover
from doctor.cli.outputs import Output
from doctor.cli.working import working

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "apply": "Nothing is changed yet: add --apply.",
        "ask": "Install this?",
        "no_answer": "this installs packages and asks first: add --yes if there is no terminal",
        "done": "Done. `doctor fix env --undo` undoes it; `{freeze}` lists the versions from before.",
        "done_for_good": "Done. `{freeze}` lists the versions from before.",
        "undone": "Undone.",
        "nothing_to_undo": "no environment was changed from this folder",
        "changed_since": "the environment has changed since then: {names}",
        "written": "written to {path}",
        "outside": "{count} packages outside `{prefix}`: the resolver does not see them",
        "gpus": "driver and GPUs, so no version was checked against them: {reason}",
        "machine": "which wheels this driver and these GPUs can run: the data cover only x86-64",
        "offline": "versions that are not in uv's cache",
        "cpu_build": "torch {version} is a build for CPUs; `doctor check` says how to replace it",
        "data": "releases newer than the version data of {date}",
        "working": "solving...",
    },
    "zh": {
        "apply": "尚未作任何更改:加上 --apply 才会执行。",
        "ask": "是否安装?",
        "no_answer": "安装前需要确认:无人应答时请加 --yes",
        "done": "已完成。`doctor fix env --undo` 可撤销;原来的安装清单保存在 `{freeze}`。",
        "done_for_good": "已完成。原来的安装清单保存在 `{freeze}`。",
        "undone": "已撤销。",
        "nothing_to_undo": "此目录中没有更改过环境",
        "changed_since": "此后环境又被更改:{names}",
        "written": "已写入 {path}",
        "outside": "`{prefix}` 之外的 {count} 个软件包:求解器看不到它们",
        "gpus": "驱动与 GPU,因此未按它们作限制:{reason}",
        "machine": "此驱动与 GPU 能运行哪些 wheel:数据只涵盖 x86-64",
        "offline": "uv 缓存中没有的版本",
        "cpu_build": "torch {version} 是 CPU 构建;替换方法见 `doctor check`",
        "data": "比 {date} 的版本数据更新的发行版",
        "working": "求解中...",
    },
}


_SOLVE_S, _WAYS_S = 600.0, 90.0  # for the answer, and for which wish to drop where there is none
_PINS_SHOWN = 30  # more names than this make no command to paste; --lock writes them all


@dataclass(frozen=True)
class _Seen:
    """The environment and the machine as the facts show them."""

    interpreter: Any
    packages: Any
    gpus: Any
    unseen: tuple[str, ...]


@click.command()
@click.option(
    "--want", multiple=True, metavar="REQUIREMENT", help="A package to install, with extras and version range."
)
@click.option("--keep", multiple=True, metavar="PACKAGE", help="An installed package whose version must stay.")
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix to fix.")
@click.option("--apply", is_flag=True, help="Install it (into a virtual environment only).")
@click.option("--undo", is_flag=True, help="Restore the previous versions.")
@click.option("--yes", is_flag=True, help="Do not ask before installing.")
@click.option("--lock", type=Output(), metavar="FILE", help="Write all versions to this file.")
@click.option("--offline", is_flag=True, help="Use uv's cache only.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(want: tuple[str, ...], keep: tuple[str, ...], **chosen: Any) -> int:
    """Find versions that fit each other, the driver, the GPUs and the Python, with the smallest change.

    Exit codes: 0 found (or done), 1 no such set of versions, 2 usage.

    \b
    doctor fix env                                       does what is installed fit? if not, what to change
    doctor fix env --want 'trl[vllm]' --want deepspeed   add these
    doctor fix env --want 'trl>=1' --keep torch          a newer TRL for the torch that is installed
    doctor fix env --want 'trl[vllm]' --lock locked.txt  write all versions down
    doctor fix env --want 'trl[vllm]' --apply            install it
    """
    from doctor.catalogue.plan import Refused

    language = options.language(chosen["lang"], options.user_settings(Path.cwd(), ()))
    try:
        if chosen["undo"]:
            return _undo(language)
        recover(language)
        seen = _look(chosen["python"], language, offline=chosen["offline"])
        return _mend(seen, _wishes(want, keep, seen), chosen, language)
    except Refused as exc:
        raise click.UsageError(str(exc)) from None
    except OSError as exc:
        msg = f"`{exc.filename}`: {exc.strerror}"
        raise click.UsageError(msg) from None


def _look(python: str | None, language: str, *, offline: bool) -> _Seen:
    from doctor import data
    from doctor.base.fact import Context
    from doctor.catalogue.reasons import translated
    from doctor.diagnosis.diagnose import Patient, examine

    context = Context((), Path.cwd(), dict(os.environ), python)
    states = examine(context, Patient(), ("interpreter", "packages", "gpus")).states
    for name in ("interpreter", "packages"):
        if states[name].status != "ok":
            raise click.UsageError(states[name].reason)
    interpreter, packages = states["interpreter"].value, states["packages"].value
    phrases, unseen = _PHRASES[language], []
    gpus = states["gpus"].value if states["gpus"].status == "ok" else None
    if gpus is None or not gpus.gpus:
        unseen.append(phrases["gpus"].format(reason=translated(states["gpus"].reason or "", language)))
    elif interpreter.machine != "x86_64":
        unseen.append(phrases["machine"])
    elif packages.torch_build is not None and packages.torch_build.cuda is None and not packages.torch_build.hip:
        unseen.append(phrases["cpu_build"].format(version=packages.torch_build.version))
    outside = len(packages.distributions) - len(_installed(interpreter, packages))
    if outside:
        unseen.append(phrases["outside"].format(count=outside, prefix=interpreter.prefix))
    if offline:
        unseen.append(phrases["offline"])
    unseen.append(phrases["data"].format(date=data.built()))
    return _Seen(interpreter, packages, gpus, tuple(unseen))


def _installed(interpreter: Any, packages: Any) -> dict[str, str]:
    """Versions of what lies in the environment itself, where uv sees it too."""
    prefix = os.path.realpath(interpreter.prefix)
    return {
        name: each.version
        for name, each in packages.distributions.items()
        if each.version and not each.broken and os.path.realpath(each.location).startswith(prefix + os.sep)
    }


def _wishes(want: tuple[str, ...], keep: tuple[str, ...], seen: _Seen) -> Any:
    from packaging.requirements import InvalidRequirement, Requirement

    from doctor.facts.packages import normalised
    from doctor.mend.environment.solve import SolverWishes

    for each in want:
        try:
            Requirement(each)
        except InvalidRequirement as exc:
            msg = f"--want {each}: {str(exc).splitlines()[0]}"
            raise click.UsageError(msg) from None
    kept = tuple(dict.fromkeys(map(normalised, keep)))
    installed = _installed(seen.interpreter, seen.packages)
    for each in kept:
        if each not in installed:
            msg = f"--keep {each}: it is not installed in `{seen.interpreter.prefix}`"
            raise click.UsageError(msg)
    return SolverWishes(tuple(dict.fromkeys(want)), kept)


def _lock(path: Any, seen: _Seen, versions: Any, phrases: Mapping[str, str]) -> None:
    """Write the environment that is to be into a lock file."""
    from doctor.mend.environment import plan

    try:
        plan.lock(path, seen.packages, versions, seen.interpreter)
    except OSError as exc:
        msg = f"cannot write `{path}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    click.echo(phrases["written"].format(path=path))


def _mend(seen: _Seen, wishes: Any, chosen: Mapping[str, Any], language: str) -> int:
    from doctor.facts.gpus import Gpus
    from doctor.mend.environment import knowledge, plan, solve, uv
    from doctor.render.console import console_for
    from doctor.render.resolution import draw, draw_conflict

    python, offline, phrases = seen.interpreter.executable, chosen["offline"], _PHRASES[language]
    console = console_for(sys.stdout)

    until = [time.monotonic() + _SOLVE_S]

    def solver(requirements: Any, constraints: Any) -> Any:
        left = max(1.0, until[0] - time.monotonic())
        return uv.solve(python, requirements, constraints, offline=offline, timeout_s=left)

    installed = _installed(seen.interpreter, seen.packages)
    of_machine = knowledge.of_machine(seen.packages, seen.gpus or Gpus(), seen.interpreter)
    limits = (*of_machine, *knowledge.least(wishes.names, installed))
    environment = solve.Installation(installed, limits)
    try:
        with working(phrases["working"]):
            answer = solve.smallest(environment, wishes, solver)
    except uv.Unsolvable as exc:
        until[0] = time.monotonic() + _WAYS_S
        with working(phrases["working"]):
            ways = solve.in_the_way(environment, wishes, solver)
        changes = [(wish, _change(each, installed, wishes) if each is not None else None) for wish, each in ways]
        draw_conflict(_title(seen), str(exc), changes, _reasons(of_machine, (), language), console, language)
        return 1
    made = plan.plan(python, seen.packages, answer.solution, offline=offline) if answer.solution.added else None
    draw(_resolution(seen, wishes, environment, answer, made, of_machine, language), console, language)
    click.echo()
    if chosen["lock"] is not None:
        _lock(chosen["lock"], seen, environment.after(answer.solution), phrases)
    if made is None:
        return 0
    if not chosen["apply"]:
        click.echo(phrases["apply"])
        return 0
    return _apply(seen, made, language, yes=chosen["yes"])


def _title(seen: _Seen) -> str:
    parts = [f"{seen.interpreter.prefix} (Python {seen.interpreter.version}, {seen.interpreter.environment_kind})"]
    if seen.gpus is not None and seen.gpus.gpus:
        parts.append(f"driver {seen.gpus.driver_version}, CUDA {seen.gpus.cuda_driver_version}")
        parts.append(f"{len(seen.gpus.gpus)} x {seen.gpus.gpus[0].name}")
    return " · ".join(parts)


def _change(solution: Any, installed: Mapping[str, str], wishes: Any) -> Any:
    """What is wanted and what the stack is made of first."""
    from doctor import data
    from doctor.mend.environment.solve import HEAVY
    from doctor.render.resolution import SolutionChange

    first = [*wishes.names, *wishes.kept, *HEAVY, *data.packages()]

    def order(pair: tuple[str, ...]) -> tuple[int, str]:
        return (first.index(pair[0]) if pair[0] in first else len(first), pair[0])

    return SolutionChange(
        tuple(sorted(((n, v) for n, v in solution.added.items() if n not in solution.removed), key=order)),
        tuple(sorted(((n, solution.removed[n], solution.added[n]) for n in solution.replaced), key=order)),
        tuple(sorted(((n, v) for n, v in installed.items() if n not in solution.removed), key=order)),
    )


def _shown(change: Any, after: Mapping[str, str], wishes: Any) -> dict[str, str]:
    """What the command names: everything, or of very much only what is wanted, replaced, and of the stack."""
    from doctor import data

    new = {name: version for name, _, version in change.replaced} | dict(change.added)
    if len(new) > _PINS_SHOWN:
        new = {name: new[name] for name in new if name in {*wishes.names, *data.packages()}}
        new |= {name: version for name, _, version in change.replaced}
    return {name: after[name] for name in wishes.names if name in after} | new


def _reasons(limits: Any, misfits: Any, language: str) -> tuple[tuple[str, str, str], ...]:
    of_limits = [
        (", ".join(each.constraints), each.reason_zh if language == "zh" else each.reason, "") for each in limits
    ]
    of_misfits = [
        (
            ", ".join(f"{name}{text}" for name, text in each.when.items()),
            each.cause_zh if language == "zh" else each.cause,
            next(iter(each.links), ""),
        )
        for each in misfits
    ]
    return (*of_limits, *of_misfits)


def _reserved(after: Mapping[str, str], wished: Sequence[str], language: str) -> tuple[tuple[str, str, str], ...]:
    """What the chosen versions are known for in some uses: which ones, under what conditions, why."""
    from doctor.mend.environment.knowledge import reservations

    chinese = language == "zh"
    return tuple(
        (
            ", ".join(f"{name} {after[name]}" for name in rule.when),
            ";".join(rule.conditions_zh) if chinese else "; ".join(rule.conditions),
            rule.cause_zh if chinese else rule.cause,
        )
        for rule in reservations(after, wished)
    )


def _resolution(
    seen: _Seen, wishes: Any, environment: Any, answer: Any, made: Any, of_machine: Any, language: str
) -> Any:
    from doctor.mend.environment import plan, uv
    from doctor.render.resolution import Resolution

    after = environment.after(answer.solution)
    change = _change(answer.solution, environment.installed, wishes)
    pins = _shown(change, after, wishes)
    command = plan.command(seen.packages, seen.interpreter.executable, pins, wishes.wanted) if made else ()
    unseen = (*seen.unseen, *answer.solution.remarks)
    return Resolution(
        _title(seen),
        change,
        _reasons(of_machine, answer.avoided, language),
        _reserved(after, wishes.names, language),
        unseen,
        tuple(plan.unmet(seen.packages, after, seen.interpreter)),
        command,
        uv.taken_over(os.environ) if command[:1] == ("uv",) else {},
        tuple(answer.solution.replaced) if made and not made.reversible else (),
    )


def _apply(seen: _Seen, made: Any, language: str, *, yes: bool) -> int:
    """Save what is installed, install, and let uv check the result."""
    from doctor.base.state import state_folder
    from doctor.mend import journal
    from doctor.mend.environment import plan, uv

    phrases, python = _PHRASES[language], seen.interpreter.executable
    plan.refuse_unfit(seen.interpreter)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(phrases["no_answer"])
        click.confirm(phrases["ask"], abort=True)
    os.environ.update(uv.taken_over(os.environ))
    with journal.locked():
        freeze = state_folder(Path.cwd()) / f"freeze-{time.time_ns()}.txt"
        freeze.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        code, out, err = uv.call(python, ["pip", "freeze"])
        if code != 0:
            raise click.UsageError(err)
        freeze.write_text(out, encoding="utf-8")
        journal.apply(made, Path.cwd())
    click.echo(phrases["done" if made.reversible else "done_for_good"].format(freeze=freeze))
    return subprocess.run([uv.program(), "pip", "check", "--python", python], check=False).returncode


def _undo(language: str) -> int:
    """Bring back the versions from before, unless somebody has changed them since."""
    from doctor.mend import journal, journal_form
    from doctor.mend.environment import plan, uv

    phrases = _PHRASES[language]
    with journal.locked():
        done = [
            each
            for each in journal.entries(Path.cwd())
            if each.problem == plan.PROBLEM and each.state in (journal_form.BEGUN, journal_form.DONE)
        ]
        if not done:
            raise click.UsageError(phrases["nothing_to_undo"])
        entry = done[-1]
        argv = entry.data["plan"]["steps"][0]["argv"]
        packages = _look(argv[argv.index("--python") + 1], language, offline=True).packages
        if entry.state == journal_form.DONE and (names := _changed_since(entry, packages)):
            raise click.UsageError(phrases["changed_since"].format(names=", ".join(names)))
        os.environ.update(uv.taken_over(os.environ))
        journal.undo(entry)
    click.echo(phrases["undone"])
    return 0


def _changed_since(entry: Any, packages: Any) -> list[str]:
    pins = [word.partition("==") for step in entry.data["plan"]["steps"] for word in step["argv"] if "==" in word]
    return [f"{name} {packages.version(name)}" for name, _, version in pins if packages.version(name) != version]
