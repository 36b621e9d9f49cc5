"""An environment of gym or gymnasium is asked for by a name that nothing registered.

## What it means
`gym.make` knows the environments that were registered in this process: those of the installed release, and those of
packages that were imported. Releases rename versions, and `gym` and `gymnasium` have registries of their own.
## What it does to a run
The worker that makes the environment ends before the first rollout.
## What to do
Import the package that registers it, or name the version that exists.
## How it is found
In a log: by the registry's exceptions.
## References
https://gymnasium.farama.org/api/registry/
https://github.com/mpSchrader/gym-sokoban/issues/46
https://gymnasium.farama.org/introduction/migration_guide/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RLX027", name="environment-not-registered", severity=ERROR, since="0.1")

UNKNOWN = Message(
    en=Words(
        "gym knows no environment of the name that is made",
        "Nothing registered it in this process: the package that brings it is not installed, or not imported "
        "before `gym.make` (in the worker, too), it registers with `gymnasium` and is asked for from `gym` or the "
        "reverse, or its version (`-v0`) is another one in the installed release.",
        "Install the package of the environment and import it first: `import gym_sokoban` (alfworld, webshop, "
        "ale_py ... likewise) before `gym.make(...)`, inside the worker's own code; use `import gymnasium as gym` "
        'where the package does; `python -c "import gymnasium, PACKAGE; gymnasium.pprint_registry()"` lists '
        "what is registered. Atari: `pip install 'gymnasium[atari]'` and `gymnasium.register_envs(ale_py)`.",
    ),
    zh=Words(
        "gym 不认识要创建的环境名称",
        "该进程中没有注册它:提供它的包没有安装,或在 `gym.make` 之前没有导入(worker 中也要),它注册在 "
        "`gymnasium` 而从 `gym` 请求(或相反),或已安装版本中的版本号(`-v0`)不同。",
        "安装环境所在的包并先导入:在 worker 自己的代码中 `gym.make(...)` 之前 `import gym_sokoban`(alfworld、"
        'webshop、ale_py 等同理);若该包使用 gymnasium,则 `import gymnasium as gym`;`python -c "import '
        'gymnasium, 包名; gymnasium.pprint_registry()"` 可列出已注册的环境。Atari:`pip install '
        "'gymnasium[atari]'` 并 `gymnasium.register_envs(ale_py)`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"gym(?:nasium)?\.error\.(?:NameNotFound|NamespaceNotFound|VersionNotFound|UnregisteredEnv|Deprec"
            r"atedEnv): "
        ),
        UNKNOWN,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
