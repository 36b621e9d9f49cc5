"""A program calls the inference engine by an interface that the installed release does not have.

## What it means
vLLM and SGLang move modules, rename arguments and drop classes from release to release (engine V0 to V1 above
all). Trainers (TRL, veRL, OpenRLHF, Unsloth, ART, Trinity-RFT, Ray Serve) reach deep into them and fit only
some releases.
## What it does to a run
An import, or the first call into the engine, fails.
## What to do
Install the pair of releases that belongs together.
## How it is found
In a log: an import or attribute of the engine that does not exist, and the file that asked for it.
## References
https://github.com/vllm-project/vllm/issues/18571
https://github.com/vllm-project/vllm/releases/tag/v0.11.0
https://docs.vllm.ai/en/v0.10.0/usage/v1_guide.html
https://github.com/OpenRLHF/OpenRLHF/issues/922
https://github.com/OpenPipe/ART/issues/411
https://verl.readthedocs.io/en/latest/start/install.html
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL062", name="engine-of-another-release", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?P<owner>LLM|LLMEngine|V1?LLMEngine|Async\w{0,10}LLM\w{0,10}|AsyncLLM|Engi"
        r"neCore\w{0,20}|Worker|WorkerWrapperBase|GPU\w{0,10}Runner|ModelRunner|LoRARequest|SamplingPa"
        r"rams|RequestOutput|ModelConfig|VllmConfig|ParallelConfig|SchedulerConfig|CacheConfig|EngineA"
        r"rgs|AsyncEngineArgs|ServerArgs|Engine|FusedMoE)' object has no attribute"
        r" '(?P<name>\w{1,80})'",
        symptom_of=("TRL",),
        frame=r"vllm|sglang|openrlhf|verl|unsloth|[\\/]art[\\/]|trinity|swift|trl",
        own_code=True,  # a trainer of the user's asks the engine
    ),
    Signature(
        r"AttributeError: '(?P<owner>AsyncLLM|_?AsyncLLMEngine)' object has no attribute '(?P<name>\w{1,80})'",
        symptom_of=("TRL",),
    ),
    Signature(
        r"(?:AttributeError|ValueError): '(?P<owner>LoRARequest)' object has no attribute"
        r" '(?P<name>\w{1,80})'",
        symptom_of=("TRL",),
    ),
    Signature(
        r"ImportError: cannot import name '(?P<name>\w{1,80})' from (?:partially initialized module"
        r" )?'(?P<owner>(?:vllm|sglang|sgl_kernel|lmdeploy|flashinfer|megatron|mbridge|verl)(?:\.[\w.]"
        r"{1,120})?)'",
        symptom_of=("TRL", "FLA", "TOR", "CUD", "DAT", "VLL002", "VRL026"),
    ),
    Signature(
        r"ModuleNotFoundError: No module named '(?P<owner>(?:vllm|sglang|lmdeploy|flashinfer|megatron|"
        r"verl|ray)\.[\w.]{1,120})'",
        symptom_of=("TRL", "FLA", "TOR", "CUD", "DAT", "VLL002", "VRL026"),
    ),
    Signature(
        r"AttributeError: module '(?P<owner>(?:vllm|sglang|flashinfer|megatron|mbridge|ray)(?:\.[\w.]{"
        r"1,120})?)' has no attribute '(?P<name>\w{1,80})'",
        symptom_of=("TRL", "FLA", "TOR", "CUD", "DAT", "VLL002", "VRL026"),
    ),
    Signature(
        r"TypeError: (?:\w{1,60}\.)?(?P<owner>EngineArgs|AsyncEngineArgs|LLM|LLMEngine|AsyncLLM|Sampli"
        r"ngParams|LoRARequest|VllmConfig|ModelConfig|ParallelConfig|ServerArgs|Engine|RequestOutput)"
        r"\.__init__\(\) (?:got an unexpected keyword argument|missing \d{1,2} required"
        r" (?:positional|keyword-only) arguments?:) '(?P<name>\w{1,80})'",
        symptom_of=("TRL", "VLL017"),
    ),
    Signature(
        r"Unexpected keyword argument '(?P<name>\w{1,80})'$",
        frame=r"vllm[\\/]sampling_params|[\\/]msgspec|[\\/]third_party[\\/]vllm[\\/]",
    ),
)

_IMPORTS = {3, 4}  # places of the import errors among the signatures
NAMES = {
    "openrlhf": "OpenRLHF",
    "verl": "veRL",
    "trl": "TRL",
    "unsloth": "Unsloth",
    "unsloth_zoo": "Unsloth",
    "art": "ART",
    "trinity": "Trinity-RFT",
    "swift": "ms-swift",
    "ray": "Ray",
    "xinference": "Xinference",
    "nemo_rl": "NeMo-RL",
    "roll": "ROLL",
    "skyrl_train": "SkyRL",
    "skyrl": "SkyRL",
    "areal": "AReaL",
}
#: the package of an installed file
INSTALLED = re.compile(r"(?:site-packages|dist-packages)[\\/](?P<package>\w{1,60})")
#: folders of checkouts that are a package; trainers have folders by the engines' names (`verl/utils/vllm/`)
TRAINER = re.compile(
    r"[\\/](openrlhf|verl|trl|unsloth_zoo|unsloth|art|trinity|swift|nemo_rl|skyrl_train|skyrl|areal|rllm|prime_rl|rlinf|ragen"
    r"|(?:roll|slime|miles)(?=[\\/](?:backends|distributed|pipeline|ray|rollout|third_party|utils)))(?=[\\/])"
)
ENGINE = re.compile(r"[\\/](vllm|sglang|megatron)(?=[\\/])")

LOG_MESSAGE = Message(
    en=Words(
        "{caller} and the installed `{callee}`{version} do not fit together: `{name}` is not there",
        "This part of `{callee}` was moved, renamed or dropped, or came only later: {caller} was written "
        "for another release. For vLLM the change from engine V0 to V1 (0.8 to 0.11) took the model "
        "executor out of the process that calls it, and removed worker classes that trainers derive from.",
        "Install releases that belong together: the version of `{callee}` that {caller} names in its "
        'requirements or installation guide (`pip install "verl[vllm]"`, `"openrlhf[vllm]"`, '
        '`"trl[vllm]"`, or unsloth and unsloth_zoo upgraded together with vllm), or upgrade {caller} for '
        "a newer `{callee}`. For code of engine V0: `VLLM_USE_V1=0` up to vLLM 0.10, or "
        "`VLLM_ENABLE_V1_MULTIPROCESSING=0` where only the executor is out of reach.",
    ),
    zh=Words(
        "{caller_zh}与所装的 `{callee}`{version} 不相配:没有 `{name}`",
        "`{callee}` 的这一部分已被移动、改名或删除,或在更晚的版本才有:{caller_zh}是为另一版本编写的。对 "
        "vLLM 而言,引擎从 V0 到 V1(0.8 至 0.11)的变化把模型执行器移出了调用进程,并删除了训练框架所继承的 "
        "worker 类。",
        '安装相配的版本:按{caller_zh}的依赖或安装说明选择 `{callee}` 版本(`pip install "verl[vllm]"`、'
        '`"openrlhf[vllm]"`、`"trl[vllm]"`,或将 unsloth、unsloth_zoo 与 vllm 一起升级),或为更新的 '
        "`{callee}` 升级{caller_zh}。对 V0 引擎的代码:vLLM 0.10 及以前可设 `VLLM_USE_V1=0`;若只是访问不到"
        "执行器,可设 `VLLM_ENABLE_V1_MULTIPROCESSING=0`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Who asked is the innermost frame outside the engine, maybe the user's own.

    A package that misses a part of its own is PYT043.
    """
    owner = hits.get("owner") or "SamplingParams"
    callee = owner.partition(".")[0] if "." in owner or owner.islower() else _engine_of(hits)
    if hits.first.signature in _IMPORTS and hits.first.frames and _package(hits.first.frames[-1]) == callee:
        return None
    frames = [each for each in reversed(hits.first.frames) if _package(each) != callee]
    asking = next((name for each in frames if (name := _package(each)) or each in hits.first.own), "")
    caller = NAMES.get(asking, f"`{asking}`") if asking else ""
    version = hits.versions.get(callee)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        caller=caller or "the calling code",
        caller_zh=caller or "调用方代码",
        callee=callee,
        version=f" {version}" if version else "",
        name=hits.get("name") or owner,
    )


def _engine_of(hits: Hits) -> str:
    """The engine whose class it is."""
    return "sglang" if any("sglang" in frame for frame in hits.first.frames) else "vllm"


def _package(frame: str) -> str:
    """The package that a frame lies in, "" where it is the user's own; of a checkout the folder nearest to the file."""
    installed = INSTALLED.search(frame)
    return installed["package"] if installed else (TRAINER.findall(frame) or ENGINE.findall(frame) or [""])[-1]
