"""A package is built from source where a module is missing that its build imports.

## What it means
pip and uv build in an environment of their own, which holds only what the package declares for its build. Packages
whose setup.py imports torch mostly do not declare it. Without that isolation (`--no-build-isolation`, or the old way
of setup.py) the build takes what the environment has, and wheel, setuptools or packaging are missing there.
## What it does to a run
Nothing is installed.
## What to do
Install the module first, and build without isolation where it is torch; or take a ready-made wheel.
## How it is found
In a log: by the import that fails inside of a build, or by uv's hint.
## References
https://pip.pypa.io/en/stable/reference/build-system/
https://docs.astral.sh/uv/concepts/projects/config/#build-isolation
https://github.com/Dao-AILab/flash-attention#installation-and-features
https://github.com/llm-jp/llm-jp-sft/pull/41
https://github.com/lum3on/comfyui_HiDream-Sampler/issues/74
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT036", name="build-requirement-absent", severity=ERROR, since="0.1")

_ABSENT = r"ModuleNotFoundError: No module named '(?P<module>[\w.]{1,60})'"
SIGNATURES = (
    Signature(
        r"hint: This error likely indicates that `(?P<package>[^`\n]{1,80})` depends on `(?P<module>[^`\n]{1,60})`, but"
        r" doesn't declare it as a build dependency"
    ),
    Signature(r"^[\s│]{2,12}" + _ABSENT, symptom_of=("PYT021",)),  # pip quotes a build so
    Signature("^" + _ABSENT, frame=r"setuptools[\\/]build_meta\.py:"),
    Signature(r"error: invalid command '(?P<command>bdist_wheel)'"),
    Signature(r"lines of output\]$|did not run successfully\.$|Failed to build `|\[stderr\]$", kind="sign"),
    Signature(
        r"(?:Failed building wheel for|Building wheel for|Failed to build|Collecting) `?(?P<package>[\w.\-]{1,60})"
        r"(?:==[\w.]{1,30}`?)?(?: |$)",
        kind="sign",
    ),
)
_BUILD = 4  # position of what shows that a build is quoted

#: modules whose distribution has another name
_DISTRIBUTIONS = {"Cython": "cython", "yaml": "pyyaml", "skbuild": "scikit-build", "cv2": "opencv-python-headless",
                  "Crypto": "pycryptodome", "git": "gitpython", "sklearn": "scikit-learn"}  # fmt: skip

TORCH = Message(
    en=Words(
        "{package} is built from source, and the build finds no torch (`No module named '{module}'`)",
        "Its setup.py imports torch and does not declare it. pip and uv build in an isolated environment, which does "
        "not see the torch that is installed. Nothing was installed.",
        "Install torch first, then build without isolation: `pip install torch setuptools wheel packaging ninja`, "
        "`pip install --no-build-isolation {name}` (uv: `uv pip install --no-build-isolation {name}`; in a project "
        '`no-build-isolation-package = ["{name}"]` under `[tool.uv]`). Better, where there is one: a ready-made wheel '
        "for this torch, CUDA and Python.",
    ),
    zh=Words(
        "{package_zh}需从源码构建,而构建环境中没有 torch(`No module named '{module}'`)",
        "其 setup.py 导入 torch 却未声明。pip 和 uv 在隔离环境(isolation)中构建,看不到已安装的 torch。没有安装任何东"
        "西。",
        "先安装 torch,再关闭隔离构建:`pip install torch setuptools wheel packaging ninja`,`pip install "
        "--no-build-isolation {name}`(uv:`uv pip install --no-build-isolation {name}`;项目中在 `[tool.uv]` 下写 "
        '`no-build-isolation-package = ["{name}"]`)。若有适合当前 torch、CUDA 和 Python 的现成 wheel 则更好。',
    ),
)
OTHER = Message(
    en=Words(
        "{package} is built from source, and the build lacks `{module}`",
        "The build imports it. Either it runs without isolation (`--no-build-isolation`, setup.py) and takes what the "
        "environment has, or the package does not declare what its build needs. Nothing was installed.",
        "Install it into the environment first: `pip install -U {distribution} setuptools wheel`, then "
        "`pip install --no-build-isolation {name}`. Or take a release of {name} that has a ready-made wheel.",
    ),
    zh=Words(
        "{package_zh}需从源码构建,而构建缺少 `{module}`",
        "构建过程会导入它。或是未用隔离(`--no-build-isolation`、setup.py),只能使用环境中已有的包;或是该包未声明其构建"
        "所需。没有安装任何东西。",
        "先把它装进环境:`pip install -U {distribution} setuptools wheel`,再 `pip install --no-build-isolation {name}`。"
        "或选用有现成 wheel 的 {name} 版本。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only what is missing inside of a build; the package is named where the log names it."""
    telling = [hit for hit in hits if hit.groups.get("module") or hit.groups.get("command")]
    quoted = any(hit.signature == _BUILD for hit in hits)
    telling = [hit for hit in telling if quoted or hit.signature != 1]
    if not telling:
        return None
    module = telling[0].groups.get("module") or "wheel"
    named = [hit.groups["package"] for hit in hits if hit.groups.get("package") and hit.line <= telling[0].line + 40]
    package = (telling[0].groups.get("package") or (named[-1] if named else "")).replace("@", "==")
    top = module.partition(".")[0]
    return found(
        PROBLEM, TORCH if top == "torch" else OTHER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if top == "torch" or telling[0].groups.get("command") else LIKELY, module=module,
        package=f"`{package}`" if package else "a package", package_zh=f"`{package}` " if package else "某个包",
        name=package.partition("==")[0] or "PACKAGE", distribution=_DISTRIBUTIONS.get(top, top),
    )  # fmt: skip
