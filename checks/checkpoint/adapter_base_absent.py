"""The base model of an adapter is not where the adapter looks for it.

## What it means
A checkpoint of PEFT holds the adapter alone and the path of its base model, `base_model_name_or_path`. The path was a
folder of the machine that trained, and there is none of that name here.
## What it does to a run
`AutoModelForCausalLM.from_pretrained` and `AutoPeftModelForCausalLM` of the adapter's folder look for the base model at
that path, take it for a repository of the hub, and fail with `HFValidationError` or "is not a local folder".
## What to do
Load the base model from where it lies and the adapter onto it, and merge both where one whole model is wanted; or write
the right path into `adapter_config.json`.
## How it is found
By `adapter_config.json`, where it names a folder. A name on the hub is no fault.
## References
https://huggingface.co/docs/peft/developer_guides/checkpoint
https://github.com/huggingface/peft/blob/main/src/peft/config.py
"""

from __future__ import annotations

from pathlib import PurePath

from doctor.checks.checkpoint._pieces import quoted, severity, shown
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.checkpoints import ADAPTER, Checkpoint, Checkpoints

PROBLEM = Problem(id="CKP018", name="adapter-base-absent", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "adapter `{folder}` looks for its base model at `{base}`, which is not here",
        "The folder holds the adapter alone. What loads it wants the base model from that path, and fails without it.",
        "Give the place of the base model: in `adapter_config.json`, or by loading it first and the adapter onto it.",
    ),
    zh=Words(
        "适配器 `{folder}` 的基座模型指向 `{base}`,而本机没有该路径",
        "该目录只有适配器。加载它的程序要从该路径取得基座模型,没有就会失败。",
        "给出基座模型的位置:写入 `adapter_config.json`,或先加载基座模型再加载适配器。",
    ),
)


@check(PROBLEM)
def adapter_base_absent(checkpoints: Checkpoints) -> Judgement:
    """One finding a base model, at the newest adapter."""
    newest: dict[str, Checkpoint] = {}
    for each in checkpoints.found:
        if each.kind == ADAPTER and each.base:
            known = newest.get(each.base)
            newest[each.base] = each if known is None or (each.step or 0) > (known.step or 0) else known
    for base, each in newest.items():
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=str(PurePath(each.folder) / "adapter_config.json"), step=each.step),
            commands=(_merge(each),),
            evidence=(
                Evidence(str(PurePath(each.folder) / "adapter_config.json"), f"base_model_name_or_path: {base}"),
            ),
            folder=shown(each.folder),
            base="/".join(PurePath(base).parts[-2:]),
        )


def _merge(each: Checkpoint) -> str:
    code = (
        "import sys; from peft import PeftModel; from transformers import AutoModelForCausalLM as M; "
        "PeftModel.from_pretrained(M.from_pretrained(sys.argv[1]), sys.argv[2])"
        ".merge_and_unload().save_pretrained(sys.argv[3])"
    )
    return f'python -c "{code}" BASE_MODEL {quoted(each.folder)} {quoted(each.folder + "-merged")}'
