"""A package does not find its own parts: its folder holds files of two releases.

## What it means
The file that asks and the file that is asked belong to the same package, so no other program is to blame. One half
was replaced: an upgrade that did not end, a second distribution that writes into the same folder (triton and
triton-ascend, opencv-python and its headless twin), conda and pip over each other, a file that was patched by hand, or
an upgrade while the process (a notebook) had the old half loaded.
## What it does to a run
ImportError wherever the package is imported.
## What to do
Uninstall every distribution that owns the folder, delete what is left, and install one of them.
## How it is found
In a log: by an import error whose innermost frame lies in the very package that lacks the name; and by SGLang's
registry that met the same model twice.
## References
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/models/registry.py
https://github.com/numpy/numpy/issues/27148
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.checks.python._api_history import asker_of
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.libraries import package_of
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT043", name="package-of-two-releases", severity=ERROR, since="0.1")

#: problems that know more of the same line; those of names in other packages give way by themselves
_OTHERS = (
    "TRL",
    "DSP",
    "FLA",
    "TOR",
    "CUD",
    "DAT",
    "VRL",
    "BNB",
    "PYT009",
    "PYT018",
    "PYT019",
    "PYT020",
    "PYT005",
    "PYT030",
)

SIGNATURES = (
    Signature(
        r"^ImportError: cannot import name '(?P<name>\w{1,80})' from '(?P<package>[A-Za-z_]\w{0,60})"
        r"(?P<module>(?:\.\w{1,80}){0,8})'",
        frame=r"(?:site|dist)-packages",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<package>[A-Za-z_]\w{0,60})(?P<module>(?:\.\w{1,80}){1,8})'",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^AttributeError: module '(?P<package>[A-Za-z_]\w{0,60})(?P<module>(?:\.\w{1,80}){0,8})' has no attribute "
        r"'(?P<name>\w{1,80})'",
        symptom_of=_OTHERS,
    ),
    Signature(r"^AssertionError: Duplicated model implementation for (?P<model>\w{2,80})"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed `{package}` does not fit itself: its own code asks for `{name}`, which its own files lack",
        "Its folder holds files of two releases, or lacks some: an upgrade that did not end, two distributions that "
        "write into the same folder{twins}, conda and pip over each other, or a wheel for another machine without its "
        "compiled part. In a notebook the package was upgraded while the old one was loaded.",
        "In a notebook restart the kernel first. Then `pip uninstall -y {dist}` again and again until pip finds none, "
        'delete what is left of the folder (`python -c "import {package}; print({package}.__path__)"`), and install '
        "one of them once: `pip install --no-cache-dir {wanted}` in the version that your stack names.",
    ),
    zh=Words(
        "所装的 `{package}` 自相矛盾:它自己的代码需要 `{name}`,而它自己的文件中没有",
        "其目录中混有两个版本的文件,或缺少文件:升级未完成、两个发行包写入同一目录{twins_zh}、conda 与 pip 相互覆盖,或缺"
        "少编译部分。在 notebook 中则是加载旧版时进行了升级。",
        'notebook 请先重启内核。然后反复 `pip uninstall -y {dist}` 直到 pip 找不到它,删除残留目录(`python -c "import '
        '{package}; print({package}.__path__)"`),再安装一次:`pip install --no-cache-dir {wanted}`'
        "(使用你的软件栈所要求的版本)。",
    ),
)
CHECKOUT = Message(
    en=Words(
        "the `{package}` in `{folder}` does not fit itself: its own code asks for `{name}`, which it lacks",
        "It is imported from a checkout, or from a folder that `pip install --target` filled: its files are of two "
        "releases, some were edited, or files of an older release were left behind.",
        "In a checkout look at `git -C {folder} status`, bring all files to one release (`git checkout TAG`) and run "
        "`pip install -e .` there again. A folder that pip filled: empty it and install once more.",
    ),
    zh=Words(
        "`{folder}` 中的 `{package}` 自相矛盾:它自己的代码需要 `{name}`,而它自己没有",
        "它是从源码检出或 `pip install --target` 写入的目录导入的:其中混有两个版本的文件、有文件被改动,或残留了旧版本的"
        "文件。",
        "若是源码检出,用 `git -C {folder} status` 查看,把所有文件切到同一版本(`git checkout TAG`),并在其中重新运行 "
        "`pip install -e .`。若是 pip 写入的目录,请清空后重新安装。",
    ),
)
MODEL = Message(
    en=Words(
        "two files of SGLang's models define `{model}`",
        "Its registry reads every file of `sglang/srt/models` (and of `SGLANG_EXTERNAL_MODEL_PACKAGE`), and met the "
        "class twice: a file that was added or patched by hand while the release now brings its own, or files of an "
        "older release that an upgrade left behind.",
        "Find both, `grep -rln 'EntryClass.*{model}' $(python -c 'import sglang.srt.models as m; "
        "print(list(m.__path__)[0])')`, and remove your own or the stale one; or install anew: `pip uninstall -y "
        "sglang`, delete the folder, `pip install sglang`.",
    ),
    zh=Words(
        "SGLang 的模型目录中有两个文件定义了 `{model}`",
        "其注册表会读取 `sglang/srt/models`(以及 `SGLANG_EXTERNAL_MODEL_PACKAGE`)的全部文件,两次遇到该类:手工添加或打补"
        "丁的文件与新版自带的重复,或升级残留的旧文件。",
        "找出两者:`grep -rln 'EntryClass.*{model}' $(python -c 'import sglang.srt.models as m; "
        "print(list(m.__path__)[0])')`,删除自己的或过时的那个;或重新安装:`pip uninstall -y sglang`,删除目录,`pip "
        "install sglang`。",
    ),
)
#: package -> distributions that write into its folder
_TWINS = {
    "triton": ("triton", "triton-ascend", "pytorch-triton", "triton-windows"),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "pynvml": ("nvidia-ml-py", "pynvml"),
}


def explain(hits: Hits) -> Finding | None:
    """Only where the package asked itself."""
    if model := hits.get("model"):
        return found(PROBLEM, MODEL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model)
    package = hits.get("package") or ""
    asker = asker_of(hits.first.frames)
    part = hits.first.groups.get("name") or hits.first.groups.get("module", "")
    if asker != package or re.search(r"^_C\b|^_version\b|\._C\b|\._ext\b|_cuda$", part):
        return None
    name = hits.first.groups.get("name") or f"{package}{hits.get('module') or ''}"
    if folder := _own_folder(hits.first.frames, package):
        return found(
            PROBLEM, CHECKOUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
            name=name, folder=folder,
        )  # fmt: skip
    twins = _TWINS.get(package, ())
    listed = ", ".join(twins)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        name=name,
        dist=" ".join(twins) or package.replace("_", "-"), wanted=(twins or (package.replace("_", "-"),))[0],
        twins=f" ({listed})" if twins else "",
        twins_zh=f"({listed})" if twins else "",
    )  # fmt: skip


def _own_folder(frames: Sequence[str], package: str) -> str:
    """Folder that holds a package, where it is not among what pip installs."""
    innermost = next(each for each in reversed(frames) if package_of(each.rpartition(":")[0]) == package)
    before, inside, _ = innermost.replace("\\", "/").rpartition(f"/{package}/")
    return before if inside and "-packages" not in before else ""
