"""The code that came with a model does not fit the installed Transformers.

## What it means
Repositories with Python files of their own (`trust_remote_code=True`) were written against one release of
Transformers. Later ones move helpers, change what a cache or a layer returns and what methods are handed.
## What it does to a run
ImportError, AttributeError, TypeError or a failed unpacking inside the model's own file, while it is loaded, trained
or generates.
## What to do
Update the model's files, use the architecture that Transformers brings itself, or install the release named in its
`config.json`.
## How it is found
In a log: by exceptions whose innermost frames lie in the folder where Transformers keeps such code.
## References
https://huggingface.co/docs/transformers/custom_models
https://github.com/hiyouga/LlamaFactory/issues/4739
https://github.com/zai-org/GLM-4/issues/623
https://github.com/scutcyr/SoulChat/issues/12
https://github.com/zai-org/ChatGLM2-6B/issues/53
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF033", name="remote-code-of-another-release", severity=ERROR, since="0.1")

_FOLDER = r"transformers_modules[\\/]"
#: places in SIGNATURES
_TOKENIZER, _PREFIX, _BARE = 4, 5, 6

SIGNATURES = (
    Signature(r"^ImportError: cannot import name '(?P<what>\w{1,100})' from '(?P<library>transformers)", frame=_FOLDER),
    Signature(
        r"^AttributeError: '\w{1,100}' object has no attribute '(?P<what>\w{1,100})'",
        frame=_FOLDER,
        symptom_of=("TRF023",),
    ),
    Signature(r"^TypeError: \S{0,160}\(\) (?:got an unexpected|missing|takes) ", frame=_FOLDER),
    Signature(r"^ValueError: (?:too many|not enough) values to unpack", frame=_FOLDER),
    Signature(
        r"^AttributeError: '(?P<tokenizer>\w{0,60}Tokenizer\w{0,10})' object has no attribute '(?P<what>\w{1,100})'",
        frame=r"tokenization_utils(?:_base)?\.py:(?:__init__|_add_tokens|add_tokens|_from_pretrained)$",
    ),
    Signature(r"^AttributeError: 'ChatGLM\w{0,40}' object has no attribute '(?P<what>prefix_encoder)'"),
    Signature(
        # tokenizers that came as files with a model, and what they load too late
        r"^AttributeError: '(?P<tokenizer>(?:Baichuan|ChatGLM|InternLM2?|Qwen|XverseTokenizer|Aquila|Yi|Orion|Skywork)"
        r"\w{0,30}Tokenizer\w{0,10})' object has no attribute '(?P<what>sp_model|tokenizer|_sp_model)'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model's own code ({place}) does not fit the installed Transformers",
        "The repository brings Python files (`trust_remote_code=True`) that were written for another release of "
        "Transformers: helpers have moved, caches and layers return something else. The weights are fine.",
        "Update the model's files (download the repository again; delete the copy under "
        "`~/.cache/huggingface/modules/transformers_modules`). Where Transformers has the architecture itself, load "
        "without `trust_remote_code=True`. Otherwise install the release that stands as `transformers_version` in the "
        "model's `config.json`: `pip install 'transformers==VERSION'`.",
    ),
    zh=Words(
        "模型自带的代码({place})与已安装的 Transformers 不匹配",
        "该仓库带有 Python 文件(`trust_remote_code=True`),是为另一版本的 Transformers 编写的:"
        "工具函数移动了位置,缓存和层返回的内容也变了。权重没有问题。",
        "更新模型文件(重新下载仓库,并删除 `~/.cache/huggingface/modules/transformers_modules` 下的副本)。"
        "若 Transformers 已内置该架构,则不带 `trust_remote_code=True` 加载。否则安装模型 `config.json` 中 "
        "`transformers_version` 所写的版本:`pip install 'transformers==VERSION'`。",
    ),
)

TOKENIZER = Message(
    en=Words(
        "`{tokenizer}` ({place}) is too old for this Transformers: its vocabulary is asked for before it is loaded",
        "Since Transformers 4.34 the base class asks a tokenizer for its vocabulary while it is made. The Python file "
        "that came with this model loads it (`{what}`) only after `super().__init__()`.",
        'Install an older release: `pip install "transformers<4.34"` (the model\'s README names the one that it was '
        "written for); or update the model's files; or edit `{place}` so that `self.{what} = ...` stands before "
        "`super().__init__(...)`. The copy below `~/.cache/huggingface/modules/transformers_modules` is the one that "
        "runs.",
    ),
    zh=Words(
        "`{tokenizer}`({place})对该 Transformers 来说太旧:词表在加载之前就被读取",
        "自 Transformers 4.34 起,基类在构造分词器时就会读取词表。该模型自带的 Python 文件在 `super().__init__()` 之后才"
        "加载它(`{what}`)。",
        '安装较旧的版本:`pip install "transformers<4.34"`(模型的 README 写明它所针对的版本);或更新模型文件;或修改 '
        "`{place}`,使 `self.{what} = ...` 位于 `super().__init__(...)` 之前。实际运行的是 "
        "`~/.cache/huggingface/modules/transformers_modules` 下的副本。",
    ),
)
PREFIX = Message(
    en=Words(
        "the ChatGLM model was made without a prefix encoder, which P-Tuning v2 trains",
        "Its code makes `prefix_encoder` only if the configuration has `pre_seq_len`, and the first files of ChatGLM2 "
        "had none at all.",
        "Set it before the model is made: `config = AutoConfig.from_pretrained(MODEL, trust_remote_code=True, "
        "pre_seq_len=128)` (the scripts: `--pre_seq_len 128`), and hand that `config` to `from_pretrained`. Update the "
        "model's files (`modeling_chatglm.py`) and use the ptuning script of the same generation of ChatGLM.",
    ),
    zh=Words(
        "ChatGLM 模型构造时没有 P-Tuning v2 所训练的 prefix encoder",
        "其代码仅在配置含有 `pre_seq_len` 时才创建 `prefix_encoder`,而 ChatGLM2 最初的模型文件中根本没有它。",
        "在构造模型之前设置:`config = AutoConfig.from_pretrained(MODEL, trust_remote_code=True, pre_seq_len=128)`"
        "(脚本:`--pre_seq_len 128`),并把该 `config` 传给 `from_pretrained`。更新模型文件(`modeling_chatglm.py`),并使用"
        "同一代 ChatGLM 的 ptuning 脚本。",
    ),
)

MESSAGES = (LOG_MESSAGE, TOKENIZER, PREFIX)

#: helpers of torch that hand a call through and never are the place of a fault
_THROUGH = re.compile(r"torch[\\/]nn[\\/]modules[\\/]module\.py:|accelerate[\\/]hooks\.py:|torch[\\/]utils[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Only where the model's own file raised; calls that are handed through by torch do not count."""
    first = hits.first
    frames = [frame for frame in first.frames if not _THROUGH.search(frame)]
    place = re.split(r"[\\/]", frames[-1].rpartition(":")[0])[-1] if frames else "tokenization_*.py"
    asked = next((each for each in hits.of(_TOKENIZER) if each.line == first.line and each.file == first.file), None)
    if asked is None and first.signature == _BARE and not first.frames:
        asked = first
    if asked is not None or hits.of(_PREFIX):
        groups = (asked or first).groups
        return found(
            PROBLEM, TOKENIZER if asked is not None else PREFIX, where=hits.where(), evidence=hits.evidence(),
            confidence=LIKELY, place=place, what=groups.get("what", ""), tokenizer=groups.get("tokenizer", ""),
        )  # fmt: skip
    if not frames or not re.search(_FOLDER, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        place=f"`{place}`",
    )  # fmt: skip
