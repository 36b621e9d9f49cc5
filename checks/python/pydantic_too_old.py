"""Code for pydantic 2 runs with pydantic 1.

## What it means
pydantic 2 (2023) gave the methods of its models new names: `model_dump`, `model_validate`. Serving engines and API
servers written since then call them. An older package of the same environment holds pydantic at 1.
## What it does to a run
The first request, or the start of the server, ends with AttributeError.
## What to do
Install pydantic 2 and packages that allow it.
## How it is found
In a log: by the method of pydantic 2 that an object lacks.
## References
https://docs.pydantic.dev/latest/migration/
https://github.com/InternLM/lmdeploy/issues/569
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT050", name="pydantic-too-old", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: (?:type object )?'(?P<owner>(?!NoneType)[A-Z]\w{1,80})' object has no attribute"
        r" '(?P<name>model_(?:dump|dump_json|validate|validate_json|json_schema|copy|construct|rebuild))'"
    ),
    Signature(
        r"AttributeError: type object '(?P<owner>[A-Z]\w{1,80})' has no attribute"
        r" '(?P<name>model_(?:dump|dump_json|validate|validate_json|json_schema|copy|construct|rebuild|fields))'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{owner}` has no `{name}`: the installed pydantic is older than the code expects",
        "`{name}` came with pydantic 2. The code calls it, and the class was made with pydantic 1, which another "
        "package of this environment holds back (old fastapi, gradio, spacy, ray ...).",
        "Upgrade both: `pip install -U 'pydantic>=2' fastapi`, and what `pip check` then names. Look at what is "
        "there with `pip show pydantic`. If it is 2 already, `{owner}` is no pydantic model: an older release of "
        "its own package (`pip install -U` that one, for example openai).",
    ),
    zh=Words(
        "`{owner}` 没有 `{name}`:所装 pydantic 比代码所需的旧",
        "`{name}` 是 pydantic 2 才有的。代码调用了它,而该类由 pydantic 1 生成;环境中另一个包(旧版 fastapi、gradio、"
        "spacy、ray 等)把它限制在旧版。",
        "两者一起升级:`pip install -U 'pydantic>=2' fastapi`,再处理 `pip check` 指出的包。用 `pip show pydantic` 查看"
        "现有版本。若已是 2,则 `{owner}` 不是 pydantic 模型:其所属包版本较旧(对该包 `pip install -U`,例如 openai)。",
    ),
)

LOG_CONFIDENCE = LIKELY
