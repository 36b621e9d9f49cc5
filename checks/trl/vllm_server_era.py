"""The vLLM server speaks another protocol than the trainer.

## What it means
TRL's server changed its routes twice: 0.16 (`/get_tensor_parallel_size/`), 0.17 to 1.10
(`/get_world_size/`, `/init_communicator/`) and 1.11 on, where it is vLLM's own server with its development
routes. Trainer and server must come from the same era.
## What it does to a run
The first call of the trainer gets 404 and raises, at start-up or at the first weight update.
## What to do
Start the server from the environment that trains.
## How it is found
The routes of the server that answers at the configured address, against the installed TRL.
In a log: by the exception of TRL's client.
## References
https://github.com/huggingface/trl/blob/v0.16.1/trl/extras/vllm_client.py
https://github.com/huggingface/trl/blob/v1.10.0/trl/generation/vllm_client.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_client.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, vllm_mode
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.network import Network
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL013", name="vllm-server-of-another-era", severity=ERROR, since="0.1", affects={"trl": ">=0.16"}
)

SIGNATURES = (
    Signature(r"^Exception: Request failed: 404, ", frame=r"trl/(?:extras|generation)/vllm_client\.py:"),
    Signature(
        r"RuntimeError: The vLLM server at (?P<address>[^\s]{1,200}) does not expose its development"
        r" endpoints",
    ),
    Signature(r"RuntimeError: The vLLM server at (?P<address>[^\s]{1,200}) has no weight-transfer engine"),
    Signature(
        r"RuntimeError: The vLLM server at (?P<address>[^\s]{1,200}) does not serve"
        r" `/v1/chat/completions/render`",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the vLLM server lacks an endpoint that this TRL calls (404 Not Found)",
        "A server answers there, but not with the routes that the trainer needs for weight "
        "synchronization: it is a plain `vllm serve`, or `trl vllm-serve` of another TRL release. TRL "
        "0.16 asks `/get_tensor_parallel_size/`, 0.17 to 1.10 `/get_world_size/`, from 1.11 on vLLM's "
        "own weight-transfer endpoints.",
        "With TRL up to 1.10 stop that server and start `trl vllm-serve --model ...` from the "
        "environment that trains, the same TRL on both sides. From TRL 1.11 on start "
        '`VLLM_SERVER_DEV_MODE=1 vllm serve ... --weight-transfer-config \'{{"backend":"nccl"}}\'`.',
    ),
    zh=Words(
        "vLLM 服务器没有该版本 TRL 所调用的接口(404 Not Found)",
        "那里有服务器应答,但没有训练器同步权重所需的路由:它是普通的 `vllm serve`,或另一版本 TRL 的 `trl "
        "vllm-serve`。TRL 0.16 请求 `/get_tensor_parallel_size/`,0.17 至 1.10 请求 "
        "`/get_world_size/`,1.11 起使用 vLLM 自带的权重传输接口。",
        "TRL 1.10 及以下:停止该服务器,用训练所在的环境启动 `trl vllm-serve --model ...`,两侧 TRL 版本相同"
        "。TRL 1.11 起:启动 `VLLM_SERVER_DEV_MODE=1 vllm serve ... --weight-transfer-config "
        '\'{{"backend":"nccl"}}\'`。',
    ),
)

LOG_MESSAGE_NATIVE = Message(
    en=Words(
        "the vLLM server at {address} was started without what TRL needs for weight synchronization",
        "From TRL 1.11 on the trainer pushes weights through vLLM's own server, which exposes the "
        "endpoints for it only in development mode and with a weight-transfer engine.",
        "Restart the server as `VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config "
        '\'{{"backend":"nccl"}}\' --logprobs-mode processed_logprobs --max-logprobs -1`; for images add '
        "`--enable-scale-out` (vLLM 0.30 and newer).",
    ),
    zh=Words(
        "{address} 处的 vLLM 服务器启动时缺少 TRL 同步权重所需的选项",
        "自 TRL 1.11 起,训练器通过 vLLM 自己的服务器推送权重,而相关接口只在开发模式且配置了权重传输引擎时才开放。",
        '以 `VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config \'{{"backend":"nccl"}}\' '
        "--logprobs-mode processed_logprobs --max-logprobs -1` 重启服务器;处理图像时再加 "
        "`--enable-scale-out`(vLLM 0.30 及以上)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "the server at {host}:{port} speaks `{theirs}`; TRL {version} needs `{ours}`",
        "The trainer calls routes that this server does not have, gets 404 and raises.",
        "Stop this server and start one with the environment that trains.",
    ),
    zh=Words(
        "{host}:{port} 上的服务器使用 `{theirs}` 协议;TRL {version} 需要 `{ours}`",
        "训练器调用该服务器没有的路由,得到 404 并抛出异常。",
        "停止该服务器,并用训练所在的环境重新启动。",
    ),
)

#: TRL range -> kind of server that its client can talk to, as `Endpoint.http_kind` names them
ERAS = ((">=0.16,<0.17", "trl-0.16"), (">=0.17,<1.11", "trl-0.17"), (">=1.11", "vllm-native"))


@check(PROBLEM)
def vllm_server_era(training: Training, network: Network, packages: Packages) -> Judgement:
    """Compare the server's kind with the trainer's era."""
    version = installed(packages, "trl")
    endpoint = network.endpoint("vllm_server")
    if not is_grpo(training) or vllm_mode(training, version) != "server" or endpoint is None or not endpoint.answers:
        return
    ours = next((kind for specifier, kind in ERAS if packages.matches("trl", specifier)), None)
    if endpoint.http_kind is None or ours is None:
        yield Skip("the routes of the vLLM server could not be read")
        return
    if endpoint.http_kind == ours or endpoint.http_kind not in {kind for _, kind in ERAS}:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(training.get("vllm_server_host"), training.get("vllm_mode"), training.get("use_vllm")),
        evidence=(Evidence(f"{endpoint.host}:{endpoint.port}", f"routes of {endpoint.http_kind}"),),
        host=endpoint.host,
        port=endpoint.port,
        theirs=endpoint.http_kind,
        ours=ours,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Tell the server of vLLM itself, which TRL 1.11 and newer names, from a route that is not there."""
    address = hits.get("address")
    message = LOG_MESSAGE_NATIVE if address else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), address=address)
