"""Judges vllm-server-silent (TRL012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Message, Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.bf16 import bf16_native, saved_in_bf16
from doctor.catalogue.shared.engine_gpus import release_of
from doctor.catalogue.shared.trainers import (
    config_place,
    installed,
    is_grpo,
    listing,
    quoted,
    unsloth_replaces,
    vllm_mode,
)
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Beside, Launch
from doctor.facts.model import Model
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_DEFAULT = TOML["default"]
MESSAGE_ONE_GPU = TOML["one_gpu"]
MESSAGE_PORT = TOML["another_port"]

#: servers that a training asks for answers, all of which listen on port 8000 if nothing else is said
#: (https://github.com/huggingface/trl/blob/v1.10.0/trl/scripts/vllm_serve.py,
#: https://github.com/modelscope/ms-swift/blob/v4.3.1/swift/arguments/deploy_args.py)
_ASKED = frozenset({"trl-vllm-serve", "vllm-serve", "vllm-openai-server", "swift-rollout"})
_PORT = 8000
_SERVERS = frozenset({"trl-vllm-serve", "vllm-serve"})
LOCAL = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "::"})  # noqa: S104 - compared, never bound

#: what `trl vllm-serve` of 1.11 and newer runs
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
SERVE_NATIVE = (
    'VLLM_SERVER_DEV_MODE=1 vllm serve {model} --weight-transfer-config \'{{"backend": "nccl"}}\' '
    "--logprobs-mode processed_logprobs --max-logprobs -1"
)


def start_command(version: str, model: str) -> str:
    """Return the command that serves a model for this trainer."""
    release = data.trl_release(version)
    wrapped = release is not None and release.serve == "wrapper"
    return SERVE_NATIVE.format(model=model) if wrapped else f"trl vllm-serve --model {model}"


def _dtype(packages: Packages, gpus: Gpus | None, model: Model | None) -> str:
    """What a vLLM that does not fall back needs for a model saved in bf16 on a card that computes none."""
    release = release_of(packages)
    old = bf16_native(gpus, None) is False
    refused = release is not None and release.auto_dtype_falls_back is False
    return " --dtype half" if old and refused and saved_in_bf16(model) else ""


def _remedy(
    training: Training, packages: Packages, gpus: Gpus | None, stored: Model | None, host: str
) -> tuple[Message, tuple[str, ...]]:
    """What is said and done: a server is started, or the engine shares the trainer's GPU."""
    colocate = ('vllm_mode="colocate"',) if packages.matches("trl", ">=0.18") else ()
    if gpus is not None and len(gpus.gpus) == 1 and host in LOCAL:  # the trainer has it: no server fits beside
        return MESSAGE_ONE_GPU, colocate
    model = training.model.text if training.model and training.model.known else "MODEL"
    start = start_command(installed(packages, "trl"), model) + _dtype(packages, gpus, stored)
    if training.get("vllm_mode") is None and colocate:
        return MESSAGE_DEFAULT, (start, *colocate)
    return MESSAGE, (start,)


@check(PROBLEM)
def vllm_server_silent(
    training: Training,
    network: Network,
    packages: Packages,
    script: Script | None,
    gpus: Gpus | None,
    stored: Model | None,
    launch: Launch | None,
) -> Judgement:
    """Judge the answer of the address; a server that is started later is why it is only likely."""
    version = installed(packages, "trl")
    if not is_grpo(training) or unsloth_replaces(script):
        return  # Unsloth generates in the process of the training
    mode = vllm_mode(training, version)
    if mode is None:
        yield Skip("whether and how GRPO uses vLLM could not be read without running the script")
        return
    endpoint = network.endpoint("vllm_server")
    if mode != "server":
        return
    if endpoint is None or endpoint.answers is None:
        yield Skip("the address of the vLLM server was not queried")
        return
    if endpoint.answers:
        return
    if launch is not None and any(each.kind in _SERVERS for each in launch.beside):
        yield Skip("the script that was given starts the vLLM server itself")
        return
    setting = training.get("vllm_mode")
    message, commands = _remedy(training, packages, gpus, stored, endpoint.host)
    yield found(
        PROBLEM, message, where=place_of(setting, training.get("use_vllm"), otherwise=config_place(training)),
        evidence=quoted(training.get("use_vllm"), setting), commands=commands, confidence=LIKELY, host=endpoint.host,
        port=endpoint.port, version=version,
    )  # fmt: skip


@check(PROBLEM)
def server_on_another_port(launch: Launch | None, training: Training | None) -> Judgement:
    """The server that the same script starts, against the port that the training is told."""
    if launch is None:
        return
    servers = [each for each in launch.beside if each.kind in _ASKED and each.certain]
    given = {**(training.arguments if training is not None else {}), **launch.arguments}
    asked, host, mode = (given.get(f"vllm_{name}") for name in ("server_port", "server_host", "mode"))
    elsewhere = host is not None and host.value not in LOCAL
    if not servers or asked is None or elsewhere or given.get("vllm_server_base_url") is not None:
        return
    if mode is not None and mode.value != "server":
        return
    ports = [_listens(each) for each in servers]
    port = whole(asked.value) if asked.known else None
    if port is None or None in ports or port in ports:
        return
    yield found(
        PROBLEM, MESSAGE_PORT, where=place_of(asked), confidence=LIKELY, port=port, ports=listing(ports),
        evidence=tuple(Observed.quoted("server", " ".join(each.argv)) for each in servers),
    )  # fmt: skip


def _listens(server: Beside) -> int | None:
    """Its port; None where it is not known before the script runs."""
    setting = server.arguments.get("port") or server.options.get("port")
    if setting is None:
        return _PORT
    return whole(setting.value) if setting.known else None
