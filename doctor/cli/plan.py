"""`doctor plan`: what a GRPO run will need, what fits, and the files that start it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.json_text import json_text
from doctor.base.whole_file import write_new
from doctor.cli import options
from doctor.cli.outputs import Output
from doctor.cli.working import WORKING, working
from doctor.sizing.setup import ATTENTIONS, HEADS, STRATEGIES

_POSITIVE = click.IntRange(min=1)
_LAUNCH = "doctor.plan.launch"


def _choice(names: tuple[str, ...]) -> click.Choice[str]:
    return click.Choice(names)


class _WithLaunch(click.Command):
    """Keeps what stands behind `--` apart from the model in front of it, which click would mix."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Cut the arguments at the first `--`."""
        if "--" in args:
            cut = args.index("--")
            ctx.meta[_LAUNCH] = tuple(args[cut + 1 :])
            args = args[:cut]
        return super().parse_args(ctx, args)


@click.command(cls=_WithLaunch)
@click.argument("model", required=False, metavar="[MODEL] [-- LAUNCH COMMAND]")
@click.option("--params", type=float, metavar="N", help="Number of parameters, e.g. 7.6e9, instead of a model.")
@click.option("--gpus", metavar="SPEC", help="GPUs of a node: 8xH100, 8x80GiB (default: those of this machine).")
@click.option("--host-memory", type=click.FloatRange(min=1), metavar="GIB", help="Host memory of a node, in GiB.")
@click.option("--nodes", type=_POSITIVE, help="Machines.  [default: 1]")
@click.option(
    "--strategy", type=_choice(STRATEGIES), help="How model states are sharded (default: the least that fits)."
)
@click.option("--offload", type=_choice(("none", "optimizer", "all")), help="What is offloaded to host memory.")
@click.option(
    "--dtype", type=_choice(("float32", "bfloat16", "float16")), help="dtype of the loaded weights (TRL: float32)."
)
@click.option("--mixed", type=_choice(("bf16", "fp16", "no")), help="Mixed precision.  [default: bf16]")
@click.option("--optimizer", type=_choice(("adamw", "adamw-8bit", "sgd")), default="adamw", show_default=True)
@click.option("--lora", type=_POSITIVE, metavar="RANK", help="Train a LoRA adapter of this rank.")
@click.option(
    "--lora-targets", metavar="NAMES", help="Modules of the adapter, separated by commas.  [default: all-linear]"
)
@click.option("--bits", type=_choice(("4", "8")), help="The base model is loaded quantized.")
@click.option("--beta", type=click.FloatRange(min=0), help="KL coefficient; above 0 a reference model is kept.")
@click.option("--batch", type=_POSITIVE, help="per_device_train_batch_size.  [default: 8]")
@click.option("--accumulation", type=_POSITIVE, help="gradient_accumulation_steps.  [default: 1]")
@click.option("--generations", type=_POSITIVE, help="Completions per prompt.  [default: 8]")
@click.option("--prompt-length", type=_POSITIVE, help="Tokens of the longest prompt.  [default: 512]")
@click.option("--completion-length", type=_POSITIVE, help="max_completion_length.  [default: 512]")
@click.option("--iterations", type=_POSITIVE, help="num_iterations.  [default: 1]")
@click.option("--checkpointing/--no-checkpointing", default=None, help="Gradient checkpointing.  [default: on]")
@click.option("--attention", type=_choice(ATTENTIONS), help="Attention kernel.  [default: sdpa]")
@click.option(
    "--head", type=_choice(HEADS), help="How log-probabilities are computed (default: as in the installed TRL)."
)
@click.option(
    "--vllm", type=_choice(("none", "colocate", "server")), help="What generates completions.  [default: colocate]"
)
@click.option("--vllm-share", "share", type=click.FloatRange(0.05, 1.0), help="gpu_memory_utilization.")
@click.option("--tensor-parallel", type=_POSITIVE, help="GPUs for one copy of the engine's weights.")
@click.option("--data-parallel", type=_POSITIVE, help="Copies of a server.")
@click.option("--sleep/--no-sleep", default=None, help="A colocated engine releases its memory while it sleeps.")
@click.option("--rows", type=_POSITIVE, help="Prompts in the dataset, to count steps per epoch.")
@click.option("--epochs", type=click.FloatRange(min=0, min_open=True), help="Epochs.  [default: 1]")
@click.option("--step-seconds", type=click.FloatRange(min=0, min_open=True), help="Measured time per step.")
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix that will train.")
@click.option("--write", metavar="DIR", type=Output(folder=True), help="Write the files to this folder.")
@click.option("--format", "form", type=_choice(("text", "json")), default="text", show_default=True)
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
@click.pass_context
def command(context: click.Context, /, model: str | None, **chosen: Any) -> int:
    """Show what a GRPO run needs on each GPU, whether it fits, and what to change first if it does not.

    MODEL is a folder with config.json, a model in the cache, or a size such as 7B. Exits 1 when it does not fit.

    \b
    doctor plan 7B --gpus 8xH100
    doctor plan ./Qwen2.5-7B --gpus 4x80GiB --vllm server --completion-length 4096
    doctor plan 14B --gpus 8xH100 --rows 7473 --step-seconds 40 --write plan
    doctor plan -- accelerate launch --config_file zero3.yaml train.py --config grpo.yaml
    """
    from doctor.base.fact import Context
    from doctor.cli.check import as_words, refuse_wrong_python
    from doctor.sizing import planning
    from doctor.sizing.architecture import UnreadableConfigError
    from doctor.sizing.sizes import SizeError

    settings = options.user_settings(Path.cwd(), ())
    language = options.language(chosen["lang"], settings)
    argv = as_words(context.meta.get(_LAUNCH, ()))
    refuse_wrong_python(Context(argv, Path.cwd(), dict(os.environ), chosen["python"]))
    try:
        with working(WORKING[language]["sizing"]):
            plan = planning.make(model, argv, chosen, Path.cwd(), dict(os.environ))
    except (planning.PlanError, SizeError, UnreadableConfigError) as exc:
        raise click.UsageError(str(exc)) from None
    if chosen["form"] == "json":
        from doctor.sizing.report import as_dict

        click.echo(json_text(as_dict(plan, language), indent=2))
    else:
        from doctor.render.console import console_for
        from doctor.render.sizing import draw

        draw(plan, console_for(sys.stdout), language)
    if chosen["write"] is not None:
        _write(chosen["write"], plan.launch.files)
    return 1 if plan.verdict.word == "too-large" else 0


def _write(folder: Path, files: Any) -> None:
    """Write the files; not one of them when one is there already."""
    there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        msg = f"`{folder / there[0]}` already exists and is not overwritten"
        raise click.UsageError(msg)
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_new(folder / name, content)
            made.append(folder / name)
    except OSError as exc:
        for each in made:
            each.unlink()
        msg = f"cannot write `{exc.filename}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    options.notice(f"written to {folder}: {', '.join(files)}")
