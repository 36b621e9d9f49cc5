"""HF_ENDPOINT is no address that a request can be sent to.

## What it means
The address of the mirror is written without `https://`.
## What it does to a run
Every download ends with `No scheme supplied` (`MissingSchema`) or `Request URL is missing an 'http://' or 'https://'
protocol`; the message names the model, not the variable.
## What to do
Write the address with its scheme.
## How it is found
The variable as the run will have it.
## References
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfendpoint
"""

from __future__ import annotations

from doctor.checks.hub._helpers import is_repository, named_model
from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.redact import redact_text
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="HUB007", name="endpoint-without-scheme", severity=ERROR, since="0.1")
VARIABLE = "HF_ENDPOINT"

MESSAGE = Message(
    en=Words(
        "`HF_ENDPOINT={value}` has no `https://`",
        "Every download from the hub or a mirror ends with `No scheme supplied` or `Request URL is missing an "
        "'http://' or 'https://' protocol`.",
        "Write the address with its scheme.",
    ),
    zh=Words(
        "`HF_ENDPOINT={value}` 缺少 `https://`",
        "从 Hub 或镜像下载都会以 `No scheme supplied` 或 "
        "`Request URL is missing an 'http://' or 'https://' protocol` 失败。",
        "写出带协议的完整地址。",
    ),
)


@check(PROBLEM)
def endpoint_without_scheme(
    environment: Environment,
    hub: Hub,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Certain where the model must be downloaded."""
    value = value_of(environment, training, VARIABLE)
    if not value or value.lower().startswith(("http://", "https://")) or hub.offline:
        return
    named = named_model(training, serving, verl_config, trinity_config)
    sure = model is None and named is not None and is_repository(str(named.value))
    shown_value = redact_text(value)
    yield found(
        PROBLEM,
        MESSAGE,
        value=shown_value,
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}=https://{shown_value.lstrip('/')}",),
        evidence=shown(VARIABLE, shown_value),
    )
