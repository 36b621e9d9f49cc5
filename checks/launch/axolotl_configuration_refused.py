"""axolotl refuses its configuration file.

## What it means
axolotl checks its YAML before anything is loaded: the type of every value, names outside of a list, settings that
exclude or require each other. A key that is written without a value is null, which few settings take.
## What it does to a run
The command ends before the first step.
## What to do
Correct the settings that stand above each complaint; `axolotl config-schema` lists what the installed release knows.
## How it is found
In a log: the error of axolotl's own models, a ValueError of its validation, or arithmetic with a setting that is None.
## References
https://github.com/axolotl-ai-cloud/axolotl/blob/main/src/axolotl/utils/config/__init__.py
https://github.com/axolotl-ai-cloud/axolotl/blob/main/src/axolotl/utils/schemas/config.py
https://github.com/axolotl-ai-cloud/axolotl/pull/1840
https://docs.axolotl.ai/docs/config-reference.html
"""

from __future__ import annotations

from typing import Optional

from doctor.checks.launch._refusals import AREAS, REFUSED, finding, refused
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH054", name="axolotl-configuration-refused", severity=ERROR, since="0.1")

_VALIDATES = r"[\\/]axolotl[\\/](?:utils[\\/](?:config|schemas)|cli[\\/]config)"

SIGNATURES = (
    Signature(
        r"^(?:[\w.]{1,60}\.)?ValidationError: (?P<count>\d{1,4}) validation errors? for (?P<model>Axolotl\w{1,40})$",
        keywords=(" for Axolotl",),
    ),
    Signature(r"^\s{1,8}Value error, (?P<message>[^\n\[]{8,400})", kind="sign"),
    Signature(
        r"^\s{1,8}(?:Input should be |Field required|Extra inputs are not permitted)[^\n\[]{0,300}"
        r"\[type=(?P<type>\w{1,40}), [^\n]{0,600}?input_type=(?P<given>\w{1,40})\]",
        kind="sign",
    ),
    Signature(REFUSED, frame=_VALIDATES, symptom_of=AREAS),
    Signature(
        r"^TypeError: (?P<none>(?:unsupported operand type|'[<>]=?' not supported)[^\n]{1,80}'NoneType')",
        frame=r"[\\/]axolotl[\\/]utils[\\/]config[\\/]__init__\.py:\w{1,60}$",
    ),
)

FIELDS = Message(
    en=Words(
        "axolotl refuses {count} of the settings in its configuration file",
        "Its models check every key before anything is loaded{kinds}.{empty}",
        "The name of each setting stands in the line above its complaint in the log: correct it in the YAML. `axolotl "
        "config-schema` prints what the installed release takes; names and types change with releases.",
    ),
    zh=Words(
        "axolotl 拒绝其配置文件中的 {count} 项设置",
        "它的模型在加载任何内容之前检查每个键{kinds_zh}。{empty_zh}",
        "日志中每条意见的上一行就是该设置的名称:请在 YAML 中更正。`axolotl config-schema` 会列出已安装版本接受的设置;"
        "名称与类型随版本变化。",
    ),
)

NONE = Message(
    en=Words(
        "axolotl computes with a setting that its configuration file does not set",
        "It fills in batch sizes from each other at the start, and one that it needs is absent or null: "
        "`micro_batch_size`, and `gradient_accumulation_steps` or `batch_size`.",
        "Set `micro_batch_size` and `gradient_accumulation_steps` in the YAML. A key without a value behind the colon "
        "counts as not set.",
    ),
    zh=Words(
        "axolotl 用到了配置文件中没有设置的项",
        "启动时它由各批大小互相推算,而所需的一项缺失或为 null:`micro_batch_size`,以及 `gradient_accumulation_steps` 或 "
        "`batch_size`。",
        "在 YAML 中设置 `micro_batch_size` 与 `gradient_accumulation_steps`。冒号后没有值的键视为未设置。",
    ),
)


def explain(hits: Hits) -> Optional[Finding]:
    """The relation that a sentence tells, else how many settings are refused and why."""
    if not hits.of(0):
        return _of_code(hits)
    if (text := hits.get("message")) and (told := finding(PROBLEM, "axolotl", hits, text)):
        return told
    types = ", ".join(f"`{each}`" for each in hits.values("type")[:4])
    null = "NoneType" in hits.values("given")
    return found(
        PROBLEM,
        FIELDS,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        commands=("axolotl config-schema",),
        count=hits.get("count") or "some",
        kinds=f"; it calls what is wrong {types}" if types else "",
        kinds_zh=f";它给出的错误类型为 {types}" if types else "",
        empty=" A key that is written without a value is null." if null else "",
        empty_zh="写了键却没有值即为 null。" if null else "",
    )


def _of_code(hits: Hits) -> Optional[Finding]:
    if hits.get("none"):
        return found(PROBLEM, NONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return refused(PROBLEM, "axolotl", hits, _VALIDATES) if hits.of(3) else None
