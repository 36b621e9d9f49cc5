"""Judges bf16-without-gpu (TRF007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Message, Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import config_place, installed, quoted
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
BUILD = TOML["build"]
MACHINE = TOML["machine"]


#: distributions that bring a device of another maker to torch
OTHER_DEVICES = {
    "torch-npu", "torch-xla", "torch-musa", "intel-extension-for-pytorch", "optimum-habana", "torch-neuronx",
}  # fmt: skip


def _wants_bf16(training: Training, trl_version: str) -> bool | None:
    """Tell whether bf16 will be on; None when it cannot be told."""
    bf16, fp16 = training.get("bf16"), training.get("fp16")
    if (bf16 is not None and not bf16.known) or (fp16 is not None and not fp16.known):
        return None
    if bf16 is not None and bf16.known and bf16.value is not None:
        return truth(bf16.value)
    if not training.complete:
        return None
    history = data.trl_argument(training.config_class or "", "bf16")
    by_default = history is not None and history.default_in(trl_version) == "None"
    return by_default and not (fp16 is not None and truth(fp16.value))


def _no_cuda(packages: Packages, nvidia: Nvidia | None, gpus: Gpus | None) -> str | None:
    """Say how it is known that torch has no GPU: "build" or "machine"; None when it is not."""
    build = packages.torch_build
    if build is None or build.hip or "xpu" in build.version or OTHER_DEVICES & set(packages.distributions):
        return None
    if build.cuda is None:
        return "build"
    sees_none = nvidia is not None and nvidia.pci_devices == 0 and not nvidia.device_nodes
    return "machine" if sees_none and (gpus is None or not gpus.gpus) else None


@check(PROBLEM)
def bf16_on_cpu_build(
    training: Training, packages: Packages, interpreter: Interpreter, nvidia: Nvidia | None, gpus: Gpus | None
) -> Judgement:
    """A build of torch without CUDA, whatever the machine has."""
    if _no_cuda(packages, nvidia, gpus) == "build":
        yield from _judged(training, packages, interpreter, BUILD)


@check(PROBLEM, requires=("LCH008",))
def bf16_without_gpu(
    training: Training, packages: Packages, interpreter: Interpreter, nvidia: Nvidia | None, gpus: Gpus | None
) -> Judgement:
    """A machine without a GPU; where that is found of the command itself, this follows from it."""
    if _no_cuda(packages, nvidia, gpus) == "machine":
        yield from _judged(training, packages, interpreter, MACHINE)


def _judged(training: Training, packages: Packages, interpreter: Interpreter, message: Message) -> Judgement:
    if interpreter.platform != "linux" or truth(training.value("use_cpu")) or truth(training.value("no_cuda")):
        return
    known_class = training.config_class == "TrainingArguments" or data.trl_class(training.config_class or "")
    if not known_class:
        return
    wanted = _wants_bf16(training, installed(packages, "trl"))
    use_cpu = training.get("use_cpu")
    if wanted is None or (use_cpu is not None and not use_cpu.known):
        yield Skip("whether the run uses bf16 or the CPU could not be read without running the script")
        return
    if wanted:
        yield found(
            PROBLEM,
            message,
            where=place_of(training.get("bf16"), otherwise=config_place(training)),
            evidence=quoted(training.get("bf16")),
            commands=("use_cpu=True",),
            torch=packages.torch_build.version if packages.torch_build else None,
            version=installed(packages, "transformers"),
        )
