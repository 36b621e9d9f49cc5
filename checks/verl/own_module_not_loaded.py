"""veRL could not load a file of the user's: reward function, dataset class, agent loop or tool.

## What it means
Settings such as `custom_reward_function.path` name a Python file and an object in it. veRL runs the file in a worker,
not in the shell that started the run.
## What it does to a run
It ends while trainer or workers are built.
## What to do
Mend the path, the name or the import that fails, on every node.
## How it is found
Before launch, where the file is not on this machine. In a log: by veRL's words.
## References
https://github.com/volcengine/verl/blob/main/verl/utils/import_utils.py
https://github.com/volcengine/verl/blob/v0.5.0/verl/trainer/ppo/reward.py
https://verl.readthedocs.io/en/latest/preparation/reward_function.html
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL033", name="own-module-not-loaded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"FileNotFoundError: Reward function file ['\"]?(?P<absent>[^'\"\s]{1,250}?)['\"]? not found\."),
    Signature(r"FileNotFoundError: Custom module file not found: module_path=['\"](?P<absent>[^'\"\n]{1,250})['\"]"),
    Signature(
        r"RuntimeError: Error loading module from (?:module_path=)?['\"](?P<file>[^'\"\n]{1,250})['\"]"
        r"(?:: No module named '(?P<module>[\w.]{1,80})')?"
    ),
    Signature(
        r"AttributeError: (?:Reward function ['\"](?P<name>\w{1,80})['\"] not found in ['\"]|Object not found in"
        r" module: object_name=['\"](?P<object>\w{1,80})['\"])"
    ),
)

ABSENT = Message(
    en=Words(
        "the file `{file}` that the configuration names is not there",
        "The path is read in a worker of Ray: relative paths start from its working folder, and on another node or "
        "in another container the disk may not be there.",
        "Give the full path of a file that every node sees (`custom_reward_function.path=$PWD/reward.py`), or a "
        "module with `pkg://package.module` in releases that know it.",
    ),
    zh=Words(
        "配置中指定的文件 `{file}` 不存在",
        "该路径在 Ray worker 中读取:相对路径从其工作目录算起,在其他节点或容器中可能没有该磁盘。",
        "给出每个节点都能看到的绝对路径(`custom_reward_function.path=$PWD/reward.py`),或在支持的版本中用 "
        "`pkg://package.module` 指定模块。",
    ),
)

FAILED = Message(
    en=Words(
        "your file `{file}` raised while veRL loaded it{why}",
        "veRL runs the file once to get the object out of it. {detail}The traceback above this error tells the line.",
        "{what}Try it as a worker would: `cd / && python {file}` with the interpreter of the run. For modules that "
        "lie beside it add their folder to PYTHONPATH, for Ray's workers too "
        "(`+ray_kwargs.ray_init.runtime_env.env_vars.PYTHONPATH=...`).",
    ),
    zh=Words(
        "veRL 加载你的文件 `{file}` 时出错{why_zh}",
        "veRL 会执行该文件一次以取出其中的对象。{detail_zh}此错误上方的回溯给出具体行。",
        "{what_zh}像 worker 那样试一次:用本次运行的解释器执行 `cd / && python {file}`。它旁边的模块请把目录加入 "
        "PYTHONPATH,Ray 的 worker 也要(`+ray_kwargs.ray_init.runtime_env.env_vars.PYTHONPATH=...`)。",
    ),
)

NAMELESS = Message(
    en=Words(
        "your file has no `{name}`",
        "The object that the configuration asks for is not defined at the top level of the file, is spelt "
        "otherwise, or the path leads to another file of that name.",
        "Name the function that is there (`custom_reward_function.name=...`, default `compute_score`), or define "
        "it at the top level, outside of `if __name__ == '__main__'`.",
    ),
    zh=Words(
        "你的文件中没有 `{name}`",
        "配置要求的对象没有在该文件顶层定义,拼写不同,或路径指向了另一个同名文件。",
        "改为文件中已有的函数名(`custom_reward_function.name=...`,默认 `compute_score`),或把它定义在顶层,位于 "
        "`if __name__ == '__main__'` 之外。",
    ),
)


@check(PROBLEM)
def own_module_not_loaded(verl_config: VerlConfig) -> Judgement:
    """Files with code that the configuration names and this machine does not have; those with data are LCH003's."""
    for setting in verl_config.absent:
        if setting.name.endswith(".path"):
            yield found(
                PROBLEM, ABSENT, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
                file=setting.value,
            )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """No file, a file that fails, or a file without the object."""
    absent, file, module = hits.get("absent"), hits.get("file"), hits.get("module")
    name = hits.get("name") or hits.get("object")
    message = ABSENT if absent else FAILED if file else NAMELESS
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        file=absent or file or "",
        name=name or "",
        why=f": it misses `{module}`" if module else "",
        why_zh=f":缺少 `{module}`" if module else "",
        detail=f"It imports `{module}`, which the workers' environment does not have. " if module else "",
        detail_zh=f"它导入 `{module}`,而 worker 的环境中没有。" if module else "",
        what=f"Install `{module}` on every node into the environment of the run. " if module else "",
        what_zh=f"在每个节点把 `{module}` 装入本次运行的环境。" if module else "",
    )
