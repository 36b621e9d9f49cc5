"""An installed package needs others that are not installed.

## What it means
The metadata of a package name others that it cannot do without, and they are absent: it was installed with
`--no-deps`, the installation stopped half-way, or somebody uninstalled them.
## What it does to a run
`ModuleNotFoundError`, at the import or at the first use.
## What to do
Install the package again without `--no-deps`; pip adds what is missing.
## How it is found
Requires-Dist of the stack's packages, with the markers of the interpreter that is judged, against all installed
distributions. Extras are not counted.
In a log: by the failing import, when a package and not the user's own code makes it.
## References
https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use
https://pip.pypa.io/en/stable/cli/pip_check/
"""

from __future__ import annotations

from doctor.checks.python._helpers import Need, applies, needs, parsed, present, stack
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT015", name="requirement-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^ModuleNotFoundError: No module named "
        r"'(?P<module>(?!unsloth_compiled_cache|transformers_modules|datasets_modules)"
        r"[A-Za-z_]\w{0,60})(?:\.[\w.]{1,100})?'$",
        symptom_of=("TOR051",),
    ),
    Signature(
        r"RuntimeError: Failed to import (?P<importer>[a-z]\w{1,60})[\w.]{0,120} because of the following error",
        kind="sign",
    ),
    Signature(
        r"^No module named '(?P<module>(?!unsloth_compiled_cache|transformers_modules|datasets_modules)"
        r"[A-Za-z_]\w{0,60})(?:\.[\w.]{1,100})?'$",
        symptom_of=("TOR051",),
    ),
)

LOG_MESSAGE_HOLLOW = Message(
    en=Words(
        "`{owner}` imports `{module}`, whose package on the index holds no code any more",
        "`pip install {module}` succeeds and changes nothing: what is there now is an empty shell. This release of "
        "`{owner}` still asks for it.",
        "Upgrade `{owner}` within what your stack allows (`pip install -U {owner}`): newer releases use `{instead}`. "
        "Where it is pinned (older vLLM pins outlines), upgrade the package that pins it, or install the original from "
        "its repository: `pip install git+https://github.com/ozeliger/pyairports.git`.",
    ),
    zh=Words(
        "`{owner}` 导入 `{module}`,而索引上的该包已不含代码",
        "`pip install {module}` 会成功但毫无作用:现在索引上的是空壳。该版本的 `{owner}` 仍然需要它。",
        "在软件栈允许的范围内升级 `{owner}`(`pip install -U {owner}`):较新的版本使用 `{instead}`。若被固定(旧版 vLLM 固"
        "定了 outlines),请升级固定它的包,或从其仓库安装原版:`pip install "
        "git+https://github.com/ozeliger/pyairports.git`。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{owner}` imports `{module}`, which is not installed",
        "The package was installed with `--no-deps`, its installation stopped half-way, or it needs an "
        "extra that was not asked for. The interpreter may also be another one than the one that was "
        "installed into.",
        "`pip install {dist}` into the environment that runs (`python -m pip`, with the same `python`), "
        "or install `{owner}` again without `--no-deps`; then `pip check`.",
    ),
    zh=Words(
        "`{owner}` 导入了没有安装的 `{module}`",
        "该包可能是用 `--no-deps` 安装的、安装中途停止,或需要未安装的 extra。也可能运行的解释器与安装时不是同一个。",
        "在所用环境中 `pip install {dist}`(用同一个 `python` 执行 `python -m pip`),或去掉 `--no-deps` 重"
        "新安装 `{owner}`;然后运行 `pip check`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{owner}` {version} needs {names}, which is not installed",
        "The import of `{owner}`, or its first use, ends with ModuleNotFoundError.",
        "Install `{owner}` again without `--no-deps`; pip adds what is missing.",
    ),
    zh=Words(
        "`{owner}` {version} 需要 {names},但没有安装",
        "导入 `{owner}` 或第一次使用时会以 ModuleNotFoundError 失败。",
        "去掉 `--no-deps` 重新安装 `{owner}`,pip 会补上缺少的包。",
    ),
)

SEVERAL = Message(
    en=Words(
        "`{owner}` {version} needs {count} packages that are not installed: {names}",
        "The import of `{owner}`, or its first use, ends with ModuleNotFoundError. It was installed with `--no-deps`, "
        "or the installation stopped half-way.",
        "Install `{owner}` again without `--no-deps`; pip adds what is missing.",
    ),
    zh=Words(
        "`{owner}` {version} 需要的 {count} 个包没有安装:{names}",
        "导入 `{owner}` 或第一次使用时会以 ModuleNotFoundError 失败。它是用 `--no-deps` 安装的,或安装中途停止。",
        "去掉 `--no-deps` 重新安装 `{owner}`,pip 会补上缺少的包。",
    ),
)

OWNERS = Message(
    en=Words(
        "{owners} need {count} packages that are not installed: {names}",
        "Their imports, or the first use, end with ModuleNotFoundError. They were installed with `--no-deps`, or the "
        "installation stopped half-way.",
        "Install them again without `--no-deps`, in one command; pip adds what is missing.",
    ),
    zh=Words(
        "{owners} 需要的 {count} 个包没有安装:{names}",
        "导入它们或第一次使用时会以 ModuleNotFoundError 失败。它们是用 `--no-deps` 安装的,或安装中途停止。",
        "去掉 `--no-deps`,用一条命令重新安装它们,pip 会补上缺少的包。",
    ),
)

#: distributions that bring the same modules as the one that is asked for
_SAME = {
    "opencv-python-headless": ("opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless"),
    "nvidia-ml-py": ("pynvml",),
    "triton": ("pytorch-triton", "triton-nightly", "pytorch-triton-rocm"),
    "hf-xet": ("huggingface-hub",),  # an accelerator; the hub does without
}

#: what `pip freeze` leaves out although it is installed (pip/_internal/operations/freeze.py and its command)
_UNLISTED = frozenset({"pip", "setuptools", "wheel", "distribute"})


@check(PROBLEM)
def requirement_missing(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Only a complete list proves an absence."""
    missing: dict[str, list[Need]] = {}
    for need in needs(packages):
        if packages.source != "probe" and need.name in _UNLISTED:
            continue
        if present(packages, need.name) or any(each in packages.distributions for each in _SAME.get(need.name, ())):
            continue
        requirement = parsed(need.line)
        if requirement is not None and applies(requirement, interpreter):
            missing.setdefault(need.owner.name, []).append(need)
    if missing and not packages.complete:
        yield Skip(f"the list of packages is partial: whether {', '.join(missing)} lack others cannot be told")
        return
    if missing:
        yield _finding([need for needs_of_one in missing.values() for need in needs_of_one])


def _finding(lacking: list[Need]) -> Finding:
    """One for all: they have one cause. Packages of the stack first, for without them nothing starts."""
    owners = {each.owner.name: each.owner.version for each in lacking}
    names = sorted({each.name for each in lacking}, key=lambda name: (name not in stack(), name))
    certain = names[0] in stack()
    owner = next(iter(owners))
    pinned = " ".join(f'"{name}=={version}"' for name, version in owners.items())
    message = OWNERS if len(owners) > 1 else SEVERAL if len(names) > 1 else MESSAGE
    return found(
        PROBLEM,
        message,
        severity=ERROR if certain else WARNING,
        confidence=CONFIRMED if certain else LIKELY,
        commands=(f"pip install {pinned}",),
        evidence=tuple(
            Evidence(f"metadata of {each.owner.name} {each.owner.version}", f"Requires-Dist: {each.line}")
            for each in sorted(lacking, key=lambda each: names.index(each.name))[:12]
        ),
        owner=owner,
        version=owners[owner],
        owners=_shown(list(owners), 2),
        count=len(names),
        names=_shown(names, 3),
    )


def _shown(names: list[str], limit: int) -> str:
    """Join the first names for a headline."""
    text = ", ".join(f"`{each}`" for each in names[:limit])
    return text if len(names) <= limit else f"{text} ..."


#: modules that have a problem of their own
GONE_FROM_PYTHON = frozenset({
    "distutils", "asyncore", "asynchat", "imp", "pkg_resources", "resource", "fcntl", "pwd", "grp", "termios", "posix",
    "lib2to3", "cgi", "cgitb", "crypt", "imghdr", "sndhdr", "audioop", "pipes", "telnetlib", "uu", "xdrlib",
})  # fmt: skip
OWN_PROBLEM = GONE_FROM_PYTHON | frozenset({
    "vllm", "deepspeed", "flash_attn", "bitsandbytes", "wandb", "swanlab", "liger_kernel", "peft", "mpi4py", "kernels",
    "modelscope", "hf_transfer", "jsonschema",
    "torch", "triton", "megatron", "transformer_engine", "mbridge", "megatron_bridge", "mindspeed", "apex",
    "grouped_gemm", "flash_attn_2_cuda", "flash_attn_3_cuda", "flashattn_hopper_cuda",
})  # fmt: skip
#: modules whose distribution on the index is an empty shell -> what the owner's newer releases use instead
HOLLOW = {"pyairports": "airportsdata"}
#: what TRL imports only where it is installed: missing, its own test for that is at fault
TRL_OPTIONAL = frozenset({
    "mergekit", "llm_blender", "weave", "joblib", "diffusers", "vllm_ascend", "unsloth", "uvicorn", "fastapi",
    "requests", "pydantic", "jmespath",
})  # fmt: skip
#: names that several distributions share; of every other one a missing part means that the package itself is there
NAMESPACES = frozenset(
    {"google", "ruamel", "nvidia", "opentelemetry", "azure", "megatron", "mpl_toolkits", "backports"}
)
#: packages that are often run from a checkout, whose folder tells them
CHECKOUTS = ("vllm", "trl", "verl", "transformers", "accelerate", "deepspeed", "openrlhf", "sglang", "trinity")
#: import name -> distribution, where they differ
DISTRIBUTIONS = {
    "zmq": "pyzmq", "cv2": "opencv-python-headless", "yaml": "pyyaml", "PIL": "pillow", "sklearn": "scikit-learn",
    "google": "protobuf", "attr": "attrs", "dotenv": "python-dotenv", "jwt": "pyjwt", "pynvml": "nvidia-ml-py",
    "latex2sympy2": "latex2sympy2_extended", "ruamel": "ruamel.yaml", "git": "gitpython",
    "sentence_transformers": "sentence-transformers", "cupy": "cupy-cuda12x",
    "fastchat": "fschat", "bs4": "beautifulsoup4", "skimage": "scikit-image", "docx": "python-docx", "fitz": "pymupdf",
    "Crypto": "pycryptodome", "dateutil": "python-dateutil", "faiss": "faiss-cpu", "open_clip": "open-clip-torch",
    "tree": "dm-tree", "magic": "python-magic", "Levenshtein": "levenshtein", "rouge_score": "rouge-score",
}  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """The last frame tells which package wanted it; the user's own imports are left alone."""
    owner, module = _asked(hits)
    if owner == "trl" and module in TRL_OPTIONAL:
        return None
    if not owner or owner == module or module in OWN_PROBLEM or owner.endswith(".py"):
        return None
    if f"'{module}." in hits.first.text and module not in NAMESPACES:  # the package is there, a part of it is not
        return None
    dist = DISTRIBUTIONS.get(module, module.replace("_", "-"))
    if module in HOLLOW:
        return found(
            PROBLEM, LOG_MESSAGE_HOLLOW, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            owner=owner.replace("_", "-"), module=module, instead=HOLLOW[module],
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        owner=owner.replace("_", "-"),
        module=module,
        dist=dist,
        commands=(f"pip install {dist}",),
        confidence=LIKELY,
    )


def _asked(hits: Hits) -> tuple[str, str]:
    """Who imported which module: by the frames of the exception, else by a lazy import that quotes it."""
    for hit in hits.of(0):
        frames = [frame for frame in hit.frames if not frame.startswith(("importlib", "<frozen"))]
        return (package_of(frames[-1]) if frames else ""), hit.groups["module"]
    above = {hit.line + 1: hit.groups["importer"] for hit in hits.of(1)}
    for hit in hits.of(2):
        if hit.line in above:
            return above[hit.line], hit.groups["module"]
    return "", ""


def package_of(frame: str) -> str:
    """Package that a frame belongs to, empty for the user's own code."""
    path = frame.rpartition(":")[0].replace("\\", "/")
    for marker in ("site-packages/", "dist-packages/"):
        if marker in path:
            return path.rpartition(marker)[2].partition("/")[0]
    checkout = next((name for name in CHECKOUTS if f"/{name}/" in path), "")
    return checkout or (path.partition("/")[0] if "/" in path and not path.startswith(("/", ".")) else "")
