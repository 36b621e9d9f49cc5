"""The model is named by a path, and nothing is there.

## What it means
The name can only be a folder of this machine (it begins with `/`, `.` or `~`, or has more than one `/`), and there is
none. Transformers and vLLM take `~` as written: only a shell replaces it, so it does not work in a YAML file or in
quotes.
## What it does to a run
Every process ends with `HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name'` or
`Incorrect path_or_model_id`, messages that do not name the real cause.
## What to do
Correct the path. On several machines it must exist on each.
## How it is found
The path as the program would resolve it.
In a log: by the exception of huggingface_hub or Transformers.
## References
https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained
https://github.com/huggingface/huggingface_hub/blob/v0.36.0/src/huggingface_hub/utils/_validators.py
https://github.com/sgl-project/sglang/issues/302
"""

from __future__ import annotations

import re

from doctor.checks.hub._helpers import named_model, place, quoted
from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="HUB002", name="model-folder-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"HFValidationError: Repo id must (?:be in the form 'repo_name' or 'namespace/repo_name'|use"
        r" alphanumeric chars[^\n]{0,160}): '(?P<path>[./~][^'\n]{0,300}|[^'\n/]{1,96}/[^'\n]{0,96}/[^"
        r"'\n]{0,200})'",
        symptom_of=("PFT007",),
    ),
    Signature(
        r"HFValidationError: Repo id must use[^\n]{1,160}: '(?P<path>[\w.\-]{2,96}(?:/[\w.\-]{1,96})?:[\w.\-]{1,96})'"
    ),
    Signature(r"OSError: Incorrect path_or_model_id: '(?P<path>[^'\n]{1,300})'"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no folder `{path}` on this machine, so the path was taken for a repository's name",
        "A path that does not exist is asked for on the Hub, which refuses it as a name. It may be "
        "relative to another working directory, not mounted in the container, or not yet saved.",
        "Check it with `ls {path}` on the node and in the container that run, and write it as an "
        "absolute path; on several nodes it must exist on each.",
    ),
    zh=Words(
        "本机没有目录 `{path}`,因此该路径被当成了仓库名",
        "不存在的路径会被拿到 Hub 上查找,而 Hub 拒绝把它当作名称。它可能相对于另一个工作目录、未挂载到容"
        "器中,或尚未保存。",
        "在实际运行的节点和容器中用 `ls {path}` 检查,并写成绝对路径;多机时每台机器上都必须存在。",
    ),
)

MISSING = Message(
    en=Words(
        "The model's folder `{path}` does not exist",
        "Loading it ends with `Repo id must be in the form 'repo_name' or 'namespace/repo_name'`, for a path that is "
        "not there is taken for the name of a repository.",
        "Correct the path. On several machines it must exist on each.",
    ),
    zh=Words(
        "模型目录 `{path}` 不存在",
        "不存在的路径会被当成仓库名,加载时报 `Repo id must be in the form 'repo_name' or 'namespace/repo_name'`。",
        "改正路径。多机时每台机器上都必须存在。",
    ),
)
TILDE = Message(
    en=Words(
        "`~` in the model's path `{path}` is not replaced",
        "Only a shell replaces it. The program looks for a folder named `~` and then takes the path for the name of "
        "a repository, which ends with `Repo id must be in the form`.",
        "Write the path out (`$HOME/...` in a shell script, an absolute path in a YAML file), and check that it is "
        "there.",
    ),
    zh=Words(
        "模型路径 `{path}` 中的 `~` 不会被展开",
        "只有 shell 会展开它。程序会去找名为 `~` 的目录,然后把路径当成仓库名,报 `Repo id must be in the form`。",
        "写出完整路径(shell 脚本中用 `$HOME/...`,YAML 文件中用绝对路径),并确认它存在。",
    ),
)

TAG = Message(
    en=Words(
        "`{path}` is no name of the Hub: names there hold no colon",
        "`NAME:BRANCH` is the notation of text-generation-webui, `NAME:TAG` that of Ollama. Transformers, vLLM and "
        "SGLang take all of it for the name.",
        'Give name and branch apart: `{name}`, with `--revision {tag}` (vLLM, SGLang) or `revision="{tag}"` '
        "(`from_pretrained`). For a model of Ollama look up its name on the Hub (`Qwen/Qwen2.5-7B-Instruct` in place "
        "of `qwen2.5:7b`).",
    ),
    zh=Words(
        "`{path}` 不是 Hub 上的名称:名称中不能有冒号",
        "`名称:分支` 是 text-generation-webui 的写法,`名称:标签` 是 Ollama 的写法。Transformers、vLLM 与 SGLang 会把整"
        "体当作名称。",
        '把名称与分支分开:`{name}`,并用 `--revision {tag}`(vLLM、SGLang)或 `revision="{tag}"`(`from_pretrained`)。'
        "若是 Ollama 的模型,请查找它在 Hub 上的名称(用 `Qwen/Qwen2.5-7B-Instruct` 代替 `qwen2.5:7b`)。",
    ),
)
#: a name with something behind a colon, which is neither a drive nor a path
_TAGGED = re.compile(r"(?P<name>(?![A-Za-z]:)[\w.\-]{1,96}(?:/[\w.\-]{1,96})?):(?P<tag>[\w.\-]{1,96})$")


def _is_path(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~")) or (name.count("/") > 1 and not name.endswith(".gguf"))


@check(PROBLEM)
def model_folder_missing(
    launch: Launch,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    script: Script | None,
) -> Judgement:
    """Judge paths only; veRL and Trinity-RFT may run on machines that this one does not see."""
    named = named_model(training, serving, verl_config, trinity_config)
    if model is not None or named is None or runs_elsewhere(launch) or _downloads(script):
        return
    path = str(named.value).strip()
    if not _is_path(path) or "://" in path or "$" in path or "{" in path:
        return
    message = TILDE if path.startswith("~") and launch.kind not in {"verl", "trinity"} else MISSING
    yield found(PROBLEM, message, path=path, confidence=LIKELY, where=place(named), evidence=(quoted(named),))


def _downloads(script: Script | None) -> bool:
    """Whether the script fetches models into folders itself before it loads them."""
    return script is not None and any(name.rpartition(".")[2] == "snapshot_download" for name in script.imports)


def explain(hits: Hits) -> Finding | None:
    """The end of a long path is enough to know it by."""
    told = hits.get("path") or ""
    tagged = _TAGGED.match(told)
    if tagged:
        return found(
            PROBLEM, TAG, where=hits.where(), evidence=hits.evidence(), path=told, name=tagged["name"],
            tag=tagged["tag"],
        )  # fmt: skip
    parts = told.split("/")
    path = "/".join(parts) if len(parts) <= 3 else ".../" + "/".join(parts[-2:])
    message = TILDE if path.startswith("~") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), path=path)
