"""The requirements contradict each other, and the installer finds no set of releases that fits.

## What it means
Two packages ask for releases of a third that exclude each other, or a pinned release is outside of what another
package needs.
## What it does to a run
Nothing was installed; what comes next uses the old environment.
## What to do
Loosen the pin that is named, or install what excludes each other into two environments.
## How it is found
In a log: by the words of pip, uv or conda, which name both sides.
## References
https://pip.pypa.io/en/stable/topics/dependency-resolution/
https://docs.astral.sh/uv/concepts/resolution/
https://github.com/Alibaba-NLP/DeepResearch/issues/97
https://github.com/microsoft/FILM/issues/4
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT038", name="requirements-conflict", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Cannot install [^\n]{1,300}? because these package versions have conflicting dependencies"),
    Signature(r"ResolutionImpossible: for help visit"),
    Signature(r"No solution found when resolving (?:\w{1,20} )?(?:dependencies|tool dependencies|requirements)"),
    Signature(
        r"(?:LibMambaUnsatisfiableError: Encountered problems while solving"
        r"|UnsatisfiableError: The following specifications)"
    ),
    Signature(r"^\s{2,8}The user requested (?:\(constraint\) )?(?P<asked>[^\s]{1,120})", kind="sign"),
    Signature(r"^\s{2,8}(?P<asker>[\w.\-\[\]]{1,80} \S{1,40}) depends on (?P<need>[^\n;]{1,120})", kind="sign"),
    Signature(r"^\s{0,8}(?:╰─▶ )?(?:Because|And because) (?P<reason>[^\n]{1,400})", kind="sign"),
    Signature(
        r"(?P<wheelless>[\w.\-\[\]=<>~]{1,100}) has no wheels with a matching (?P<tag>[\w ]{1,40}?) tag", kind="sign"
    ),
    Signature(r"^\s{0,8}[├└]─ (?P<package>[\w.\-]{1,80} {1,2}[^\s]{1,40}) ", kind="sign"),
    Signature(
        r"(?P<absent>[\w.\-\[\]]{1,80}(?:[=<>~!]{1,2}\S{1,40})?) was not found in the (?:package registry|provided"
        r" package locations|cache)",
        kind="sign",
    ),
    Signature(
        r"^\s{0,8}- nothing provides requested (?P<unprovided>[\w.\-]{1,80}) ?(?P<pin>\S{1,40})?"
        r"(?: (?P<build>\w{0,40}_\d{1,4}|h[0-9a-f]{7}))?",
        kind="sign",
    ),
)
_FIRST_SIGN = 4  # position of what only supports
_SIDES = 3  # of each kind that a sentence can carry
_DEPENDS = re.compile(
    r"(?P<asker>[\w.\-\[\]=<>]{1,80}|your project) (?:depends on|needs) "
    r"(?P<need>[\w.\-\[\]=<>,!]{1,80})"
)

MESSAGE = Message(
    en=Words(
        "the requirements contradict each other{sides}",
        "No set of releases satisfies all of them, so nothing was installed.",
        "Loosen or change the pin that conflicts (in requirements.txt, pyproject.toml or on the command line) to a "
        "release that the other side accepts, or upgrade the package that asks for the old one. `pip install` "
        "without the pins and `pip check` afterwards show a set that fits. Two programs that exclude each other "
        "(two vLLMs, SGLang beside vLLM) belong into two environments. uv: `override-dependencies` or `conflicts` "
        "under `[tool.uv]`.",
    ),
    zh=Words(
        "依赖要求互相矛盾{sides_zh}",
        "没有一组版本能同时满足,因此没有安装任何东西。",
        "放宽或修改冲突的版本限制(requirements.txt、pyproject.toml 或命令行),使其落在另一方接受的范围内;或升级要求旧"
        "版本的那个包。去掉版本限制再 `pip install`,之后用 `pip check` 可得到一组相容版本。互相排斥的程序(两个 "
        "vLLM、SGLang 与 vLLM)应放在两个环境。uv:在 `[tool.uv]` 下用 `override-dependencies` 或 `conflicts`。",
    ),
)


NO_WHEEL = Message(
    en=Words(
        "`{package}` has no wheel that fits here (its {tag} tags are others), so the requirements cannot be met",
        "The release was built for other Pythons, platforms or ABIs, and it has no source to build from; most often "
        "this Python is newer than the release.",
        "Make the environment with a Python for which it has wheels: `uv venv --python 3.11` (or 3.10, 3.12; the "
        "files and their tags are listed on its page of the index), or ask for another release of `{name}`.",
    ),
    zh=Words(
        "`{package}` 没有适合此处的 wheel(其 {tag} 标签不符),因此无法满足依赖",
        "该版本为其他 Python、平台或 ABI 构建,且没有可供构建的源码;最常见的是当前 Python 比该版本新。",
        "用它有 wheel 的 Python 新建环境:`uv venv --python 3.11`(或 3.10、3.12;文件及标签列在其索引页面),或选用 "
        "`{name}` 的其他版本。",
    ),
)

UNPROVIDED = Message(
    en=Words(
        "conda's channels have no `{name}` as it is asked for here, nor {others} more of the file's packages",
        "The requirements do not contradict each other: these releases or builds are not on the channels in use for "
        "this operating system. {why}",
        "Remove the build string behind the version from every line (`name=1.2=h5eee18b_0` becomes `name=1.2`), and "
        "the lines of packages that only the other system has. The author exports for all platforms with `conda env "
        "export --no-builds` or `--from-history`. Or name the channel that has them (`-c conda-forge`, `-c nvidia`), "
        "or make the environment by hand: `conda create -n NAME python=3.10`, then pip.",
    ),
    zh=Words(
        "conda 频道上没有所要求的 `{name}`,文件中另有 {others} 个包也没有",
        "各项要求并不矛盾:所用频道上没有适用于此操作系统的这些版本或构建。{why_zh}",
        "删除每行版本之后的构建串(`name=1.2=h5eee18b_0` 改为 `name=1.2`),以及只有另一系统才有的包。作者可用 `conda "
        "env export --no-builds` 或 `--from-history` 导出通用文件。也可指明含有它们的频道(`-c conda-forge`、`-c "
        "nvidia`),或手动建环境:`conda create -n NAME python=3.10`,再用 pip。",
    ),
)
_BUILDS = (
    (
        "The file names builds (`{build}`), as `conda env export` writes them: it was exported on another operating "
        "system, or they have been withdrawn."
    ),
    "文件中指定了构建(`{build}`),这是 `conda env export` 的写法:它在另一操作系统上导出,或这些构建已撤回。",
)


def explain(hits: Hits) -> Finding | None:
    """With both sides as the installer names them."""
    if all(hit.signature >= _FIRST_SIGN for hit in hits):
        return None
    if wheelless := hits.get("wheelless"):
        return found(
            PROBLEM, NO_WHEEL, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, package=wheelless,
            tag=hits.get("tag"), name=re.split("[=<>~]", wheelless)[0],
        )  # fmt: skip
    if hits.get("absent"):
        return None  # what the index does not have contradicts nothing: PYT028
    if unprovided := hits.get("unprovided"):
        build = hits.get("build")
        english, chinese = (each.format(build=build) if build else "" for each in _BUILDS)
        return found(
            PROBLEM, UNPROVIDED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            name=unprovided + (hits.get("pin") or ""), others=len(set(hits.values("unprovided"))) - 1,
            why=english, why_zh=chinese,
        )  # fmt: skip
    sides = list(_sides(hits))
    return found(
        PROBLEM, MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if sides else LIKELY,
        sides=f": {', '.join(en for en, _ in sides)}" if sides else "",
        sides_zh=f":{','.join(zh for _, zh in sides)}" if sides else "",
    )  # fmt: skip


def _sides(hits: Hits) -> Iterator[tuple[str, str]]:
    """Who needs what, in English and Chinese."""
    for asked in [each for each in hits.values("asked") if any(sign in each for sign in "=<>~")][:_SIDES]:
        yield f"`{asked}` was asked for", f"要求安装 `{asked}`"
    needs = [(hit.groups["asker"], hit.groups["need"]) for hit in hits if hit.groups.get("asker")]
    needs += [(each["asker"], each["need"]) for reason in hits.values("reason") for each in _DEPENDS.finditer(reason)]
    for asker, need in list(dict.fromkeys(needs))[:_SIDES]:
        yield f"`{asker}` needs `{need.strip().rstrip(',')}`", f"`{asker}` 需要 `{need.strip().rstrip(',')}`"
    for package in hits.values("package")[:_SIDES]:
        name = " ".join(package.split())
        yield f"`{name}` takes part in it", f"涉及 `{name}`"
