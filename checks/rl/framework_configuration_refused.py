"""A framework for reinforcement learning refuses its configuration.

## What it means
slime, miles, AReaL, NeMo-RL, SkyRL, ROLL, rLLM, RLinf, PRIME-RL, open-instruct and mbridge check their settings before
they train and refuse those that contradict each other, are missing, or that the release does not support. The message,
or the line of code that asserts without one, names them. (veRL, Trinity-RFT, OpenRLHF, TRL, vLLM, SGLang and Megatron
have problems of their own.)
## What it does to a run
The command ends before the first step, or at the first batch that does not fit.
## What to do
Correct the settings that are named.
## How it is found
In a log: an assertion or a ValueError that is raised in the framework's own files and that names settings, not data.
## References
https://github.com/THUDM/slime/blob/main/slime/utils/arguments.py
https://github.com/THUDM/slime/blob/main/slime/backends/megatron_utils/arguments.py
https://github.com/areal-project/AReaL/blob/main/areal/api/alloc_mode.py
https://github.com/NVIDIA-NeMo/RL
https://github.com/radixark/miles/pull/1356
https://github.com/areal-project/AReaL/issues/752
"""

from __future__ import annotations

import re

from doctor.checks.launch._refusals import AREAS, BARE, REFUSED, about_data, refused
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RLX022", name="framework-configuration-refused", severity=ERROR, since="0.1")

#: folder of the framework's package -> its name
_NAMES = {
    "slime": "slime", "miles": "miles", "areal": "AReaL", "nemo_rl": "NeMo-RL", "skyrl_train": "SkyRL",
    "skyrl": "SkyRL", "roll": "ROLL", "rllm": "rLLM", "rlinf": "RLinf", "prime_rl": "PRIME-RL",
    "open_instruct": "open-instruct", "mbridge": "mbridge",
}  # fmt: skip
FRAME = (
    r"[\\/](?P<folder>slime|miles|areal|nemo_rl|skyrl_train|skyrl|roll(?=[\\/](?:pipeline|configs|distributed|utils"
    r"|agentic|models|datasets))|rllm|rlinf|prime_rl|open_instruct|mbridge)[\\/](?![^\n]{0,200}-packages[\\/])"
    r"[^\n]{1,200}\.py:"
)
_OWN_AREAS = tuple(each for each in AREAS if each != "RLX")
#: places of the entries that have words of their own
MODEL_ARGS, PARTITION, ALLOCATION, ROUTING, CONVERTER, UNEVEN, ENGINELESS = range(7)

SIGNATURES = (
    Signature(
        r"(?P<theirs>\w{3,60}) in hf config (?P<wanted>[\w.+-]{1,40}) is not equal to (?P<ours>\w{3,60})"
        r" (?P<got>[\w.+-]{1,40}), please check the config",
    ),
    Signature(r"^AssertionError: This should never happen\.", frame=r"seqlen_balancing\.py:_get_capped_partitions"),
    Signature(
        r"^(?:[\w.]{1,60}\.)?(?:NotImplementedError: Failed to parse allocation|AllocationValidationError|"
        r"InvalidAllocationModeError|ValueError: Parsing error)(?:: (?P<mode>[^\n]{0,80}))?",
        frame=r"alloc\w{0,20}\.py:",
    ),
    Signature(
        r"ValueError: rollout_routed_experts is required in rollout_data when use_rollout_routing_replay is set",
    ),
    Signature(
        r"^ValueError: (?:Unknown (?:\w{2,10} ){0,2}(?:parameter name|component)|Unsupported model|Unsupported "
        r"HuggingFace model type|Invalid MTP \w{2,12} name(?: format)?): (?P<weight>[\w./-]{1,160})",
        frame=r"[\\/](?:megatron_to_hf|hf_to_megatron)[\\/]",
    ),
    Signature(
        r"^AssertionError: (?P<samples>\d{1,9}) % (?P<parts>\d{1,6}) != 0$",
        frame=r"seqlen_balancing\.py:karmarkar_karp",
    ),
    Signature(r"ValueError: Invalid backend: None, expected sglang or vllm"),
    Signature(REFUSED, frame=FRAME, symptom_of=_OWN_AREAS),
    Signature(BARE, frame=FRAME, symptom_of=_OWN_AREAS),
)

SHAPE = Message(
    en=Words(
        "the model's arguments do not fit the checkpoint: `{ours}` is {got}, its config.json says `{theirs}` {wanted}",
        "Megatron builds the model from the launch command, not from the checkpoint, and slime compares the two "
        "before it loads weights. The script of another model or size was sourced, or an argument is missing.",
        "Pass the value of the checkpoint, `{option}`, or source the script of this very model "
        "(`scripts/models/*.sh` sets `MODEL_ARGS`). Other arguments of that script deserve the same look.",
    ),
    zh=Words(
        "模型参数与检查点不符:`{ours}` 为 {got},而其 config.json 中 `{theirs}` 为 {wanted}",
        "Megatron 按启动命令而非检查点构建模型,slime 在加载权重之前比较两者。"
        "所引用的是其他模型或大小的脚本,或缺少参数。",
        "传入检查点的值 `{option}`,或引用该模型自己的脚本(`scripts/models/*.sh` 设置 `MODEL_ARGS`)。"
        "该脚本的其他参数也应核对。",
    ),
)
TOO_LONG = Message(
    en=Words(
        "one sample is longer than `max_tokens_per_gpu`, so it fits into no micro batch",
        "With dynamic batches slime packs samples into micro batches of at most that many tokens. Prompt and response "
        "together may be longer: the response alone may have `rollout_max_response_len` tokens.",
        "Raise `--max-tokens-per-gpu` to at least the longest prompt plus `--rollout-max-response-len` (times less "
        "with context parallelism), or lower the lengths; a newer slime puts such a sample into a batch of its own.",
    ),
    zh=Words(
        "有样本长于 `max_tokens_per_gpu`,放不进任何 micro batch",
        "动态批大小时,slime 把样本装入不超过该 token 数的 micro batch。prompt 与回答合起来可能更长:"
        "仅回答就可达 `rollout_max_response_len` 个 token。",
        "把 `--max-tokens-per-gpu` 提高到最长 prompt 加 `--rollout-max-response-len` 以上(使用上下文并行时按其倍数"
        "减少),或缩短长度;较新的 slime 会把这样的样本单独成批。",
    ),
)
MODE = Message(
    en=Words(
        "AReaL cannot read `allocation_mode`{mode}",
        "It tells how many GPUs generation and training get, in a notation of its own that changed between releases: "
        "a back end, a colon or point, then sizes for data (`d`), pipeline (`p`), tensor (`t`) parallelism, parts "
        "joined by `+`.",
        "Write it as the documentation of the installed release does, for example "
        "`allocation_mode=sglang:d4p1t1+fsdp:d4p1t1` (older ones `sglang.d4p1t1+d4p1t1`); a form with "
        "the server alone was mended by pull request 265. Update AReaL where its examples use the newer form.",
    ),
    zh=Words(
        "AReaL 无法解析 `allocation_mode`{mode}",
        "它用自己的写法说明生成与训练各用多少 GPU,不同版本写法不同:后端,冒号或点,再写数据(`d`)、流水线(`p`)、张量"
        "(`t`)并行大小,各部分用 `+` 连接。",
        "按所装版本文档的写法,例如 `allocation_mode=sglang:d4p1t1+fsdp:d4p1t1`(旧版 `sglang.d4p1t1+d4p1t1`);只有"
        "服务端的写法由 pull request 265 修复。若示例用的是新写法,请升级 AReaL。",
    ),
)

REPLAY = Message(
    en=Words(
        "routing replay is on, and the rollout brought no routed experts back",
        "With `--use-rollout-routing-replay` the trainer repeats which experts the engine chose for each token. SGLang "
        "returns them as `routed_experts` in `meta_info` only where its server was started for it, each request asks "
        "for it, and nothing on the way drops the field.",
        "Let slime start the engines (it sets `--sglang-enable-return-routed-experts`), with the SGLang of its own "
        "image: others do not know or fill the field. A rollout function of your own must put "
        '`"return_routed_experts": True` into the payload of `/generate` and hand `meta_info` on '
        "(`sample.append_response_tokens`); the OpenAI routes and external routers strip it. Else leave "
        "`--use-rollout-routing-replay` off.",
    ),
    zh=Words(
        "打开了 routing replay,而 rollout 没有带回 routed experts",
        "使用 `--use-rollout-routing-replay` 时,训练端重复引擎为每个 token 选择的专家。只有服务端为此启动、"
        "每个请求都要求且途中没有丢掉该字段时,SGLang 才在 `meta_info` 中返回 `routed_experts`。",
        "由 slime 启动引擎(会设置 `--sglang-enable-return-routed-experts`),并使用其镜像中的 SGLang:其他版本不认识或不"
        '填该字段。自定义 rollout 函数须在 `/generate` 请求中写入 `"return_routed_experts": True`,'
        "并把 `meta_info` 传下去(`sample.append_response_tokens`);OpenAI 接口与外部 router 会去掉它。否则不要使用 "
        "`--use-rollout-routing-replay`。",
    ),
)
TABLE = Message(
    en=Words(
        "the framework's converter between Megatron and Hugging Face has no entry for `{weight}`",
        "Weights go to the engine and to checkpoints under Hugging Face's names, by a table for each architecture. "
        "This release has none for the model, or not for that layer: a model newer than it, a layer that was added "
        "(a multi-token head, an adapter, a value head), or a name of the model that hides its kind.",
        "Upgrade the framework to a release that lists the model, set `--megatron-to-hf-mode bridge` where it has "
        "that, or add the entry to `megatron_to_hf`. Leave layers out that the table lacks "
        "(`--mtp-num-layers 0`), and keep the kind of model in the folder's name or in `--model-name`.",
    ),
    zh=Words(
        "框架在 Megatron 与 Hugging Face 之间的转换表中没有 `{weight}`",
        "权重按每种架构的对照表,以 Hugging Face 的名称送往引擎和检查点。该版本没有此模型或此层的条目:模型比它更新,"
        "新增了层(多 token 预测头、adapter、value head),或模型名看不出其种类。",
        "把框架升级到支持该模型的版本,有 `--megatron-to-hf-mode bridge` 时使用它,或在 `megatron_to_hf` 中补充条目。去掉"
        "表中没有的层(`--mtp-num-layers 0`),并让目录名或 `--model-name` 含有模型种类。",
    ),
)

NO_ENGINE = Message(
    en=Words(
        "AReaL was told of no inference engine: its settings name the trainer alone",
        "The trainer reads from the same settings how to talk to the engine, also where the servers were started by "
        "another command. `allocation_mode=fsdp:...` alone, or a `rollout.backend` that is empty, leaves it without.",
        "Name both parts in the command of the trainer, too: `allocation_mode=sglang:d4p1t1+fsdp:d4p1t1` (newer: "
        "`rollout.backend=sglang:d4p1t1`, `actor.backend=fsdp:d4p1t1`). Servers of another command are told by "
        "`AREAL_LLM_SERVER_ADDRS=HOST:PORT,...`.",
    ),
    zh=Words(
        "没有告诉 AReaL 使用哪个推理引擎:设置中只有训练端",
        "训练端从同一份设置中得知如何与引擎通信,即使服务端由另一条命令启动。只写 `allocation_mode=fsdp:...`,或 "
        "`rollout.backend` 为空,它就无从得知。",
        "在训练端的命令中也写明两部分:`allocation_mode=sglang:d4p1t1+fsdp:d4p1t1`(新版为 "
        "`rollout.backend=sglang:d4p1t1`、`actor.backend=fsdp:d4p1t1`)。另一条命令启动的服务端用 "
        "`AREAL_LLM_SERVER_ADDRS=HOST:PORT,...` 告知。",
    ),
)
SHARES = Message(
    en=Words(
        "{samples} samples do not divide into {parts} equal parts",
        "Samples are spread over the data-parallel processes so that each gets the same number and about as many "
        "tokens. Usually the batch times the answers for each prompt divides; samples that were dropped (failed, "
        "filtered, several for one trajectory) leave a number that does not.",
        "Let rollout batch times samples per prompt be a multiple of {parts}, and keep samples that failed with "
        "reward and loss mask 0 instead of dropping them. slime and miles: without `--balance-data`, or a newer "
        "release, which spreads such a rest; veRL: `trainer.balance_batch=False` shows the same further on, so pad "
        "the batch.",
    ),
    zh=Words(
        "{samples} 个样本不能平均分成 {parts} 份",
        "样本分给各数据并行进程,每个进程样本数相同、token 数相近。通常批大小乘以每个 prompt 的回答数可以整除;而样本被"
        "丢弃(失败、被过滤,或一条轨迹产生多个样本)后的数目则不能。",
        "使 rollout 批大小乘以每个 prompt 的样本数为 {parts} 的整数倍;失败的样本以奖励和 loss mask 为 0 保留,而不是丢弃"
        "。slime 与 miles:去掉 `--balance-data`,或用能分配余数的较新版本;veRL:`trainer.balance_batch=False` 会在后面"
        "出现同样的问题,因此请补齐批次。",
    ),
)

_PLAIN = {PARTITION: TOO_LONG, ROUTING: REPLAY, CONVERTER: TABLE, UNEVEN: SHARES, ENGINELESS: NO_ENGINE}


def explain(hits: Hits) -> Finding | None:
    """The ones that have words of their own, else what the message or the assertion names."""
    own = hits.first.signature
    if own == MODEL_ARGS:
        return _model_args(hits)
    if own in _PLAIN:
        return found(
            PROBLEM, _PLAIN[own], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            weight=hits.get("weight") or "", samples=hits.get("samples") or "", parts=hits.get("parts") or "",
        )  # fmt: skip
    if own == ALLOCATION:
        mode = hits.get("mode") or ""
        mode = mode if re.fullmatch(r"[\w.:+()\[\]|-]{2,60}", mode) else ""  # newer ones explain in whole sentences
        return found(
            PROBLEM, MODE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            mode=f": `{mode}`" if mode else "",
        )  # fmt: skip
    if about_data(hits.get("message") or ""):
        return None
    frames = hits.first.frames
    named = re.search(FRAME, frames[-1]) if frames else None
    return refused(PROBLEM, _NAMES[named["folder"]], hits, FRAME) if named else None


def _model_args(hits: Hits) -> Finding:
    """A dimension that launch command and checkpoint tell differently."""
    ours, wanted = hits.get("ours") or "", hits.get("wanted") or ""
    number = re.sub(r"\.0$", "", wanted)
    return found(
        PROBLEM, SHAPE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        ours=ours, got=hits.get("got"), theirs=hits.get("theirs"), wanted=number,
        option=_option(ours, number),
    )  # fmt: skip


def _option(name: str, value: str) -> str:
    """The option of the command line for an argument of Megatron; untying is a switch without a value."""
    if name == "untie_embeddings_and_output_weights":
        return (
            "no --untie-embeddings-and-output-weights" if value == "True" else "--untie-embeddings-and-output-weights"
        )
    return f"--{'norm-epsilon' if name == 'layernorm_epsilon' else name.replace('_', '-')} {value}"
