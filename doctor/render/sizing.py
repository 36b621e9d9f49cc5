"""Draws a plan on a terminal: a table of the phases, the verdict, the engine, the batch, and how to start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from doctor.render.console import can_draw, prose
from doctor.render.ink import Text
from doctor.render.wrapping import wrapped
from doctor.sizing.setup import GIB
from doctor.sizing.verdict import spelled
from doctor.sizing.words import WORDS

if TYPE_CHECKING:
    from doctor.render.ink import Console


_STYLES = {"fits": "bold green", "unsure": "bold yellow", "too-large": "bold red"}
_SIGNS = {"fits": ("✓", "+"), "unsure": ("▲", "!"), "too-large": ("✗", "x")}
_BAR = 8
_WIDEST = 400  # columns, more than the table ever takes
_BLOCKS = "█▓░"
_PLAIN = "#+."
Words = Mapping[str, str]


def draw(plan: Any, console: Console, language: str) -> None:
    """Print the plan; 80 columns do, and on fewer the table is folded."""
    words = WORDS[language]
    _title(plan, console, words)
    console.print()
    table = _table(plan, console, words)
    if console.measure(table, options=console.options.update(width=_WIDEST)).maximum > console.width:
        table = _table(plan, console, words, narrow=True)
    console.print(table)
    console.print()
    _verdict(plan, console, words)
    _engine(plan, console, words)
    _batch(plan, console, words)
    _start(plan, console, words)
    _notes(plan, console, words)


def gib(size: float) -> str:
    """Bytes as GiB with one digit, `·` for what is less than half of the last one."""
    return f"{size / GIB:,.1f}" if size / GIB >= 0.05 else "·"


def count(number: float) -> str:
    """7615616512 -> 7.62 B."""
    return f"{number / 1e9:.3g} B" if number >= 1e9 else f"{number / 1e6:.3g} M"


def _title(plan: Any, console: Console, words: Words) -> None:
    setup, shape = plan.setup, plan.setup.shape
    console.print(Text(words["title"].format(model=shape.name), style="bold"))
    facts = [
        words["parameters"].format(count=count(shape.parameters)),
        setup.mixed if setup.mixed != "no" else setup.weights,
    ]
    if shape.most_experts:
        facts.append(words["active"].format(count=count(shape.active)))
    if setup.lora:
        facts.append(words["trained"].format(count=count(setup.trained)))
    cards = setup.hardware
    name = f"{cards.name} ({gib(cards.gpu_bytes)} GiB)" if cards.name else ""
    total = cards.total
    gpus = (
        words["gpus"].format(count=setup.trainers, name=name)
        if name
        else words["gpus_of"].format(count=setup.trainers, size=gib(cards.gpu_bytes))
    )
    facts.append(words["on"].format(strategy=spelled(setup), gpus=gpus))
    if setup.rollout.gpus:
        facts.append(words["server_on"].format(count=setup.rollout.gpus, total=total))
    _line(console, Text(" · ".join(facts), style="dim"), indent=0)


def _table(plan: Any, console: Console, words: Words, *, narrow: bool = False) -> Table:
    """What is needed in each phase; a narrow one has the bounds in two rows and no bars."""
    phases = plan.budget.phases
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(words["head_table"], no_wrap=not narrow)
    peak = plan.budget.peak.name
    for phase in phases:
        style = "bold" if phase.name == peak else ""
        table.add_column(words[f"phase_{phase.name}"], justify="right", style=style, no_wrap=True)
    keys = list(dict.fromkeys(part.key for phase in phases for part in phase.parts))
    order = [each for each in keys if each not in {"context", "slack"}]
    for key in (*order, *(each for each in ("context", "slack") if each in keys)):
        sizes = [sum(part.likely for part in phase.parts if part.key == key) for phase in phases]
        if any(size / GIB >= 0.05 for size in sizes):
            table.add_row(words[f"part_{key}"], *(gib(size) for size in sizes))
    table.add_row(Text(words["total"], style="bold"), *(Text(gib(phase.likely), style="bold") for phase in phases))
    if narrow:
        table.add_row(Text(words["low"], style="dim"), *(Text(gib(phase.low), style="dim") for phase in phases))
        table.add_row(Text(words["high"], style="dim"), *(Text(gib(phase.high), style="dim") for phase in phases))
    else:
        bounds = (f"{gib(phase.low)} – {gib(phase.high)}" for phase in phases)
        table.add_row(Text(words["range"], style="dim"), *(Text(each, style="dim") for each in bounds))
    limit = plan.setup.hardware.gpu_bytes
    shares = (_bar(phase, limit, console)[-6 if narrow else 0 :] for phase in phases)
    table.add_row(Text(words["of_gpu"], style="dim"), *shares)
    return table


def _bar(phase: Any, limit: int, console: Console) -> Text:
    """What is expected, what it may become, what is free; red where it goes over the edge."""
    signs = _BLOCKS if can_draw(console, _BLOCKS) else _PLAIN
    likely, high = (min(_BAR, round(size / limit * _BAR)) for size in (phase.likely, phase.high))
    style = "red" if phase.low > limit else "yellow" if phase.high > limit else "green"
    bar = Text()
    bar.append(signs[0] * likely, style=style)
    bar.append(signs[1] * max(0, high - likely), style=style)
    bar.append(signs[2] * (_BAR - max(likely, high)), style="dim")
    bar.append(f"{phase.likely / limit * 100:4.0f} %", style=style)
    return bar


def _line(console: Console, text: Text | str, indent: int = 2, style: str = "") -> None:
    """A paragraph, wrapped under its indent."""
    shown = prose(text, style) if isinstance(text, str) else text
    for part in wrapped(shown, max(20, console.width - indent)):
        part.rstrip()
        console.print(Text(" " * indent) + part)


def _head(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _verdict(plan: Any, console: Console, words: Words) -> None:
    verdict, limit = plan.verdict, plan.setup.hardware.gpu_bytes
    phases = plan.budget.phases
    signs = _SIGNS[verdict.word]
    sign = signs[0] if can_draw(console, signs[0]) else signs[1]
    style = _STYLES[verdict.word]
    low, high = max(each.low for each in phases), max(each.high for each in phases)
    values = {"low": gib(low), "high": gib(high), "limit": gib(limit), "room": f"{verdict.room * 100:.0f}"}
    lines = [] if verdict.gpu == "fits" and verdict.word != "fits" else [words[verdict.gpu].format(**values)]
    served, host = plan.budget.engine, plan.budget.host.likely
    if served is not None and verdict.cache == "too-large":
        lines.append(
            words["cache_none"].format(
                weights=gib(served.weights), working=gib(served.working), cache=f"{served.cache / GIB:.1f}",
                share=gib(served.share),
            )
        )  # fmt: skip
    if verdict.cache == "unsure":
        lines.append(words["cache_tight"])
    if verdict.host in {"unsure", "too-large"}:
        key = "host_small" if verdict.host == "too-large" else "host_tight"
        lines.append(
            words[key].format(
                need=gib(plan.budget.host.low if verdict.host == "too-large" else host),
                memory=gib(plan.setup.hardware.host_bytes),
                most=gib(plan.budget.host.high),
            )
        )
    for number, line in enumerate(lines):
        for part_number, part in enumerate(wrapped(Text(line, style=style), console.width - 2)):
            first = number == 0 and part_number == 0
            part.rstrip()
            console.print(Text(f"{sign} " if first else "  ", style=style) + part)
    if host and verdict.host in {None, "fits"}:
        _line(console, words["host"].format(need=gib(host), most=gib(plan.budget.host.high)), style="dim")
    _advice(plan, console, words)


def _advice(plan: Any, console: Console, words: Words) -> None:
    if plan.verdict.word == "fits":
        return
    if plan.advice is None:
        _line(console, words["nothing_helps"])
        return
    _changes(plan.advice, console, words, "first")
    if plan.advice.verdict.word == "too-large":
        _line(console, words["nothing_helps"])
    for other in plan.advice.others:
        _changes(other, console, words, "instead")


def _changes(advice: Any, console: Console, words: Words, first: str) -> None:
    """Changes in their order, and what comes of them."""
    changes = advice.changes
    width = max(Text(words[key]).cell_len for key in ("first", "then", "instead"))
    for number, change in enumerate(changes):
        label = Text(words[first if number == 0 else "then"], style="dim")
        label.append(" " * (width - label.cell_len + 2))
        text = prose(words[f"change_{change.key}"].format(before=change.before, after=change.after))
        for line_number, line in enumerate(wrapped(text, console.width - width - 4)):
            console.print(Text("  ") + (label if line_number == 0 else Text(" " * (width + 2))) + line)
    outcome = words[f"word_{advice.verdict.word}"]
    _line(console, words["with_it" if len(changes) == 1 else "with_them"].format(word=outcome))


def _engine(plan: Any, console: Console, words: Words) -> None:
    served, rollout = plan.budget.engine, plan.setup.rollout
    if served is None:
        return
    _head(console, words["engine"])
    copies, parallel = served.replicas, served.tensor_parallel
    gpus = rollout.tensor_parallel * rollout.data_parallel
    counts = (parallel, copies) if rollout.engine == "colocate" else (gpus,)
    key = "_".join([f"engine_{rollout.engine}", *("one" if each == 1 else "many" for each in counts)])
    share = f"{rollout.share * 100:.0f} %"
    _line(console, words[key].format(share=share, tp=parallel, copies=copies, gpus=gpus))
    _line(console, words["engine_memory"].format(
        weights=gib(served.weights), working=gib(served.working), cache=f"{served.cache / GIB:.1f}",
    ))  # fmt: skip
    _line(console, words["engine_cache"].format(
        token=f"{served.token / 1024:.0f}", sequences=f"{served.sequences:,}", wanted=f"{served.wanted:,}",
    ))  # fmt: skip


def _batch(plan: Any, console: Console, words: Words) -> None:
    batches, setup = plan.batches, plan.setup
    _head(console, words["batch"])
    if batches.prompts is None:
        suggested = ", ".join(map(str, batches.suggested)) or "-"
        values = {"completions": batches.completions, "generations": setup.generations, "suggested": suggested}
        _line(console, words["batch_broken"].format(**values), style="yellow")
        return
    _line(console, words["batch_generation"].format(
        completions=f"{batches.completions:,}", prompts=f"{batches.prompts:,}", generations=setup.generations,
        tokens=f"{batches.tokens:,}",
    ))  # fmt: skip
    _line(console, words["batch_step"].format(
        completions=f"{batches.completions_a_step:,}", prompts=f"{batches.prompts_a_step:g}",
    ))  # fmt: skip
    if batches.steps_an_epoch is not None:
        _line(console, words["epoch"].format(steps=f"{batches.steps_an_epoch:,.0f}"))
    if batches.hours is not None:
        _line(console, words["hours"].format(hours=f"{batches.hours:,.1f}", seconds=f"{plan.step_seconds:g}"))


def _start(plan: Any, console: Console, words: Words) -> None:
    _head(console, words["start"])
    for argv in plan.launch.commands:
        shown = argv[1:] if argv[0] == "env" else argv
        console.print(Text(f"  {_joined(shown)}", style="green"), soft_wrap=True)
    _line(console, words["files"].format(names=", ".join(f"`{each}`" for each in plan.launch.files)), style="dim")


def _joined(argv: tuple[str, ...]) -> str:
    """Words for a shell; assignments in front stay as they are."""
    return " ".join(each if "=" in each and each.split("=")[0].isupper() else shlex.quote(each) for each in argv)


def _notes(plan: Any, console: Console, words: Words) -> None:
    _head(console, words["notes"])
    for key, values in plan.notes:
        text = prose(words[f"note_{key}"].format(**values), "dim")
        for number, line in enumerate(wrapped(text, console.width - 4)):
            console.print(Text("  · " if number == 0 else "    ", style="dim") + line)
