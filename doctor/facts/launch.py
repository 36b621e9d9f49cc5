"""The launch command: which program starts what, with which options, files and variables."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from doctor.base.evidence import Observed, Place
from doctor.base.fact import Settings
from doctor.base.record import record

Kind = Literal[
    "accelerate", "torchrun", "deepspeed", "python", "trl", "trl-vllm-serve", "vllm-serve", "vllm-api-server",
    "vllm-openai-server", "verl", "trinity", "swift", "swift-rollout", "ray", "unknown",
]  # fmt: skip


@record
class Cut:
    """Where the shell ends a command that goes on in the script, as written.

    `place`: the line that ends it; `by`: a blank behind its backslash, a comment, or nothing that joins the lines;
    `lost`: names of the options below, which the shell takes for another command.
    """

    place: Place
    by: Literal["blank", "comment", "not joined"]
    lost: tuple[str, ...] = ()


@record
class Stop:
    """Where a script ends by itself before it starts anything: `code` of its exit, and what it printed before."""

    place: Place
    code: str
    said: str = ""


@record
class Beside:
    """Another command that the same script starts: a server, a node of Ray, a second training.

    `kind`, `subcommand`, `options`, `arguments`, `environment` and `wrappers` are those of `Launch`; `certain`: it does
    not hang on a condition.
    """

    argv: tuple[str, ...]
    kind: Kind
    subcommand: str | None = None
    options: Settings = field(default_factory=dict)
    arguments: Settings = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    place: Place | None = None
    certain: bool = True


@record
class Launch:
    """A launch command, understood without running anything.

    Args:
        argv: the command as given, assignments and wrappers included.
        environment: what `VAR=value` and `env` in front of it set.
        wrappers: programs in front of it, `("nohup", "timeout", "srun")`.
        kind: the launcher or program that decides how processes are made.
        program: the word that PATH resolves, `accelerate` or `python`; `module` for `python -m module`.
        options: the launcher's own options, long names in snake case: `num_processes`, `config_file`.
        script: absolute path of the training script, None where there is none; `script_args` follow it.
        arguments: `--key value` pairs of script, trl or vllm in snake case (`vllm serve MODEL` gives `model`).
        overrides: `key=value` words of Hydra programs (verl), dotted names, without leading `+`.
        not_understood: why the rest could not be understood, None when it was.
        subcommand: `grpo` of `trl grpo`, `rlhf` of `swift rlhf`, `run` of `trinity run`, `start` of `ray start`.
        folder: where the command runs: the current folder, or what `cd`, `env -C`, `srun --chdir` ... make of it.
        unset, ignores_environment: variables that `env -u` takes away; whether `env -i` takes all.
        unknown_options: options in front of the script that no version of the launcher has.
        wrapper_options: what wrappers say about processes, `srun.ntasks`, `mpirun.ntasks`; what a job asks Slurm for,
            `sbatch.gpus_per_node`; options of a container, `docker.shm_size`.
        read_from: where the command stands: the script, Makefile or notebook that was given, and what it starts in
            turn; then `argv` is that command. Empty for a command that was given itself.
        cut: where the command of a script ends before its last line.
        stop: where the script ends with a failure of its own before it starts anything.
        unclear: what could not be known without running the script, a clause each.
        missing: a script or file that the command starts and that does not exist.
        misspelt, meant: a word that is nearly the name of a program or of its subcommand, and that name.
        beside: what the script starts as well.
        image: of the container that the command runs in; its packages are not this machine's.
        made: files and folders, in full, that lines of the script before it write or name: they may come to be there.

    Secrets in all of these are shown as `***`.

    """

    argv: tuple[str, ...]
    kind: Kind
    program: str = ""
    module: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    options: Settings = field(default_factory=dict)
    script: str | None = None
    script_args: tuple[str, ...] = ()
    arguments: Settings = field(default_factory=dict)
    overrides: Settings = field(default_factory=dict)
    not_understood: str | None = None
    subcommand: str | None = None
    folder: str = ""
    unset: frozenset[str] = frozenset()
    ignores_environment: bool = False
    unknown_options: tuple[str, ...] = ()
    wrapper_options: Settings = field(default_factory=dict)
    read_from: tuple[Place, ...] = ()
    unclear: tuple[str, ...] = ()
    cut: Cut | None = None
    missing: str | None = None
    misspelt: str | None = None
    meant: str | None = None
    image: str | None = None
    beside: tuple[Beside, ...] = ()
    made: tuple[str, ...] = ()
    stop: Stop | None = None

    def may_make(self, path: str) -> bool:
        """Whether lines before the command may write a file: they name it, or a folder that holds it."""
        full = posixpath.normpath(posixpath.join(self.folder, path))
        inside = [each for each in self.made if not f"{self.folder}/".startswith(f"{each.rstrip('/')}/")]
        return any(full == each or full.startswith(f"{each}/") for each in inside)

    @property
    def trains(self) -> bool:
        """Whether the command starts training (as against serving a model or starting a Ray node)."""
        return self.kind in {"accelerate", "torchrun", "deepspeed", "python", "trl", "verl", "trinity", "swift"}

    @property
    def serves(self) -> bool:
        """Whether the command starts an inference server."""
        return self.kind in {
            "trl-vllm-serve", "vllm-serve", "vllm-api-server", "vllm-openai-server", "swift-rollout"
        }  # fmt: skip

    def option(self, name: str) -> Observed | None:
        """A launcher option in snake case, None when not given."""
        return self.options.get(name)
