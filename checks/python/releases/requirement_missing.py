"""Judges requirement-missing (PYT015), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import Need, applies, needs, parsed, plainly_excluded, present, stack
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.data import libraries
from doctor.data.stack import LOOKED_FOR
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_HOLLOW = TOML["log_hollow"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
SEVERAL = TOML["several"]
OWNERS = TOML["owners"]


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
        if plainly_excluded(need.line, interpreter):
            continue
        requirement = parsed(need.line)
        if requirement is not None and applies(requirement, interpreter):
            missing.setdefault(need.owner.name, []).append(need)
    if missing and not packages.complete:
        names = dict.fromkeys(need.name for needs_of_one in missing.values() for need in needs_of_one)
        yield Skip(packages.why_unknown(*names))
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
            Observed.quoted(f"metadata of {each.owner.name} {each.owner.version}", f"Requires-Dist: {each.line}")
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
        return (package_of(frames[-1], frames) if frames else ""), hit.groups["module"]
    above = {hit.line + 1: hit.groups["importer"] for hit in hits.of(1)}
    for hit in hits.of(2):
        if hit.line in above:
            return above[hit.line], hit.groups["module"]
    return "", ""


def package_of(frame: str, frames: Sequence[str] = ()) -> str:
    """Package that a frame belongs to, empty for the user's own code.

    Args:
        frame: `path:line`, with what pip calls its folder in whatever form the log has it.
        frames: all of the traceback: a known package in a folder of `pip --target` tells what lies beside it.

    """
    path = _path(frame)
    for marker in ("site-packages/", "dist-packages/"):
        if marker in path:
            return path.rpartition(marker)[2].partition("/")[0]
    checkout = next((name for name in CHECKOUTS if f"/{name}/" in path), "")
    if checkout or ("/" in path and not path.startswith(("/", "."))):
        return checkout or path.partition("/")[0]
    return libraries.package_of(path) or _beside_a_library(path, frames)


def _path(frame: str) -> str:
    return frame.rpartition(":")[0].replace("\\", "/")


def _beside_a_library(path: str, frames: Sequence[str]) -> str:
    """The package of a file whose folder has a known library beside it, where its name is a known package's too."""
    for other in map(_path, frames):
        library = libraries.package_of(other)
        folder = other.partition(f"/{library}/")[0] if library else ""
        if folder and path.startswith(f"{folder}/"):
            name, inside, _ = path.removeprefix(f"{folder}/").partition("/")
            if inside and name not in libraries.ANYBODYS and (name in LOOKED_FOR or name in OWN_PROBLEM):
                return name
    return ""
