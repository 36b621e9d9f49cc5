"""The hub is switched off and the model is not in the cache.

## What it means
HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids downloads, and the model that the command names is neither a folder nor
in Hugging Face's cache of this machine.
## What it does to a run
Loading ends with `OfflineModeIsEnabled` or `couldn't find them in the cached files`, after the processes have
started.
## What to do
Download the model where there is a network, with the same HF_HOME, or take the switch away.
## How it is found
The switches as the run will have them, the folder and the cache where the program would look.
In a log: by the exception of huggingface_hub or Transformers.
## References
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhuboffline
https://huggingface.co/docs/transformers/installation#offline-mode
"""

from __future__ import annotations

from doctor.checks.hub._helpers import is_repository, means_yes, named_model, place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.host import Host
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="HUB001", name="offline-model-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"OfflineModeIsEnabled: "),
    Signature(r"ConnectionError: Couldn't reach '[^'\n]{1,160}' on the Hub \(OfflineModeIsEnabled\)"),
    # vLLM asks the Hub for the kinds of the weights, and does without an answer
    Signature(r"(?<!Error retrieving safetensors: )Cannot reach [^\s]{1,300} offline mode is enabled"),
    Signature(
        r"LocalEntryNotFoundError: Cannot find (?:an appropriate cached snapshot folder|the requested"
        r" files in the disk cache) [^\n]{0,160}(?:outgoing traffic has been disabled)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Hub is switched off (HF_HUB_OFFLINE), and a file is not in the cache",
        "With HF_HUB_OFFLINE=1, TRANSFORMERS_OFFLINE=1 or `local_files_only=True` nothing is downloaded; "
        "the cache of this user and machine does not hold what the run asks for, or HF_HOME points to "
        "another cache.",
        "Download it where there is a network, into the same cache: `hf download REPO` (with `HF_HOME` "
        "as in the job), or give the model as a folder; or unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE.",
    ),
    zh=Words(
        "Hub 已关闭(HF_HUB_OFFLINE),而缓存中没有所需文件",
        "设置 HF_HUB_OFFLINE=1、TRANSFORMERS_OFFLINE=1 或 `local_files_only=True` 时不会下载任何东西;该用"
        "户和机器的缓存中没有所需内容,或 HF_HOME 指向了另一个缓存。",
        "在有网络的地方下载到同一缓存:`hf download REPO`(`HF_HOME` 与作业一致),或以目录形式给出模型;或取"
        "消设置 HF_HUB_OFFLINE 和 TRANSFORMERS_OFFLINE。",
    ),
)
SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")

MESSAGE = Message(
    en=Words(
        "Downloads are switched off, and `{model}` is not in `{cache}`",
        "Loading the model ends with `OfflineModeIsEnabled` or `couldn't find them in the cached files`.",
        "Download it where there is a network and into the same cache, or unset HF_HUB_OFFLINE and "
        "TRANSFORMERS_OFFLINE.",
    ),
    zh=Words(
        "已禁止下载,而 `{model}` 不在 `{cache}` 中",
        "加载模型会以 `OfflineModeIsEnabled` 或 `couldn't find them in the cached files` 失败。",
        "在有网络的地方下载到同一缓存目录,或取消 HF_HUB_OFFLINE 与 TRANSFORMERS_OFFLINE。",
    ),
)


@check(PROBLEM)
def offline_model_absent(
    hub: Hub,
    host: Host | None,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge names of repositories; a path that is missing is another problem."""
    named = named_model(training, serving, verl_config, trinity_config)
    own = training.environment_set if training is not None else {}
    offline = hub.offline or any(each in own and means_yes(own[each].value) for each in SWITCHES)
    if not offline or model is not None or named is None or not is_repository(str(named.value)):
        return
    name = str(named.value)
    if name in hub.cached_models or (hub.use_modelscope and training is None):
        return
    disk = host.disk("hf cache") if host is not None else None
    if disk is not None and disk.error:
        yield Skip(f"the cache {disk.path} {disk.error}")
        return
    cache = hub.cache_dir or "the cache"
    yield found(
        PROBLEM,
        MESSAGE,
        model=name,
        cache=cache,
        where=place(named),
        commands=(f"HF_HUB_OFFLINE=0 hf download {name}",),
        evidence=(quoted(named), Evidence("cache", f"{cache}: {len(hub.cached_models)} models")),
    )
