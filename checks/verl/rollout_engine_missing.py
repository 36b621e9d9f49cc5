"""The engine that veRL is to generate with is not installed.

## What it means
`actor_rollout_ref.rollout.name` names vLLM, SGLang or TensorRT-LLM, and veRL imports it in the rollout workers. veRL
itself requires none of them.
## What it does to a run
The workers of the rollout end with ModuleNotFoundError after the models of the actor were loaded.
## What to do
Install the engine in a release that fits veRL and torch, or name the one that is installed.
## How it is found
Before launch, by the name in the command and the packages of the interpreter.
## References
https://github.com/volcengine/verl/blob/v0.9.1/verl/workers/rollout/base.py
https://verl.readthedocs.io/en/latest/start/install.html
"""

from __future__ import annotations

from doctor.checks.trl._helpers import absent
from doctor.checks.verl._helpers import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL041", name="rollout-engine-missing", severity=ERROR, since="0.1", affects={"verl": ">=0.2"})

MESSAGE = Message(
    en=Words(
        "`rollout.name={name}`, and `{package}` is not installed",
        "veRL imports it in the rollout workers, after the actor was loaded, and they end with ModuleNotFoundError.",
        "Install it with the releases that veRL names (`pip install 'verl[{name}]'`), or name an engine that is "
        "installed.",
    ),
    zh=Words(
        "`rollout.name={name}`,但没有安装 `{package}`",
        "veRL 在加载 actor 之后才在 rollout worker 中导入它,届时以 ModuleNotFoundError 退出。",
        "按 veRL 指定的版本安装(`pip install 'verl[{name}]'`),或改用已安装的引擎。",
    ),
)

#: name of the engine -> distribution, import name
ENGINES = {"vllm": ("vllm", "vllm"), "sglang": ("sglang", "sglang")}


@check(PROBLEM)
def rollout_engine_missing(
    verl_config: VerlConfig, packages: Packages, launch: Launch, environment: Environment | None
) -> Judgement:
    """A cluster that runs already, or an environment made for the workers, may hold what this interpreter lacks."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    name = verl.value(ROLLOUT + "name")
    if name is UNKNOWN or name not in ENGINES:
        return
    package, module = ENGINES[name]
    if not absent(packages, package) or packages.modules.get(module) is not None:
        return
    elsewhere = (
        environment is None
        or environment.get("RAY_ADDRESS")
        or any("runtime_env" in key for key in verl_config.overrides)
    )
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY if elsewhere else CONFIRMED,
        where=place_of(*place_settings(verl, ROLLOUT + "name")),
        commands=(f"pip install 'verl[{name}]=={verl.version}'",),
        evidence=(*verl.quoted(ROLLOUT + "name"), Evidence("installed packages", f"verl {verl.version}, no {package}")),
        name=name,
        package=package,
    )
