"""Unsloth does not fit the installed Transformers or TRL.

## What it means
Unsloth rewrites source code of Transformers and TRL when it is imported; a release of these that came out
after it has other names, and the rewritten code fails with NameError, ImportError or a refused version.
## What it does to a run
`import unsloth`, or the first model or trainer made with it, raises.
## What to do
Upgrade unsloth and unsloth_zoo together, or install the Transformers and TRL that their metadata name.
## How it is found
In a log: by exceptions whose innermost frame (torch and Triton aside) is Unsloth's.
## References
https://github.com/unslothai/unsloth/issues/2148
https://github.com/unslothai/unsloth/issues/1699
https://github.com/unslothai/unsloth/issues/1248
https://docs.unsloth.ai/get-started/install-and-update
https://github.com/unslothai/unsloth/blob/main/pyproject.toml
https://github.com/unslothai/unsloth/issues/3415
https://github.com/unslothai/unsloth/issues/3057
https://github.com/unslothai/unsloth/issues/2015
https://github.com/unslothai/unsloth/issues/2916
https://github.com/unslothai/unsloth/issues/3244
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF030", name="unsloth-of-another-time", severity=ERROR, since="0.1")

_UNSLOTH = (
    r"[\\/]unsloth(?:_zoo|_compiled_cache)?[\\/]|unsloth_compiled_module_\w{1,40}\.py:|Unsloth\w{1,40}Trainer\.py:"
)

SIGNATURES = (
    Signature(r"^NameError: name '(?P<name>\w{1,80})' is not defined", frame=r"unsloth(?:_zoo)?[\\/]"),
    Signature(
        r"^(?:ImportError|ModuleNotFoundError): (?:cannot import name|No module named) "
        r"'(?P<name>(?!unsloth)[\w.]{1,120})'",
        frame=r"unsloth(?:_zoo)?[\\/]",
    ),
    Signature(
        r"^AttributeError: (?:module|type object) '(?:transformers|trl|peft|torch)[\w.]{0,100}' "
        r"has no attribute '(?P<name>\w{1,80})'",
        frame=r"unsloth(?:_zoo)?[\\/]",
    ),
    Signature(r"^TypeError: (?P<name>_unsloth_\w{1,80})\(\) (?:takes|got|missing) "),
    Signature(r"^RuntimeError: Unsloth: Please file a bug report! Error patching (?P<name>\w{1,80})"),
    Signature(r"^AttributeError: (?P<name>_\w{0,20}(?:old_generate|saved_temp_tokenizer)\w{0,20})$", frame=_UNSLOTH),
    Signature(
        r"^AttributeError: '(?P<owner>\w{1,80})' object has no attribute '(?P<name>(?!vllm_engine|llm\b)\w{1,80})'",
        frame=_UNSLOTH,
        symptom_of=("TRL", "TRF", "BNB", "VLL", "DAT", "TOR"),
    ),
    Signature(
        r"^TypeError: (?P<name>list indices must be integers|argument of type '\w{1,40}' is not iterable|"
        r"\w{1,40}\(\): argument '\w{1,40}')",
        frame=_UNSLOTH,
        symptom_of=("TRL", "DAT"),
    ),
    Signature(
        r"^(?:triton\.compiler\.errors\.)?CompilationError: at \d{1,5}:\d{1,4}",
        frame=r"unsloth(?:_zoo)?[\\/]kernels[\\/]",
    ),
    Signature(r"^KeyError: '(?P<name>\w{1,80})'$", frame=r"unsloth[\\/]models[\\/]rl(?:_replacements)?\.py:"),
    Signature(
        r"^TypeError: (?:\w{1,60}\.)?(?P<name>_\w{1,80}|grpo_\w{1,60})\(\) (?:takes \d|missing \d|got an unexpected)",
        frame=_UNSLOTH,
    ),
    Signature(
        r"^(?P<name>ValueError: (?:not enough|too many) values to unpack|torch\._dynamo\.exc\.TorchRuntimeError|"
        r"TorchRuntimeError)",
        frame=_UNSLOTH,
        symptom_of=("TRL", "DAT", "TOR", "MEM"),
    ),
    Signature(
        r"^(?:ValueError: (?P<name>assisted generate is not supported with Static cache classes)|AttributeError: "
        r"'Static\w{1,20}' object has no attribute '(?P<attribute>\w{1,40})')",
        frame=r"unsloth\w{0,40}[\\/]|unsloth_base_fast_generate|unsloth_fast_generate",
    ),
    Signature(r"^KeyError: '(?P<name>input_ids|labels)'$", frame=r"unsloth\S{0,120}:_train_on_responses_only$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Unsloth does not find `{name}` in the packages installed beside it",
        "Unsloth rewrites the source of Transformers and TRL when it is imported; these are of "
        "another version than the one it was made for.",
        "Upgrade both of its packages: `pip install -U --no-deps unsloth unsloth_zoo`; if that "
        "does not help, run `pip check`, which tells the ranges of Transformers and TRL that this "
        "release of Unsloth asks for, install versions inside them, and restart the process.",
    ),
    zh=Words(
        "Unsloth 在同环境的包中找不到 `{name}`",
        "Unsloth 在导入时改写 Transformers 和 TRL 的源码;它们与其适配的版本不同。",
        "升级它的两个包:`pip install -U --no-deps unsloth unsloth_zoo`;仍不行则运行 `pip check`,它会给出此 "
        "Unsloth 版本所要求的 Transformers 和 TRL 范围,安装范围内的版本,并重启进程。",
    ),
)

REWRITTEN = Message(
    en=Words(
        "Unsloth's own code failed in `{place}`: {name}",
        "Unsloth replaces functions of Transformers, TRL and PEFT and compiles kernels of its own. Most failures "
        "inside of it come from a release that does not fit these packages or this model, and are mended by a newer "
        "one.",
        "Upgrade both of its packages: `pip install -U --no-deps unsloth unsloth_zoo`, delete "
        "`unsloth_compiled_cache`, and restart the process. Then `pip check`: TRL, Transformers and PEFT must lie "
        "inside the ranges that Unsloth names. `import unsloth` must come before trl and transformers. To see "
        "whether its compiling is the cause: `UNSLOTH_COMPILE_DISABLE=1`.",
    ),
    zh=Words(
        "Unsloth 自己的代码在 `{place}` 中失败:{name_zh}",
        "Unsloth 会替换 Transformers、TRL 和 PEFT 的函数,并编译自己的内核。其内部的多数失败源于该版本与这些包或该模"
        "型不匹配,较新的版本会修复。",
        "升级它的两个包:`pip install -U --no-deps unsloth unsloth_zoo`,删除 `unsloth_compiled_cache`,并重启进程。然"
        "后运行 `pip check`:TRL、Transformers 和 PEFT 必须在 Unsloth 给出的范围内。`import unsloth` 必须在 trl 和 "
        "transformers 之前。要判断是否由其编译引起:`UNSLOTH_COMPILE_DISABLE=1`。",
    ),
)

HALVES = Message(
    en=Words(
        "`unsloth` does not find `{name}` in the `unsloth_zoo` beside it",
        "The two packages are released together and one was upgraded without the other, for example `unsloth` from "
        "git beside a `unsloth_zoo` from the index.",
        "Upgrade both at once: `pip install -U --force-reinstall --no-deps unsloth unsloth_zoo` (with unsloth from "
        "git: `pip install --no-deps git+https://github.com/unslothai/unsloth-zoo.git`), then restart the process or "
        "notebook.",
    ),
    zh=Words(
        "`unsloth` 在同环境的 `unsloth_zoo` 中找不到 `{name}`",
        "两个包同时发布,而只升级了其中一个,例如从 git 安装 `unsloth` 而 `unsloth_zoo` 来自索引。",
        "同时升级两者:`pip install -U --force-reinstall --no-deps unsloth unsloth_zoo`(若 unsloth 来自 git:`pip "
        "install --no-deps git+https://github.com/unslothai/unsloth-zoo.git`),然后重启进程或 notebook。",
    ),
)

CACHE = Message(
    en=Words(
        "Unsloth's `generate` prepares a static cache that this Transformers does not take",
        "Unsloth replaces `generate` and sets the kind of KV cache itself; releases of Transformers changed the cache "
        "classes under it (4.56 for one).",
        "Upgrade both of Unsloth's packages: `pip install -U --no-deps unsloth unsloth_zoo`; or go back to the "
        "Transformers that this release was made with (for Unsloth of September 2025: `pip install "
        '"transformers==4.55.4"`; `pip check` tells the range).',
    ),
    zh=Words(
        "Unsloth 的 `generate` 准备的静态缓存不被所装的 Transformers 接受",
        "Unsloth 替换了 `generate` 并自行设定 KV cache 的种类;而 Transformers 的新版本(例如 4.56)改动了缓存类。",
        "升级 Unsloth 的两个包:`pip install -U --no-deps unsloth unsloth_zoo`;或退回该版本所适配的 Transformers"
        '(2025 年 9 月的 Unsloth 为 `pip install "transformers==4.55.4"`;`pip check` 给出范围)。',
    ),
)
UNTOKENIZED = Message(
    en=Words(
        "Unsloth's `train_on_responses_only` finds no `{name}`: the dataset was not tokenized",
        "It masks the tokens that the trainer's preparation made. For models with a processor (Gemma 3 4B and larger, "
        "Qwen-VL) some releases leave the rows as they are (2025.8.10 did); so does `skip_prepare_dataset`, or a "
        "dataset without the text column.",
        "Upgrade both packages: `pip install -U --no-deps unsloth unsloth_zoo`. Before the call "
        "`print(trainer.train_dataset.column_names)` must show `input_ids`: for text alone give the trainer "
        "`tokenizer=processor.tokenizer` and `dataset_text_field`, and no `skip_prepare_dataset`.",
    ),
    zh=Words(
        "Unsloth 的 `train_on_responses_only` 找不到 `{name}`:数据集没有分词",
        "它屏蔽的是训练器预处理生成的 token。对带 processor 的模型(Gemma 3 4B 及以上、Qwen-VL),某些版本(如 2025.8.10)"
        "会保留原始行;`skip_prepare_dataset` 或缺少文本列的数据集也会如此。",
        "升级两个包:`pip install -U --no-deps unsloth unsloth_zoo`。调用之前 "
        "`print(trainer.train_dataset.column_names)` 必须显示 `input_ids`:只用文本时给训练器传 "
        "`tokenizer=processor.tokenizer` 和 `dataset_text_field`,且不要设 `skip_prepare_dataset`。",
    ),
)
STATIC_CACHE = 12  # place of the cache's words among the signatures
TOKENS = 13

_THROUGH = re.compile(r"torch[\\/](?:nn[\\/]modules[\\/]module|autograd|_dynamo|_compile|utils)|triton[\\/]")


def explain(hits: Hits) -> Finding | None:
    """A missing name, or a failure whose innermost frame (torch and Triton aside) is Unsloth's."""
    if hits.of(9):
        return found(
            PROBLEM, HALVES, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
        )
    if hits.of(TOKENS):
        return found(
            PROBLEM, UNTOKENIZED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
        )
    if hits.of(STATIC_CACHE):
        return found(PROBLEM, CACHE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.of(0) or hits.of(1) or hits.of(2):
        if hits.first.frames and not re.search(r"unsloth|Unsloth|^<", hits.first.frames[-1]):
            return None  # another library's import, below Unsloth's
        name = hits.get("name")
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)
    frames = [frame for frame in hits.first.frames if not _THROUGH.search(frame)]
    innermost = frames[-1] if frames else "unsloth"
    if not re.search(r"unsloth|Unsloth|^<string>", innermost):
        return None
    place = re.split(r"[\\/]", innermost.rpartition(":")[0] or innermost)[-1]
    kernel = bool(hits.of(8))
    return found(
        PROBLEM, REWRITTEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, place=place,
        name="a Triton kernel does not compile" if kernel else f"`{hits.get('name')}`",
        name_zh="一个 Triton 内核无法编译" if kernel else f"`{hits.get('name')}`",
    )  # fmt: skip
