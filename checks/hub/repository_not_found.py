"""The Hub knows no such repository, or does not show it.

## What it means
A slip in the name, a private repository without a token, or a local folder that does not exist: all three
look the same, for the Hub does not tell strangers what it hides.
## What it does to a run
Loading raises before anything is downloaded.
## What to do
Check the name, the token and the path.
## How it is found
In a log: by the exception of the client.
## References
https://huggingface.co/docs/huggingface_hub/quick-start#authentication
https://github.com/01-ai/Yi-1.5/issues/15
https://github.com/modelscope/modelscope/issues/864
https://github.com/huggingface/huggingface_hub/blob/v1.0.0/src/huggingface_hub/utils/_http.py
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HUB012", name="repository-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Repository Not Found for url: https?://[\w.\-]{1,60}/(?:api/)?(?:models/|datasets/)?(?P<repo"
        r">[\w.\-]{1,96}(?:/(?!(?:resolve|tree|raw)/)[\w.\-]{1,96}?)?)(?:/|\.?$|\.\s)",
    ),
    Signature(r"OSError: (?P<repo>[^\s]{1,200}) is not a local folder and is not a valid model identifier"),
    Signature(r"ValueError: Invalid repository ID or local directory specified: '(?P<repo>[^'\n]{1,200})'"),
    Signature(r"RepositoryNotFoundError: ", kind="sign"),
    Signature(
        r"(?:ValueError: |\] )No supported config format found in (?P<repo>[^\s]{1,200})",
        symptom_of=("HUB",),
    ),
    Signature(
        r"HTTPError: (?:404 Client Error: Not Found|<Response \[404\]>)[^\n]{0,20} for url: https?://(?:www\.)?modelscope\."
        r"(?:cn|ai)/api/v1/(?P<kind>models|datasets)/(?P<repo>[^\s/]{1,96}(?:/[^\s/?]{1,96})?)/(?:revisions|repo|resolve)\b",
        keywords=("/api/v1/models/", "/api/v1/datasets/"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no repository or folder `{repo}` for this user",
        "The Hub answers the same for a name that does not exist and for a private one that the sent "
        "token may not see; a name that was meant as a folder is looked for beside the working directory "
        "first.",
        "Check the spelling on https://huggingface.co and, for a private repository, the login: `hf auth "
        "whoami`, `hf auth login` or `HF_TOKEN`; for a local model give the absolute path of the folder.",
    ),
    zh=Words(
        "对该用户而言不存在仓库或目录 `{repo}`",
        "对于不存在的名称和所用 token 无权查看的私有仓库,Hub 的回答相同;原本指目录的名称会先在工作目录中查找。",
        "在 https://huggingface.co 上核对拼写;私有仓库则检查登录:`hf auth whoami`、`hf auth login` 或 "
        "`HF_TOKEN`;本地模型请给出目录的绝对路径。",
    ),
)

#: vLLM looks for the model's files itself, and takes every failure of the look-up for their absence
ENGINE = Message(
    en=Words(
        "vLLM finds neither `config.json` nor `params.json` for `{repo}`",
        "It looks for these two files, on the Hub or in the folder. No network (or `HF_HUB_OFFLINE`), a token that may "
        "not see a gated or private repository, a slip in the name, and a folder without them all look the same: a "
        "folder of shards that was not merged, an adapter alone, GGUF files, or a path that is not mounted into the "
        "container.",
        "Look there: `ls {repo}/config.json` for a folder (absolute path, mounted with `-v`, the `snapshots/HASH` "
        "folder of the Hub's cache), `hf download {repo} config.json` for a name, which says whether name, login (`hf "
        "auth login`, `HF_TOKEN`) or network is at fault. On nodes without network give the local folder instead of "
        "the name. For GGUF pass the file itself and `--tokenizer` with the original model.",
    ),
    zh=Words(
        "vLLM 找不到 `{repo}` 的 `config.json` 或 `params.json`",
        "它在 Hub 或目录中查找这两个文件。无网络(或 `HF_HUB_OFFLINE`)、token 无权查看受限或私有仓库、名称写错,以及"
        "目录中没有该文件,看起来都一样:未合并的分片目录、只有适配器、GGUF 文件,或路径没有挂载到容器中。",
        "逐一查看:目录用 `ls {repo}/config.json`(绝对路径、以 `-v` 挂载、Hub 缓存中的 `snapshots/HASH` 目录),名称用"
        " `hf download {repo} config.json`,它会指出是名称、登录(`hf auth login`、`HF_TOKEN`)还是网络的问题。无网络"
        "的节点请用本地目录代替名称。GGUF 请给出文件本身,并用 `--tokenizer` 指定原始模型。",
    ),
)


#: ModelScope has its own names: an organisation of the Hub need not exist there under the same one
MODELSCOPE = Message(
    en=Words(
        "ModelScope has no `{repo}` under this name, or does not show it to this user",
        "Many models stand there under another organisation than on the Hugging Face Hub (`LLM-Research`, "
        "`AI-ModelScope` for Llama, Mistral and others). It answers the same (404) for a private or gated one without "
        "a login. A name that was meant as a folder, but is not there, is asked for too.",
        "Search it on https://modelscope.cn and take the name from its page; for a private one `modelscope login "
        "` (or `MODELSCOPE_API_TOKEN`). For a local model give the absolute path. To take it from the "
        "Hugging Face Hub instead: swift `--use_hf true`, vLLM and verl without `VLLM_USE_MODELSCOPE=True`, "
        "LLaMA-Factory without `USE_MODELSCOPE_HUB=1`.",
    ),
    zh=Words(
        "ModelScope 上没有名为 `{repo}` 的仓库,或不对该用户显示",
        "许多模型在 ModelScope 上的组织名与 Hugging Face Hub 不同(Llama、Mistral 等常在 `LLM-Research`、"
        "`AI-ModelScope` 下)。未登录时访问私有或受限仓库得到同样的回答(404)。本意是本地目录但目录不存在时也会这样查"
        "询。",
        "在 https://modelscope.cn 搜索,使用其页面上的名称;私有仓库执行 `modelscope login`(或设置 "
        "`MODELSCOPE_API_TOKEN`)。本地模型请给出绝对路径。改从 Hugging Face Hub 获取:swift 用 `--use_hf true`,vLLM 与 "
        "verl 去掉 `VLLM_USE_MODELSCOPE=True`,LLaMA-Factory 去掉 `USE_MODELSCOPE_HUB=1`。",
    ),
)


#: a function of a module, which was taken for a model when the module could not be imported
FUNCTION = Message(
    en=Words(
        "`{repo}` looks like a function of a module, and was taken for the name of a model",
        "A reward may be given as `module.function` or as a model (axolotl, TRL's scripts). When the import fails, the "
        "name is taken for a model: the module is not beside the command or on PYTHONPATH, or something that it "
        "imports is missing.",
        'Try it where the run starts: `python -c "import {module}"`, which says what is missing. Start in the folder '
        "above the module or `export PYTHONPATH=$PWD`; install what it imports. axolotl before 0.9.2 finds modules of "
        "the top level only: no package before the file's name.",
    ),
    zh=Words(
        "`{repo}` 像是模块中的函数,却被当作模型名",
        "奖励可以写成 `module.function` 或模型(axolotl、TRL 的脚本)。导入失败时该名称会被当作模型:模块不在启动目录或 "
        "PYTHONPATH 中,或缺少它所导入的包。",
        '在启动位置试验:`python -c "import {module}"`,它会指出缺少什么。在模块的上一级目录启动,或 '
        "`export PYTHONPATH=$PWD`;安装它所导入的包。0.9.2 之前的 axolotl 只能找到顶层模块:文件名前不要带包名。",
    ),
)
_MODELSCOPE = 5  # position of its words
_DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")


def explain(hits: Hits) -> Finding | None:
    """Silent where the address is told without an exception: a program caught it and takes something else."""
    raised = any(hit.frames or hit.signature in (1, 2, 4, _MODELSCOPE) for hit in hits) or hits.of(3)
    told = next((hit for hit in hits if hit.groups.get("repo")), None)
    if told is None or not raised:
        return None
    repo = told.groups["repo"]
    if _DOTTED.fullmatch(repo):
        return found(
            PROBLEM, FUNCTION, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, repo=repo,
            module=repo.rsplit(".", 1)[0],
        )  # fmt: skip
    return found(
        PROBLEM,
        MODELSCOPE if told.signature == _MODELSCOPE else ENGINE if told.signature in (2, 4) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        repo=repo,
    )
