"""vLLM finds no LoRA adapter at the path it was given.

## What it means
An adapter is a folder with adapter_config.json and adapter_model.safetensors, or the name of one on the Hub.
The path does not exist on the machine (or in the container) that serves, or the file is missing in it.
## What it does to a run
The server does not start, or the request for that adapter fails.
## What to do
Give the absolute path of the folder, as the serving process sees it.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/lora/
https://github.com/vllm-project/vllm/issues/30690
https://github.com/verl-project/verl/issues/3882
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL053", name="adapter-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Loading lora (?P<name>[^\n]{1,80}?) failed: No adapter found for (?P<path>[^\s'\x22]{1,300})",
    ),
    Signature(
        r"(?P<path>[^\s']{1,300}) doesn't contain tensors",
    ),
    # https://github.com/sgl-project/sglang/pull/7642
    Signature(r"The following requested LoRA adapters are not loaded: \{?['\"]?(?P<unloaded>[^\s'\"}\n]{1,200})"),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM found no LoRA adapter at `{path}`",
        "There is no folder with adapter_config.json and adapter_model.safetensors at that path as the "
        "serving process sees it: it was misspelt, is not mounted in the container, holds a full "
        "checkpoint or only a parent folder of it, or carries quotes or brackets of the configuration "
        "that names it.",
        "Check it there with `ls -l PATH/adapter_config.json`, and give the absolute path of the folder: "
        "`--lora-modules NAME=/abs/path`. For a checkpoint of a trainer it is the folder `checkpoint-N` "
        "itself; for veRL and FSDP the adapter must be saved or exported first.",
    ),
    zh=Words(
        "vLLM 在 `{path}` 没有找到 LoRA 适配器",
        "从服务进程看,该路径下没有包含 adapter_config.json 与 adapter_model.safetensors 的文件夹:路径写错"
        "、没有挂载到容器、是完整检查点或其上级目录,或带上了配置中的引号、方括号。",
        "在该环境中用 `ls -l 路径/adapter_config.json` 检查,并给出文件夹的绝对路径:`--lora-modules 名称=/"
        "绝对路径`。训练器的检查点应指向 `checkpoint-N` 本身;veRL 与 FSDP 需先保存或导出适配器。",
    ),
)
IN_MEMORY = Message(
    en=Words(
        "veRL's adapter for vLLM lies in memory, and this vLLM looked for it on the disk",
        "veRL hands the adapter over as tensors, under a made-up path, and replaces vLLM's loading of adapters for "
        "that. The replacement did not reach the process of the engine: vLLM runs it as a process of its own, or its "
        "release loads adapters otherwise than this veRL expects. No file is missing.",
        "Install the vLLM that this veRL names (or upgrade veRL). With the synchronous rollout of veRL keep the "
        "engine in the worker's process: `export VLLM_ENABLE_V1_MULTIPROCESSING=0` (Ray: in `runtime_env`). Without "
        "LoRA the run does not need it.",
    ),
    zh=Words(
        "veRL 的 vLLM 适配器在内存中,而此 vLLM 却到磁盘上去找",
        "veRL 以张量形式、用一个虚构的路径交出适配器,并为此替换了 vLLM 加载适配器的方法。替换没有在引擎进程中生效"
        ":vLLM 在单独的进程中运行它,或其版本加载适配器的方式与此 veRL 的预期不同。并没有文件缺失。",
        "安装此 veRL 所指明的 vLLM(或升级 veRL)。使用 veRL 的同步 rollout 时让引擎留在 worker 进程内:`export "
        "VLLM_ENABLE_V1_MULTIPROCESSING=0`(Ray:写入 `runtime_env`)。不用 LoRA 时无此问题。",
    ),
)
UNLOADED = Message(
    en=Words(
        "SGLang has no LoRA adapter `{name}` loaded",
        "A request goes by the name under which an adapter was loaded, not by its path or its name on the Hub; the "
        "line behind it lists those that are there. In training a new version may not have been sent yet, or an older "
        "one was unloaded.",
        "Name it as at the start (`--lora-paths NAME=PATH`), or load it first: `POST /load_lora_adapter` with "
        "`lora_name` and `lora_path`. A trainer must wait for that call before it asks for the new name.",
    ),
    zh=Words(
        "SGLang 没有加载名为 `{name}` 的 LoRA 适配器",
        "请求按加载时的名称指定适配器,而不是路径或 Hub 上的名称;其后一行列出了已加载的适配器。训练中也可能是新版本尚未"
        "发送,或旧版本已被卸载。",
        "使用启动时的名称(`--lora-paths NAME=PATH`),或先加载:`POST /load_lora_adapter`,带 `lora_name` 与 `lora_path`。"
        "训练端须等该调用完成后再使用新名称。",
    ),
)
#: the path that veRL makes up: https://github.com/verl-project/verl/issues/3882
_PLACEHOLDER = "simon_lora_path"


def explain(hits: Hits) -> Finding:
    """A path that a trainer made up is no file that somebody forgot."""
    if unloaded := hits.first.groups.get("unloaded"):
        return found(PROBLEM, UNLOADED, where=hits.where(), evidence=hits.evidence(), name=unloaded.rstrip(".,"))
    path = hits.get("path") or ""
    made_up = _PLACEHOLDER in path
    return found(
        PROBLEM, IN_MEMORY if made_up else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if made_up else CONFIRMED, path=path,
    )  # fmt: skip
