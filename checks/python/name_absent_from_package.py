"""Code imports a name that the installed release of a package does not have.

## What it means
The code that imports (your own, or another library) was written for another release: the name was moved,
renamed, removed, or is not there yet. A file or folder of one's own with the package's name, or two packages
that import each other, look alike.
## What it does to a run
The import raises ImportError and the run ends in its first seconds.
## What to do
Install the pair of releases that belongs together.
## How it is found
In a log: by the name, the package it was sought in, and the frame that asked.
## References
https://docs.python.org/3/library/exceptions.html#ImportError
https://github.com/unslothai/unsloth/issues/3057
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.libraries import package_of
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT025", name="name-absent-from-package", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "CUD", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB",
    "PYT010", "PYT018", "PYT019", "PYT020", "PYT032",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^ImportError: cannot import name '(?P<name>\w{1,80})' from (?P<partial>partially "
        r"initialized module )?'(?P<package>[A-Za-z_]\w{0,60})(?P<module>(?:\.\w{1,80}){0,8})'"
        r"(?: \((?:(?P<init>(?![^)\n]{0,300}(?:site|dist)-packages)[^)\n]{1,300}\.py)"
        r"|(?P<nowhere>unknown location))\))?",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<package>transformers|trl|peft|accelerate|"
        r"datasets|deepspeed|torch|torchvision|huggingface_hub|tokenizers|numpy|diffusers|"
        r"pydantic|langchain|openai|lightning|pytorch_lightning|vllm_ascend)(?P<module>(?:\.\w{1,80}){1,8})'"
        r"(?!; ')",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^AttributeError: module '?(?P<package>torch|transformers|trl|peft|accelerate|datasets|"
        r"deepspeed|numpy|huggingface_hub|tokenizers|triton|pydantic)(?P<module>(?:\.\w{1,80}){0,"
        r"8})'? has no attribute '?(?P<name>\w{1,80})",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"RuntimeError: Failed to import (?P<lazy>[a-z]\w{1,60})[\w.]{0,120} because of the following error",
        kind="sign",
    ),
    Signature(
        r"^cannot import name '(?P<name>\w{1,80})' from '(?P<package>[A-Za-z_]\w{0,60})(?P<module>(?:\.\w{1,80}){0,8})"
        r"'",
        symptom_of=_OTHERS,
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`{importer}` asks for `{name}`, which the installed `{package}`{version} does not have",
        "`{importer}` was written for another release of `{package}`: the name was moved, removed, or came later.",
        "Look both up with `pip show {package} {importer_dist}` and install releases of the same "
        "time: upgrade `{importer}` when `{package}` is the newer one (`pip install -U "
        "{importer_dist}`), else upgrade `{package}` (`pip install -U {package}`) or pin it to "
        "the version that the project's requirements name; then restart the process.",
    ),
    zh=Words(
        "`{importer}` 需要 `{name}`,而已安装的 `{package}`{version} 没有它",
        "`{importer}` 是为 `{package}` 的另一版本编写的:该名称已移动、删除,或更新的版本才有。",
        "用 `pip show {package} {importer_dist}` 查看两者并安装同期版本:若 `{package}` "
        "较新则升级 `{importer}`(`pip install -U {importer_dist}`),否则升级 `{package}`(`pip "
        "install -U {package}`)或固定到项目要求的版本;然后重启进程。",
    ),
)

OWN = Message(
    en=Words(
        "your code asks for `{name}`, which the installed `{package}`{version} does not have",
        "The script was written for another release of `{package}`: the name was moved, renamed "
        "or removed, or is newer than what is installed.",
        'Install the release that the script was written for (`pip install "{package}==VERSION"`,'
        " see its requirements), or change the import to what the installed one offers (its "
        "release notes say where the name went); `pip show {package}` tells the version.",
    ),
    zh=Words(
        "你的代码需要 `{name}`,而已安装的 `{package}`{version} 没有它",
        "脚本是为 `{package}` 的另一版本编写的:该名称已移动、改名或删除,或比已安装的版本新。",
        '安装脚本所针对的版本(`pip install "{package}==VERSION"`,见其 requirements),'
        "或把导入改为已安装版本所提供的名称(其发布说明会写明去向);`pip show {package}` "
        "可查看版本。",
    ),
)

CIRCULAR = Message(
    en=Words(
        "`{package}` was imported while it was only half loaded, when `{name}` was wanted",
        "A circular import: a file of your own has the package's name (`{package}.py`, a folder "
        "`{package}/`) and is found first, or two packages of releases that do not belong "
        "together import each other.",
        "Look for such a file in the script's folder and rename it (and delete its "
        '`__pycache__`); `python -c "import {package}; print({package}.__file__)"` shows which '
        "one is found. Else upgrade both packages.",
    ),
    zh=Words(
        "需要 `{name}` 时,`{package}` 只加载了一半",
        "循环导入:你自己的文件与该包同名(`{package}.py` 或目录 `{package}/`)且先被找到,或两个版本不匹配的包互相导入。",
        '在脚本目录中查找这样的文件并改名(rename,并删除其 `__pycache__`);`python -c "import '
        '{package}; print({package}.__file__)"` 可显示找到的是哪一个。否则同时升级两个包。',
    ),
)


BESIDE = Message(
    en=Words(
        "a package asks for `{name}`, which the installed `{package}`{version} does not have",
        "`{lazy}` imports other packages when it is loaded (PEFT, Accelerate, DeepSpeed, flash-attn, vLLM), and one of "
        "them was written for another release of `{package}`. Most often PEFT is newer than Transformers. The log does "
        "not show which: the traceback above these words tells.",
        'See who asks: `python -c "import {package}, peft"`, then the same with accelerate, deepspeed, trl. Upgrade '
        "`{package}` (`pip install -U {package}`), or install the release of the other one that belongs to it (for "
        'PEFT the one of the same month: `pip install "peft==VERSION"`); `pip check` tells the ranges. Then restart.',
    ),
    zh=Words(
        "某个包需要 `{name}`,而已安装的 `{package}`{version} 没有它",
        "`{lazy}` 在加载时会导入其他包(PEFT、Accelerate、DeepSpeed、flash-attn、vLLM),其中之一是为 `{package}` 的另一版"
        "本编写的,最常见的是 PEFT 比 Transformers 新。日志未显示是哪一个,可看这些文字上方的回溯。",
        '找出是谁:`python -c "import {package}, peft"`,再换成 accelerate、deepspeed、trl。升级 `{package}`(`pip '
        'install -U {package}`),或安装与之匹配的另一个包的版本(PEFT 取同月的:`pip install "peft==VERSION"`);`pip '
        "check` 会给出范围。然后重启。",
    ),
)


CHECKOUT = Message(
    en=Words(
        "`{module}`, run from a checkout or a folder of your own, does not give `{name}`",
        "Either that folder is of another version than the code that imports from it (two checkouts, of which the "
        "wrong one is found first), or its `__init__.py` catches the exception of its own imports, as LLaVA's does, "
        "and the real reason (flash-attn, DeepSpeed, Transformers of another release) is hidden.",
        "Import the file that defines the name directly; that shows the hidden exception: `grep -rn 'class {name}' .`, "
        'then `python -c "import {module}.THAT_FILE"`. See which folder is used: `python -c "import {module}; '
        'print({module}.__file__)"`, take the other one off PYTHONPATH, and install the one you mean with `pip install '
        "-e .`.",
    ),
    zh=Words(
        "从检出目录或自己的文件夹运行的 `{module}` 没有提供 `{name}`",
        "要么该目录与导入它的代码版本不同(存在两个检出,先找到了错误的那个),要么其 `__init__.py` 捕获了自身导入的异常"
        "(LLaVA 就是如此),真正的原因(flash-attn、DeepSpeed、其他版本的 Transformers)被隐藏。",
        "直接导入定义该名称的文件即可看到被隐藏的异常:`grep -rn 'class {name}' .`,然后 `python -c \"import "
        '{module}.THAT_FILE"`。'
        '用 `python -c "import {module}; print({module}.__file__)"` 查看所用目录,把另一个从 PYTHONPATH 去掉,并用 `pip '
        "install -e .` "
        "安装需要的那个。",
    ),
)

FOLDER = Message(
    en=Words(
        "`{module}` is a bare folder without `__init__.py`, so it has no `{name}`",
        'Python says "unknown location" where it took a folder for the package: the command runs beside a checkout '
        "whose outer folder is called `{package}` too, results or caches of earlier runs lie in a folder of that "
        "name, or an uninstallation left folders without code behind. The release is not the question.",
        'See which folder it is: `python -c "import {module}; print(list({module}.__path__))"`. Start from another '
        "working folder or rename that one. If it lies in site-packages: delete it and install again (`pip install "
        "--force-reinstall {dist}`); a checkout is installed by `pip install -e PATH` (SGLang: `-e PATH/python`).",
    ),
    zh=Words(
        "`{module}` 是没有 `__init__.py` 的空目录,因此没有 `{name}`",
        'Python 把一个目录当成了该包时会写 "unknown location":命令在检出目录旁执行,而检出的外层目录也叫 `{package}`;以'
        "前运行的结果或缓存放在同名目录中;或卸载后残留了没有代码的目录。与版本无关。",
        '查看是哪个目录:`python -c "import {module}; print(list({module}.__path__))"`。换一个工作目录执行,或给该目录改'
        "名。若它在 site-packages 中:删除后重新安装(`pip install --force-reinstall {dist}`);检出目录用 `pip install "
        "-e PATH` 安装(SGLang 为 `-e PATH/python`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The frame that asked tells whose code is of another time."""
    if not hits.of(0) and not hits.of(1) and not hits.of(2):
        return _lazy(hits)
    package = hits.get("package") or ""
    installed = hits.versions.get(package.replace("_", "-")) or hits.versions.get(package)
    importer = _importer(hits.first.frames)
    circular = bool(hits.get("partial"))
    if hits.get("init") and not circular:
        return found(
            PROBLEM, CHECKOUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
            module=f"{package}{hits.get('module') or ''}",
        )  # fmt: skip
    if hits.get("nowhere") and not circular:
        return found(
            PROBLEM, FOLDER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
            module=f"{package}{hits.get('module') or ''}", package=package, dist=package.replace("_", "-"),
        )  # fmt: skip
    if importer == package and not circular:
        return None  # PYT043: the package asks itself
    message = CIRCULAR if circular else LOG_MESSAGE if importer else OWN
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        name=hits.get("name") or f"{package}{hits.get('module') or ''}", importer=importer,
        importer_dist=importer.replace("_", "-"), version=f" {installed}" if installed else "",
    )  # fmt: skip


def _lazy(hits: Hits) -> Finding | None:
    """The words of a lazy import quote the reason in their second line and tell nothing of who asked."""
    above = {hit.line + 1: hit.groups["lazy"] for hit in hits.of(3)}
    for hit in hits.of(4):
        if hit.line in above:
            package = hit.groups["package"]
            installed = hits.versions.get(package.replace("_", "-")) or hits.versions.get(package)
            return found(
                PROBLEM, BESIDE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
                name=hit.groups["name"], lazy=above[hit.line], version=f" {installed}" if installed else "",
            )  # fmt: skip
    return None


def _importer(frames: Sequence[str]) -> str:
    """Package of the innermost frame, empty for the user's own code."""
    return package_of(frames[-1].rpartition(":")[0]) if frames else ""
