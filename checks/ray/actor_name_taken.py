"""An actor of Ray is made under a name that lives already.

## What it means
A name is unique within a name space of the cluster. A detached actor of an earlier run lives on after its run, and a
second run with the same name space finds the name taken.
## What it does to a run
The call that makes the actor raises.
## What to do
End the old actor, or use another name or name space.
## How it is found
In a log, by Ray's error.
## References
https://docs.ray.io/en/latest/ray-core/actors/named-actors.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY028", name="actor-name-taken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The name (?P<name>[^\s(]{1,160}) \(namespace=(?P<namespace>[^)\n]{1,120})\) is already tak"
        r"en",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "an actor named `{name}` lives already in the Ray name space `{namespace}`",
        "A detached actor outlives the run that made it. One of an earlier run that was killed still holds "
        "the name, or two runs share cluster and name space.",
        "`python -c \"import ray; ray.init(address='auto', namespace='{namespace}'); "
        "ray.kill(ray.get_actor('{name}'))\"`, or `ray stop --force` where the cluster serves this run alone. "
        "Give runs that share a cluster a `namespace` each, or make the actor with `get_if_exists=True` where"
        " the old one is welcome.",
    ),
    zh=Words(
        "Ray 命名空间 `{namespace}` 中已有名为 `{name}` 的 actor",
        "detached 的 actor 比创建它的运行存活更久。被杀死的先前运行仍占用该名称,或两个运行共用集群与命名空间。",
        "`python -c \"import ray; ray.init(address='auto', namespace='{namespace}'); "
        "ray.kill(ray.get_actor('{name}'))\"`,或在集群只供本次运行使用时执行 `ray stop --force`。"
        "共用集群的运行各用一个 `namespace`;若可沿用旧 actor,则以 `get_if_exists="
        "True` 创建。",
    ),
)
