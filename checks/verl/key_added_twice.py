"""An override adds a key that veRL's configuration has already.

## What it means
`+key=value` tells Hydra that the key is new. This one exists, with a value, so Hydra takes the `+` for a
mistake. It was right for an older release that did not have the key, or is a typing habit.
## What it does to a run
`Could not append to config. An item is already at 'a.b.c'` before anything is loaded.
## What to do
Leave the `+` out.
## How it is found
The overrides with a single `+` against the keys and defaults of the installed release.
## References
https://hydra.cc/docs/advanced/override_grammar/basic/
"""

from __future__ import annotations

from doctor.checks.launch._helpers import COMMAND
from doctor.checks.verl._helpers import Verl, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL002", name="verl-key-already-there", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Could not append to config\. An item is already at '(?P<key>[\w.]{1,160})'"),)

LOG_MESSAGE = Message(
    en=Words(
        "`+{key}` adds a key that the configuration has already",
        "A `+` makes Hydra add a new key; this release holds the key, so it refuses.",
        "Write the override without the plus, `{key}=...`; `++{key}=...` works with both.",
    ),
    zh=Words(
        "`+{key}` 新增的配置项已经存在",
        "`+` 表示新增;当前版本已有该项,因此 Hydra 拒绝。",
        "去掉加号,写成 `{key}=...`;`++{key}=...` 两种情况都可用。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`+{key}` adds a key that veRL {version} has already",
        "Hydra ends with `Could not append to config. An item is already at '{key}'`.",
        "Leave the `+` out.",
    ),
    zh=Words(
        "`+{key}` 要新增的配置项在 veRL {version} 中已经存在",
        "Hydra 会以 `Could not append to config. An item is already at '{key}'` 退出。",
        "去掉 `+`。",
    ),
)


#: kinds of defaults that certainly hold a value: Hydra allows `+` where the value is null
HOLDS_A_VALUE = {"bool", "int", "float", "str"}


@check(PROBLEM)
def key_added_twice(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """`++` changes or adds and is always right; the words of the command tell the two apart."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_own:
        yield Skip("the configuration is a file of its own, whose defaults are not followed")
        return
    for word in launch.script_args:
        key, joined, value = word.partition("=")
        if not joined or not key.startswith("+") or key.startswith("++"):
            continue
        key = key[1:]
        leaf = verl.keys.get(key)
        if leaf is None or leaf.type not in HOLDS_A_VALUE or leaf.default == "???" or value[:1] in {"{", "["}:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            key=key,
            version=verl.version,
            commands=(f"{key}={value}",),
            evidence=(Evidence(COMMAND, word), Evidence(f"default of veRL {verl.version}", f"{key}: {leaf.default}")),
        )
