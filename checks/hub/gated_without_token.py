"""The model is gated and there is no token.

## What it means
Its owner gives it only to people who have accepted a licence and prove it with a token of their account. This machine
has neither a copy nor a token.
## What it does to a run
The download ends with `401 Client Error` and `Access to model ... is restricted`, on every rank.
## What to do
Accept the licence on the model's page, then log in or set HF_TOKEN.
## How it is found
The families whose repositories are gated (`meta-llama/`, Google's Gemma 1 to 3), the cache, the token file and the
token variables.
In a log: by the exception of huggingface_hub or Transformers.
## References
https://huggingface.co/docs/hub/models-gated
https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct
https://huggingface.co/google/gemma-3-1b-it
"""

from __future__ import annotations

import re

from doctor.checks.hub._helpers import named_model, place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="HUB003", name="gated-without-token", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Cannot access gated repo for url "),
    Signature(r"(?:OSError|GatedRepoError|EnvironmentError): You are trying to access a gated repo"),
    # PEFT only warns where it asks whether the vocabulary has changed, and saves the adapter all the same
    Signature(
        r"Access to (?:model|dataset) (?P<repo>[\w.\-/]{1,160}) is restricted"
        r"(?![^\n]{0,200} - silently ignoring the lookup)"
    ),
    Signature(r"Dataset '(?P<repo>[\w.\-/]{1,160})' is a gated dataset on the Hub"),
    Signature(r"is restricted[^\n]{0,200} - silently ignoring the lookup", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model or dataset `{repo}` is gated, and this run may not download it",
        "Its owner gives it to accounts that have accepted a licence. 401 means that no valid token was "
        "sent, 403 that the account of the token has not been let in, or that a fine-grained token lacks "
        "the right to read gated repositories.",
        "Accept the licence on the page of the repository, then `hf auth login` (or export `HF_TOKEN`) "
        "for the user and on every node that downloads; give a fine-grained token read access to gated "
        "repositories.",
    ),
    zh=Words(
        "模型或数据集 `{repo}` 受限,本次运行无权下载",
        "所有者只向接受许可的账号开放。401 表示没有发送有效的 token,403 表示该 token 的账号未获批准,或细"
        "粒度 token 缺少读取受限仓库的权限。",
        "在仓库页面接受许可,然后为下载的用户、在每个下载的节点上执行 `hf auth login`(或导出 `HF_TOKEN`);"
        "细粒度 token 需授予读取受限仓库的权限。",
    ),
)
GATED = re.compile(r"meta-llama/(Llama|Meta-Llama|CodeLlama)-.+|google/gemma-(1\.1-)?\d.*", re.IGNORECASE)
OPEN = re.compile(r"google/gemma-([4-9]|\d{2,})(-|n).*", re.IGNORECASE)  # Gemma 4 and newer: not known to be gated
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")

MESSAGE = Message(
    en=Words(
        "`{model}` is gated, is not on this machine, and there is no token",
        "Its licence must be accepted, and each download proves it with a token. Without one the download ends with "
        "`401 Client Error` and `Access to model ... is restricted`.",
        "Accept the licence on https://huggingface.co/{model}, then log in or set HF_TOKEN.",
    ),
    zh=Words(
        "`{model}` 是受限模型,本机没有副本,也没有令牌",
        "下载前必须接受其许可,并用令牌证明。没有令牌时,下载会以 `401 Client Error` 和 "
        "`Access to model ... is restricted` 失败。",
        "在 https://huggingface.co/{model} 接受许可,然后登录或设置 HF_TOKEN。",
    ),
)


@check(PROBLEM)
def gated_without_token(
    hub: Hub,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    script: Script | None,
) -> Judgement:
    """Judge downloads from the hub itself or a mirror of it."""
    named = named_model(training, serving, verl_config, trinity_config)
    if model is not None or named is None or hub.has_token or hub.offline or hub.use_modelscope:
        return
    name = str(named.value)
    if not GATED.fullmatch(name) or OPEN.fullmatch(name) or name in hub.cached_models:
        return
    if training is not None and (any(each in training.environment_set for each in TOKENS) or _given(training)):
        return
    if script is not None and any(each.startswith("huggingface_hub") for each in script.imports):
        yield Skip("the script imports huggingface_hub and may log in by itself")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        model=name,
        confidence=LIKELY,
        where=place(named),
        commands=("hf auth login", "export HF_TOKEN=..."),
        evidence=(quoted(named),),
    )


def _given(training: Training) -> bool:
    """Whether the script hands a token to the loader."""
    names = {*training.model_arguments, *training.arguments}
    return any(name in names for name in ("token", "use_auth_token", "hub_token"))


def explain(hits: Hits) -> Finding | None:
    """Name the repository where a line does; nothing where PEFT only looked for a file and went on."""
    if hits.of(IGNORED) and not (hits.of(1) or hits.of(2) or hits.of(3)):
        return None
    repo = hits.get("repo") or next((name for hit in hits for name in _URL.findall(hit.text)), "of this run")
    commands = ("hf auth login",)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands, repo=repo)


IGNORED = 4  # the signature of PEFT's warning
_URL = re.compile(r"huggingface\.co/(?:api/)?(?:models/|datasets/)?([\w.\-]{1,96}/[\w.\-]{1,96}?)/(?:resolve|raw|tree)")
