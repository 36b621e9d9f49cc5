"""`doctor check`: what will go wrong on this machine with this command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.record import replace
from doctor.cli import options
from doctor.cli.outputs import Output
from doctor.cli.working import WORKING, working


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
@click.option("--python", metavar="PATH", help="Judge the environment of this interpreter, venv or conda prefix.")
@click.option(
    "--from", "sources", metavar="FILE", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Judge saved facts, a folder of them (all nodes together), or a pasted report (collect_env, pip list ...).",
)  # fmt: skip
@click.option("--ray", metavar="auto|ADDRESS", help="Judge all nodes of a running Ray cluster together.")
@click.option(
    "--collect", metavar="DIR", type=Output(folder=True),
    help="Write this node's facts to a folder that all nodes share, for --from DIR; with --ray: all nodes' facts.",
)  # fmt: skip
@click.option(
    "--node-timeout", metavar="SECONDS", type=click.FloatRange(min=1), default=60.0, show_default=True,
    help="Timeout for one node of --ray.",
)  # fmt: skip
@click.option("--save-facts", metavar="FILE", type=Output(renamed=True), help="Write the facts, redacted.")
@click.option("--deep", is_flag=True, help="Also import, multiply and communicate, in child processes.")
@click.option(
    "--deep-seconds", metavar="SECONDS", type=click.FloatRange(5, 600),
    help="Longest measurement between nodes of --deep with --collect or --ray.  [default: 60]",
)  # fmt: skip
@click.option("--deep-busy", is_flag=True, help="Measure between nodes even on GPUs that others use.")
@click.option(
    "--no-framework", is_flag=True, help="Do not call the validator of the training framework that the command starts."
)  # fmt: skip
@options.ignore
@options.strict
@options.report
@click.argument("launch_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCH COMMAND]")
def command(launch_command: tuple[str, ...], **chosen: Any) -> int:
    """Find what will go wrong on this machine, with this command, before the launch.

    None of your code is run: files are read, and the interpreter lists its packages in isolation. If the command
    starts a framework with its own validator, that runs in a child process that can neither write nor connect.

    \b
    doctor check
    doctor check -- accelerate launch --config_file zero3.yaml train_grpo.py
    doctor check --python ~/venvs/train
    doctor check --from report.txt
    doctor check --ray auto -- python -m verl.trainer.main_ppo trainer.nnodes=4
    srun --ntasks-per-node=1 doctor check --collect /shared/facts; doctor check --from /shared/facts
    srun --ntasks-per-node=1 doctor check --collect /shared/facts --deep --deep-seconds 30
    """
    from doctor.base.fact import Context
    from doctor.base.garbage import without_garbage_collection

    refuse_contradictions(chosen)
    chosen["format"] = options.form_of(chosen)
    launch_command = as_words(launch_command)
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    context = Context(
        launch_command,
        Path.cwd(),
        dict(os.environ),
        chosen["python"],
        chosen["deep"],
        framework=not chosen["no_framework"],
    )
    if not chosen["sources"]:
        refuse_wrong_python(context)
    if chosen["collect"] and not chosen["ray"]:
        return collect_here(context, chosen)
    if chosen["deep"] and not chosen["ray"]:
        options.notice("importing, multiplying and communicating in child processes; this can take minutes")
    with without_garbage_collection():
        return _examine(context, chosen, settings, language)


def _examine(context: Any, chosen: dict[str, Any], settings: options.UserSettings, language: str) -> int:
    """Judge, draw, and give the exit code."""
    from doctor.diagnosis.diagnose import diagnose

    with working(WORKING[language]["deep" if chosen["deep"] else "looking"]):
        diagnosis, collectors = diagnose(
            context,
            **_patients(context, chosen),
            ignored=settings.ignored,
            also_collect=_every_fact() if chosen["save_facts"] else (),
            language=language,
        )
    script = collectors[0].states.get("script") if collectors else None
    options.warn_of_unknown(settings.ignored, diagnosis, script)
    if chosen["save_facts"]:
        _save(collectors[0], chosen["save_facts"])
    if chosen["deep"] and collectors:
        from doctor.cli.deep_words import with_speeds

        diagnosis = with_speeds(diagnosis, collectors[0].states)
    report = options.show(diagnosis, chosen["format"], chosen["output"], language, verbose=chosen["verbose"])
    if not chosen["sources"]:
        _remember(report)
    return diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict)


def refuse_contradictions(chosen: dict[str, Any]) -> None:
    """Options that ask for different patients, or for a file of one node where many are judged."""
    pairs = (("sources", "--from", "ray", "--ray"), ("sources", "--from", "collect", "--collect"))
    for one, its_name, other, other_name in (*pairs, ("ray", "--ray", "save_facts", "--save-facts")):
        if chosen[one] and chosen[other]:
            hint = "; --collect DIR keeps the facts of all nodes" if other == "save_facts" else ""
            msg = f"{its_name} and {other_name} cannot be combined{hint}"
            raise click.UsageError(msg)
    between_nodes = chosen["deep"] and (chosen["ray"] or chosen["collect"])
    for name, option in (("deep_seconds", "--deep-seconds"), ("deep_busy", "--deep-busy")):
        if chosen[name] and not between_nodes:
            msg = f"{option} is for measurements between nodes: --deep with --collect DIR or --ray ADDRESS"
            raise click.UsageError(msg)
    if chosen["ray"] is not None and not chosen["ray"].strip():
        msg = "--ray is empty (an unset variable?): give `auto` or host:port"
        raise click.UsageError(msg)


def as_words(command: tuple[str, ...]) -> tuple[str, ...]:
    """A whole command given as one quoted word is split as the shell would have done."""
    if len(command) != 1 or not command[0].strip() or len(command[0].split()) == 1 or Path(command[0]).exists():
        return command
    import shlex

    from doctor.base.redact import remember

    remember(command[0])  # without its quotes a secret may have no form any more
    try:
        return tuple(shlex.split(command[0]))
    except ValueError as exc:
        msg = f"cannot split the launch command into words: {exc}"
        raise click.UsageError(msg) from None


def refuse_wrong_python(context: Any) -> None:
    """A mistyped `--python` is an error of use: a report that judged nothing would read like a healthy machine."""
    from doctor.base.fact import Unavailable
    from doctor.readers.patient.target import refuse_wrong_option

    if context.python is not None and not context.python.strip():
        msg = "--python is empty (an unset variable?)"
        raise click.UsageError(msg)
    try:
        refuse_wrong_option(context)
    except Unavailable as exc:
        msg = f"--python: {exc}"
        raise click.UsageError(msg) from None


def collect_here(context: Any, chosen: dict[str, Any]) -> int:
    """Write this node's facts; of several processes on it, the first does."""
    from doctor.cluster.collect import collect
    from doctor.readers.collector import Collector
    from doctor.readers.command.launched_nodes import local_rank

    rank, folder = local_rank(context.environ), chosen["collect"]
    if rank:
        options.notice(f"nothing written: this is process {rank} of its node, and process 0 writes its facts")
        return 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        meeting = _meeting(context, chosen) if chosen["deep"] else None
        collector = Collector(replace(context, gathering=True, meeting=meeting))
        collector.ask(_every_fact())
        path = collect(collector.states, folder)
    except OSError as exc:
        msg = f"cannot write into `{folder}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    options.notice(f"facts of this node written to {path}; when all nodes have finished: doctor check --from {folder}")
    return 0


def _meeting(context: Any, chosen: dict[str, Any]) -> Any:
    """How this node meets the others for `--deep`; the first one tells what load it is going to be."""
    from doctor.cluster.deep import SECONDS, NoMeeting, announcement, meeting

    seconds = chosen["deep_seconds"] or SECONDS
    try:
        found = meeting(context.environ, chosen["collect"], seconds=seconds, forced=chosen["deep_busy"])
    except NoMeeting as exc:
        _tell(f"nothing is measured between nodes: {exc}")
        return None
    if found.node == 0:
        _tell(announcement(found.nodes, seconds, forced=chosen["deep_busy"]))
    return found


def _patients(context: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    """What is judged, as arguments of `diagnose`: this machine, hosts of files, or the nodes of a cluster."""
    from doctor.diagnosis.diagnose import Patient
    from doctor.readers.saved import NotFacts, read

    if chosen["ray"]:
        return {"cluster": _from_ray(context, chosen)}
    sources = chosen["sources"]
    if not sources:
        return {"patients": [Patient()]}
    try:
        nodes = _from_folder(sources)
        if nodes is not None:
            return nodes
        saved = [each for source in sources for each in read(source)]
    except (NotFacts, OSError) as exc:
        raise click.UsageError(str(exc)) from None
    return {"patients": [Patient(each.states, f"`{each.name}`", each.host or each.name) for each in saved]}


def _from_folder(sources: tuple[Path, ...]) -> dict[str, Any] | None:
    """Nodes of facts files, as arguments of `diagnose`; None of a single file, and of pasted reports."""
    from doctor.cluster.gathered import MANIFEST, facts_files, read
    from doctor.diagnosis.diagnose import Patient

    files = facts_files(sources)
    listed = any((source / MANIFEST).exists() for source in sources)
    if files is None or not (files or listed) or (len(files) == 1 and not any(each.is_dir() for each in sources)):
        return None
    gathered = read(sources)
    for note in gathered.notes:
        options.notice(f"warning: {note}")
    if len(gathered.cluster.nodes) > 1 or listed:
        return {"cluster": gathered.cluster}
    (node,) = gathered.cluster.nodes
    return {"patients": [Patient(node.facts, f"`{sources[0]}`", node.name)]}


def _from_ray(context: Any, chosen: dict[str, Any]) -> Any:
    """The nodes of a running Ray cluster; their facts are kept where --collect names a folder."""
    from contextlib import ExitStack

    from doctor.base.scratch import Folder
    from doctor.cluster.gathered import read
    from doctor.cluster.ray_child import RayRefused, interpreter_with_ray
    from doctor.cluster.ray_facts import gather
    from doctor.readers.saved import NotFacts

    with ExitStack() as stack:
        folder = chosen["collect"] or Path(stack.enter_context(Folder("nodes")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            python = interpreter_with_ray(context)
            timeout_s = chosen["node_timeout"]
            gather(context, chosen["ray"], folder, python=python, node_timeout_s=timeout_s, tell=_tell)
            if chosen["deep"]:
                _measure_over_ray(context, chosen, folder, python)
            return read([folder]).cluster
        except (RayRefused, NotFacts) as exc:
            wrong = isinstance(exc, RayRefused) and exc.what == "version"
            msg = f"--ray: {exc}" + ("; name an interpreter of the cluster's versions with --python" if wrong else "")
            raise click.UsageError(msg) from None
        except OSError as exc:
            msg = f"cannot write into `{folder}`: {exc.strerror}"
            raise click.UsageError(msg) from None


def _measure_over_ray(context: Any, chosen: dict[str, Any], folder: Path, python: str) -> None:
    from doctor.cluster.deep import SECONDS, over_ray

    seconds, forced = chosen["deep_seconds"] or SECONDS, chosen["deep_busy"]
    over_ray(context, chosen["ray"], folder, python=python, seconds=seconds, forced=forced, tell=_tell)


def _tell(sentence: str) -> None:
    options.notice(sentence)


def _every_fact() -> tuple[str, ...]:
    from doctor.readers.saved import fact_names

    return fact_names()


def _save(collector: Any, path: Path) -> None:
    from doctor.readers.saved import save

    try:
        save(collector.states, path)
    except OSError as exc:
        msg = f"cannot write `{path}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    options.notice(f"facts written to {path}")


def _remember(report: dict[str, Any]) -> None:
    """Keep the last result for `doctor fix`; a read-only home costs only that."""
    from doctor.base.state import keep_last

    try:
        keep_last("check", Path.cwd(), report)
    except OSError as exc:
        if sys.stderr.isatty():
            options.notice(f"the result could not be saved for `doctor fix`: {exc.strerror}")
