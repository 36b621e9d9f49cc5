"""A trainer that is derived from TRL's was written for another release of TRL.

## What it means
Projects derive from `GRPOTrainer` and override parts of it. TRL renames and drops attributes and methods between
minor releases (`llm`, `num_iterations`, `_last_loaded_step`, `_step` ...); what the derived class still reads is
gone, or what TRL now reads the derived class never set.
## What it does to a run
AttributeError on the trainer itself, at the first step.
## What to do
Install the release of TRL that the project names.
## How it is found
In a log: by the exception about a class that is not TRL's own, with frames of TRL and of the derived class.
## References
https://github.com/PrimeIntellect-ai/verifiers/issues/46
https://github.com/dhcode-cpp/X-R1/issues/51
https://github.com/StarsfieldAI/R1-V/pull/44
https://github.com/om-ai-lab/VLM-R1/issues/128
https://github.com/huggingface/trl/releases
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL057", name="trainer-of-another-release", severity=ERROR, since="0.1")

_TRL = r"trl[\\/](?:trainer|extras|experimental)[\\/]"

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<trainer>(?!Unsloth)\w{0,60}(?:GRPO|DPO|RLOO|SFT|PPO|KTO|ORPO|GKD)\w{0,40}Trainer)' "
        r"object has no attribute '(?P<name>(?!current_gradient_accumulation_steps)\w{1,80})'",
        frame=_TRL,
        own_code=True,  # the derived class is the user's
    ),
    Signature(
        r"^KeyError: '(?P<entry>(?:chosen|rejected|prompt|concatenated|reference)_(?:labels|input_ids|attention_mask|"
        r"logps|chosen_logps|rejected_logps))'$",
        frame=_TRL,
        own_code=True,  # the derived class is the user's
    ),
    Signature(
        r"^TypeError: (?P<base>(?:GRPO|DPO|RLOO|SFT|PPO|KTO|ORPO|GKD)Trainer)\.__init__\(\) got an unexpected keyword "
        r"argument '(?P<argument>\w{1,60})'",
        symptom_of=("TRL001", "TRL002", "TRL003", "TRL045", "TRF005"),
    ),
    Signature(
        r"^TypeError: (?P<derived>(?!Unsloth)\w{1,60}(?:GRPO|DPO|RLOO|SFT|PPO|KTO|ORPO|GKD)\w{0,40}Trainer)\."
        r"__init__\(\) got an unexpected keyword argument '(?P<option>\w{1,60})'",
    ),
    Signature(
        # attributes that TRL's GRPOTrainer has in some releases only, read by a class of another library
        r"^AttributeError: '(?P<trainer>(?!Unsloth)\w{0,60}GRPO\w{0,40}Trainer)' object has no attribute '"
        r"(?P<name>llm|sampling_params|vllm_client|vllm_mode|guided_decoding_regex|_buffered_inputs|epsilon|epsilon_low|num_iterations|image_token_id|vision_start_token_id|pad_token|_textual_logs|_logs|max_prompt_length|vllm_generation|_last_loaded_step|reward_func_names|mask_truncated_completions|use_liger_loss"
        r")'",
    ),
)

#: place of the constructor of a derived class among the signatures
_COPY = 3
#: classes of TRL itself
_OWN = re.compile(r"(?:Online|Iterative|Nash\w*|XPO|Async)?(?:GRPO|DPO|RLOO|SFT|PPO(?:v2)?|KTO|ORPO|GKD)Trainer")

LOG_MESSAGE = Message(
    en=Words(
        "`{trainer}` is derived from another release of TRL: `{name}` is not there",
        "The class overrides parts of TRL's trainer, whose attributes and methods change between minor releases. "
        "Either it reads `{name}`, which the installed TRL no longer has, or TRL reads it and the class never set "
        "it.",
        "Install the TRL that the project was written for (its requirements.txt, pyproject.toml or README; the date "
        "of its last commit tells the release): `pip install 'trl==VERSION'`, with the Transformers and vLLM of "
        "that time; or update the project. `pip show trl` tells the installed one{installed}.",
    ),
    zh=Words(
        "`{trainer}` 派生自另一版本的 TRL:缺少 `{name}`",
        "该类重写了 TRL 训练器的一部分,而其属性和方法在小版本之间会变化。要么它读取的 `{name}` 在已安装的 TRL 中已不"
        "存在,要么 TRL 读取它而该类从未设置。",
        "安装该项目所针对的 TRL(见其 requirements.txt、pyproject.toml 或 README;最后一次提交的日期可推断版本):`pip "
        "install 'trl==VERSION'`,并配上同期的 Transformers 和 vLLM;或更新该项目。`pip show trl` 可查看已安装版本"
        "{installed_zh}。",
    ),
)


BATCH = Message(
    en=Words(
        "code beside TRL reads `{name}`, which TRL's trainer of this release does not have",
        "A class or function of the project works on what TRL's trainer hands it: entries of its batches, or "
        "arguments of its "
        "`__init__`. These differ between releases, and forks (LLaVA-NeXT's TRL, for one) add some of their own.",
        "Install the TRL that the project was written for (its requirements.txt, pyproject.toml or README; the date of "
        "its last commit tells the release), or the fork that it carries along (`pip install -e ./trl`): `pip install "
        "'trl==VERSION'`, in an environment of its own. Or change the code to what the installed TRL has: `pip show "
        "trl` tells its version.",
    ),
    zh=Words(
        "TRL 之外的代码读取 `{name}`,而此版本的 TRL 训练器没有它",
        "项目中的类或函数使用 TRL 训练器交给它的内容:批次中的条目,或其 `__init__` 的参数。这些在版本之间不同,而某些分支"
        "(例如 LLaVA-NeXT 的 TRL)还会自行添加。",
        "安装该项目所针对的 TRL(见其 requirements.txt、pyproject.toml 或 README;最后一次提交的日期可推断版本),或其自带"
        "的分支(`pip install -e ./trl`):在单独的环境中 `pip install 'trl==VERSION'`。或按已安装的 TRL 修改代码:`pip "
        "show trl` 可查看版本。",
    ),
)


COPY = Message(
    en=Words(
        "the script hands `{name}` to `{trainer}`, and the copy of that class that was imported does not take it",
        "Script and trainer class are of two versions of the project. Projects that grew out of the same repository "
        "carry a package of the same name (`open_r1`), and the one that was installed first, or an older checkout, is "
        "imported instead of the one beside the script.",
        'See which one it is: `python -c "import {module}; print({module}.__path__)"` in the folder of the start '
        "(`open_r1` for the packages of R1-V, VLM-R1 and their kin). Install this checkout over it: `pip uninstall -y "
        "{dist}; pip install -e .` in the folder with its `setup.py`, and `git pull` so that both are of one commit.",
    ),
    zh=Words(
        "脚本向 `{trainer}` 传入了 `{name}`,而实际导入的那份类不接受它",
        "脚本与训练器类属于该项目的两个版本。源自同一仓库的项目带有同名的包(`open_r1`),先安装的那个或更旧的源码被导入,"
        "而不是脚本旁边的那个。",
        '在启动目录查看导入的是哪一个:`python -c "import {module}; print({module}.__path__)"`(R1-V、VLM-R1 等项目的包名'
        "为 `open_r1`)。用本源码覆盖安装:在含有 `setup.py` 的目录执行 `pip uninstall -y {dist}; pip install -e .`,"
        "并 `git pull` 使两者属于同一提交。",
    ),
)


def _by_copy(hits: Hits) -> Finding | None:
    """A class derived from TRL's that does not take what a script of one's own hands it."""
    frames, derived = hits.first.frames, hits.get("derived") or ""
    if not frames or re.search(r"(?:site|dist)-packages", frames[-1]) or _OWN.fullmatch(derived):
        return None
    folder = re.search(r"[\\/]src[\\/](?P<module>[a-z]\w{1,40})[\\/]", frames[-1])
    module = folder["module"] if folder else "open_r1"
    return found(
        PROBLEM, COPY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, trainer=derived,
        name=hits.get("option"), module=module, dist=module.replace("_", "-"),
    )  # fmt: skip


def _by_call(hits: Hits) -> Finding | None:
    """An entry or an argument counts where the project's own class asks for it, not TRL and not a plain script."""
    frames = hits.first.frames
    if not frames or re.search(_TRL, frames[-1]) or frames[-1].endswith(":<module>"):
        return None
    name = hits.get("entry") or hits.get("argument")
    return found(PROBLEM, BATCH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)


def explain(hits: Hits) -> Finding | None:
    """A class of TRL's own that lacks an attribute is another matter."""
    if hits.first.signature == _COPY:
        return _by_copy(hits)
    if not hits.get("trainer"):
        return _by_call(hits)
    trainer = hits.get("trainer") or ""
    if _OWN.fullmatch(trainer):
        return None
    installed = hits.versions.get("trl")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        trainer=trainer, name=hits.get("name"),
        installed=f" ({installed})" if installed else "", installed_zh=f"({installed})" if installed else "",
    )  # fmt: skip
