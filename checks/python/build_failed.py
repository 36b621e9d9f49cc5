"""A package was built from source, and the build failed for a reason that is not known.

## What it means
There was no ready-made wheel for this Python, platform and torch, so the installer built the package from source.
## What it does to a run
Nothing was installed.
## What to do
Read the first error of the build; or take a Python, a torch or a release for which there is a wheel.
## How it is found
In a log: by the last words of pip or uv about the build, where no problem with a cause of its own matches.
## References
https://pip.pypa.io/en/stable/reference/build-system/
https://github.com/Dao-AILab/flash-attention#installation-and-features
https://github.com/Dao-AILab/flash-attention/issues/389
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT041", name="build-failed", severity=ERROR, since="0.1")

_KNOWN = (
    "PYT", "CUD", "DSP", "TOR", "MEM", "FLA", "CKP", "HST", "HUB", "VLL", "TRF", "LCH", "ACC", "RAY", "VRL",
)  # fmt: skip
SIGNATURES = (
    Signature(r"Failed building wheel for (?P<package>[\w.\-]{1,80})", symptom_of=_KNOWN),
    Signature(r"× Failed to (?:download and )?build `(?P<package>[^`\n]{1,80})`", symptom_of=_KNOWN),
    Signature(r"^error: (?:metadata-generation-failed|failed-wheel-build-for-install)", symptom_of=_KNOWN),
    Signature(
        r"× (?:Getting requirements to build wheel|Preparing metadata|Building wheel for (?P<package>[\w.\-]{1,80})|"
        r"python setup\.py \w{1,20}|pip subprocess to install build dependencies)[^\n]{0,60} did not run "
        r"successfully",
        symptom_of=_KNOWN,
    ),
    Signature(
        r"(?:Could not build wheels|Failed to build installable wheels) for (?:some "
        r"pyproject\.toml based projects \()?(?P<package>[\w.\-]{1,80})",
        symptom_of=_KNOWN,
    ),
    Signature(r"^(?:ERROR: )?Failed to build '(?P<package>[^'\n]{1,80})' when ", symptom_of=_KNOWN),
    Signature(r"^\s{4,14}(?P<error>(?:[\w.]{1,60}\.)?[A-Z]\w{2,40}(?:Error|Exception): [^\n]{1,200})", kind="sign"),
    Signature(r"^\s{2,14}(?P<killed>Killed)$", kind="sign"),
    Signature(r"^\s{2,14}(?P<compile>[^\s][^\n]{0,200}(?: error|Error): [^\n]{1,200})", kind="sign"),
)
_LONGEST = 36  # characters of an error that the words repeat
_OF_NO_USE = ("CalledProcessError", "Error compiling objects", "subprocess-exited-with-error")

ASKED = Message(
    en=Words(
        "{package} could not be built from source{error}",
        "There was no ready-made wheel for this Python, platform and torch, so the installer built it, and the build "
        "failed. Nothing was installed.{told}",
        "Read the first error between `lines of output` and `[end of output]`. Better than to mend a build is a "
        "wheel: a Python and torch for which {name} has one (`pip download --only-binary :all: --no-deps {name}`), "
        "a newer release, for flash-attn the file of its release page that fits. Where it must be built: compiler "
        "and CUDA toolkit of torch's version, `pip install -U pip setuptools wheel ninja packaging`, "
        "`--no-build-isolation`, and few compilers at once, for they take much memory (`MAX_JOBS=4`).",
    ),
    zh=Words(
        "无法从源码构建 {package_zh}{error}",
        "没有适合当前 Python、平台和 torch 的现成 wheel,因此安装程序从源码构建,而构建失败。没有安装任何东西。{told_zh}",
        "查看 `lines of output` 与 `[end of output]` 之间的第一个错误。比修复构建更好的是使用 wheel:换用 {name} 有 "
        "wheel 的 Python 和 torch(`pip download --only-binary :all: --no-deps {name}`)、更新的版本;flash-attn 则选发"
        "布页上相符的文件。必须构建时:安装编译器和与 torch 版本一致的 CUDA 工具包,`pip install -U pip setuptools "
        "wheel ninja packaging`,`--no-build-isolation`,并限制同时编译的数量,因为占用内存很大(`MAX_JOBS=4`)。",
    ),
)
_KILLED = " A compiler was killed, most likely because memory (RAM) ran out: every one takes several gigabytes."
_KILLED_ZH = "有编译器被杀(Killed),很可能是内存耗尽:每个编译器占用数 GB。"


def explain(hits: Hits) -> Finding | None:
    """With the first error of the build that tells something."""
    asked = [hit for hit in hits if not any(hit.groups.get(each) for each in ("error", "killed", "compile"))]
    if not asked:
        return None
    errors = [each for each in (*hits.values("error"), *hits.values("compile")) if not _useless(each)]
    package = (hits.get("package") or "").replace("@", "==")
    killed = hits.get("killed") is not None
    return found(
        PROBLEM, ASKED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        package=f"`{package}`" if package else "a package", package_zh=f"`{package}`" if package else "某个包",
        name=package.partition("==")[0] or "PACKAGE", error=f": `{_short(errors[0])}`" if errors else "",
        told=_KILLED if killed else "", told_zh=_KILLED_ZH if killed else "",
    )  # fmt: skip


def _short(error: str) -> str:
    """The beginning of an error, enough to find its line by."""
    text = error.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}..."


def _useless(error: str) -> bool:
    return any(each in error for each in _OF_NO_USE)
