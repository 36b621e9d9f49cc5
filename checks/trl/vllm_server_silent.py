"""GRPO expects a vLLM server and none answers.

## What it means
With `use_vllm=True` in server mode (the default of TRL 0.16 to 0.29) the main process connects to a server
that must be started beside the training. From TRL 1.0 the default is `colocate`, which needs none.
## What it does to a run
The main process waits for `vllm_server_timeout` seconds (240 since 0.17) and then raises ConnectionError;
the other ranks wait with it.
## What to do
Start the server first, or set `vllm_mode="colocate"` (TRL 0.18 and newer).
## How it is found
The address that the configuration names was asked for a TCP connection.
In a log: by the exception of TRL's client.
## References
https://huggingface.co/docs/trl/vllm_integration
https://github.com/huggingface/trl/blob/v0.18.0/trl/extras/vllm_client.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._helpers import config_place, installed, is_grpo, quoted, unsloth_replaces, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL012", name="vllm-server-silent", severity=ERROR, since="0.1", affects={"trl": ">=0.16"})

SIGNATURES = (
    Signature(
        r"ConnectionError: The vLLM server can't be reached at (?P<address>[^\s]{1,200}) after"
        r" (?P<seconds>[\d.]{1,12}) seconds",
    ),
    Signature(
        r"ConnectionError: Servers not reachable after (?P<seconds>[\d.]{1,12})s: \['(?P<address>[^'\s]{1,200})'"
    ),
    Signature(r"Server is not up yet\. Retrying in [\d.]{1,8} seconds", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no vLLM server answered at {address} within {seconds} s",
        "`use_vllm=True` ran in server mode: the trainer does not start vLLM itself, it expects a server "
        "of its own kind at that address. None was running there, or it was still loading.",
        "Start the server on GPUs of its own and wait until it is up before training (`trl vllm-serve "
        "--model ...`; from TRL 1.11 `VLLM_SERVER_DEV_MODE=1 vllm serve ...`), raise "
        "`vllm_server_timeout` for a model that loads longer than {seconds} s, or let vLLM share the "
        'GPUs with `vllm_mode="colocate"` (TRL 0.18 and newer). ms-swift: `swift rollout --model ...` and '
        "`--vllm_server_timeout`; a proxy in between needs `no_proxy` for that host.",
    ),
    zh=Words(
        "{address} 处的 vLLM 服务器在 {seconds} 秒内没有应答",
        "`use_vllm=True` 以 server 模式运行:训练器不会自行启动 vLLM,而是期待该地址上有一个服务器。那里没"
        "有运行服务器,或服务器仍在加载。",
        "训练前先在单独的 GPU 上启动服务器并等待其就绪(`trl vllm-serve --model ...`;TRL 1.11 起为 "
        "`VLLM_SERVER_DEV_MODE=1 vllm serve ...`);若模型加载超过 {seconds} 秒,提高 `vllm_server_timeout`;"
        '或用 `vllm_mode="colocate"` 让 vLLM 共用 GPU(TRL 0.18 及以上)。'
        "ms-swift 对应 `swift rollout --model ...` 和 `--vllm_server_timeout`;中间有代理时,为该主机设置 `no_proxy`。",
    ),
)

LOG_COMMANDS = ('vllm_mode="colocate"',)

MESSAGE = Message(
    en=Words(
        "no vLLM server answers at {host}:{port}, which `use_vllm` in server mode needs",
        "The trainer waits for the server until its time-out and then raises ConnectionError, while all "
        "other ranks wait.",
        "Start the server on GPUs of its own before the training.",
    ),
    zh=Words(
        "{host}:{port} 上没有 vLLM 服务器应答,而 server 模式的 `use_vllm` 需要它",
        "训练器会一直等到超时,然后抛出 ConnectionError,期间其他 rank 也在等待。",
        "在训练之前,用单独的 GPU 启动服务器。",
    ),
)

MESSAGE_DEFAULT = Message(
    en=Words(
        "no vLLM server answers at {host}:{port}; server mode is the default of TRL {version}",
        "`vllm_mode` is not set, and TRL {version} then expects a server. The trainer waits until its "
        "time-out and raises ConnectionError.",
        "Start the server on GPUs of its own before the training, or let vLLM share the GPUs of the training.",
    ),
    zh=Words(
        "{host}:{port} 上没有 vLLM 服务器应答;server 是 TRL {version} 的默认模式",
        "未设置 `vllm_mode` 时,TRL {version} 需要一个服务器。训练器会等到超时并抛出 ConnectionError。",
        "在训练之前用单独的 GPU 启动服务器,或让 vLLM 与训练共用 GPU。",
    ),
)

#: what `trl vllm-serve` of 1.11 and newer runs
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
SERVE_NATIVE = (
    'VLLM_SERVER_DEV_MODE=1 vllm serve {model} --weight-transfer-config \'{{"backend": "nccl"}}\' '
    "--logprobs-mode processed_logprobs --max-logprobs -1"
)


def _start(version: str, model: str) -> str:
    """Return the command that serves a model for this trainer."""
    release = data.trl_release(version)
    wrapped = release is not None and release.serve == "wrapper"
    return SERVE_NATIVE.format(model=model) if wrapped else f"trl vllm-serve --model {model}"


@check(PROBLEM)
def vllm_server_silent(training: Training, network: Network, packages: Packages, script: Script | None) -> Judgement:
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
        yield Skip("the address of the vLLM server was not asked")
        return
    if endpoint.answers:
        return
    setting = training.get("vllm_mode")
    offers_colocate = setting is None and bool(packages.matches("trl", ">=0.18"))
    model = training.model.text if training.model and training.model.known else "MODEL"
    yield found(
        PROBLEM,
        MESSAGE_DEFAULT if offers_colocate else MESSAGE,
        where=place_of(setting, training.get("use_vllm"), otherwise=config_place(training)),
        evidence=quoted(training.get("use_vllm"), setting),
        commands=(_start(version, model), *(('vllm_mode="colocate"',) if offers_colocate else ())),
        confidence=LIKELY,
        host=endpoint.host,
        port=endpoint.port,
        version=version,
    )
