"""vLLM is given GPUs by UUID and reads the list as numbers.

## What it means
CUDA_VISIBLE_DEVICES holds UUIDs (`GPU-...` or `MIG-...`). CUDA takes them; vLLM of the range named here turns each
entry into an integer when it asks for the card's properties.
## What it does to a run
The server, or vLLM inside the trainer, ends at start-up with `invalid literal for int() with base 10: 'MIG-...'`,
sometimes hidden behind `Model architectures [...] failed to be inspected`.
## What to do
Use indices for whole GPUs. For a MIG instance start a container that holds only this instance and leave the variable
unset there.
## How it is found
The variable of the command, and the installed vLLM.
In a log: by the message that the program or the driver prints.
## References
https://github.com/vllm-project/vllm/issues/41848
https://github.com/vllm-project/vllm/pull/46132
"""

from __future__ import annotations

from doctor.checks.launch._helpers import effective
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="LCH016", name="gpu-uuid-for-vllm", severity=ERROR, since="0.1", affects={"vllm": ">=0.9.2,<=0.22.1"}
)

SIGNATURES = (
    Signature(
        r"invalid literal for int\(\) with base 10: '(?P<entry>(?:MIG|GPU)-[\w\-/]{4,80})'",
        affects={"vllm": "<=0.22.1"},
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`CUDA_VISIBLE_DEVICES` holds a UUID (`{entry}`), and this vLLM reads its entries as numbers",
        "vLLM turns each entry into an integer to find the physical GPU, so a MIG instance or a card "
        "that is named by UUID ends it at start. The variable is right for CUDA: this is a limit of vLLM.",
        "For whole GPUs write indices (`CUDA_VISIBLE_DEVICES=0,1`, from `nvidia-smi -L`). For a MIG "
        "instance start a container that holds only that instance (`docker run --gpus "
        "'\"device={entry}\"'`) and use index 0 in it; or install vLLM newer than 0.22.1.",
    ),
    zh=Words(
        "`CUDA_VISIBLE_DEVICES` 含有 UUID(`{entry}`),而此 vLLM 把各条目当作数字读取",
        "vLLM 会把每个条目转换为整数以确定物理 GPU,因此用 UUID 指定的 MIG 实例或显卡会让它在启动时退出。"
        "该变量对 CUDA 来说是正确的,这是 vLLM 的限制。",
        "整张 GPU 请写序号(`CUDA_VISIBLE_DEVICES=0,1`,见 `nvidia-smi -L`)。MIG 实例请启动只含该实例的容器"
        "(`docker run --gpus '\"device={entry}\"'`),在其中使用序号 0;或安装 0.22.1 之后的 vLLM。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`CUDA_VISIBLE_DEVICES` holds `{entry}`, and vLLM reads the entries as numbers",
        "vLLM ends at start-up with `invalid literal for int() with base 10`, or with `Model architectures failed "
        "to be inspected`. The variable is right for CUDA: this is a limit of vLLM.",
        "Use indices for whole GPUs. For a MIG instance use a container that holds only that instance.",
    ),
    zh=Words(
        "`CUDA_VISIBLE_DEVICES` 含有 `{entry}`,而 vLLM 把各条目当作数字读取",
        "vLLM 在启动时会以 `invalid literal for int() with base 10` 或 `Model architectures failed to be inspected` "
        "退出。该变量对 CUDA 来说是正确的,这是 vLLM 的限制。",
        "整张 GPU 请用序号;MIG 实例请用只含该实例的容器。",
    ),
)


@check(PROBLEM)
def uuid_for_vllm(launch: Launch, environment: Environment, packages: Packages, training: Training | None) -> Judgement:
    """Only commands that start vLLM on this machine."""
    mode = effective(training, packages, "vllm_mode") if training and training.value("use_vllm") else None
    if not (launch.serves or (mode is not None and mode.value == "colocate")):
        return
    entries = (environment.get("CUDA_VISIBLE_DEVICES") or "").split(",")
    uuid = next((entry.strip() for entry in entries if entry.strip().startswith(("GPU-", "MIG-"))), None)
    if uuid is not None:
        evidence = (Evidence("environment", f"CUDA_VISIBLE_DEVICES={','.join(entries)}"),)
        yield found(PROBLEM, MESSAGE, entry=uuid, confidence=LIKELY, evidence=evidence)


def explain(hits: Hits) -> Finding | None:
    """Only where vLLM reads the list; other programs have other limits and other releases."""
    frames = [frame for hit in hits for frame in hit.frames]
    if frames and not any("vllm" in frame for frame in frames):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), entry=hits.get("entry"),
        confidence=CONFIRMED if frames else LIKELY,
    )  # fmt: skip
