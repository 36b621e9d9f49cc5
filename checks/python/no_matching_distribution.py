"""pip finds no release of a package that it may install.

## What it means
None of the files on the index fits the version that was asked for and this interpreter: the version does not exist
(or was withdrawn), the index is a mirror that lacks it, or every file is for another Python, platform or C library.
pip itself may be too old to know the platform tags.
## What it does to a run
Nothing was installed, and what comes next uses the old environment.
## What to do
Compare the version wanted with those pip lists, and the interpreter with `requires-python`.
## How it is found
In a log: by pip's message, which tells the versions that it saw.
## References
https://pip.pypa.io/en/stable/topics/more-dependency-resolution/
https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
https://github.com/JIA-Lab-research/Seg-Zero/issues/12
https://github.com/vllm-project/vllm/issues/11542
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT028", name="no-matching-distribution", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Could not find a version that satisfies the requirement (?P<wanted>[^\s;(]{1,120})(?:;? [^(\n]{0,120})?"
        r"(?:\(from (?!versions)[^)\n]{1,80}\) )?\(from versions: (?P<seen>[^)\n]{1,4000})\)"
    ),
    Signature(r"No matching distribution found for (?P<wanted>[^\s;(]{1,120})"),
    Signature(
        r"(?P<absent>[\w.\-\[\]]{1,80}(?:[=<>~!]{1,2}\S{1,40})?) was not found in the (?:package registry|provided"
        r" package locations|(?P<offline>cache))"
    ),
    Signature(
        r"connection broken by '(?P<broken>\w{1,60})\([^\n]{1,500}/simple/(?P<index>[\w.\-]{1,80})/", kind="sign"
    ),
)

_NAME = re.compile(r"[\-_.]+")

LOG_MESSAGE = Message(
    en=Words(
        "pip found no installable release of `{wanted}`{seen}",
        "The version does not exist there, was withdrawn, or has files for other Pythons and platforms only. Nothing "
        "was installed.",
        "Look what there is: `pip index versions {name}` and `python --version; pip --version`. Upgrade pip "
        "(`python -m pip install -U pip`), ask the official index when a mirror is behind "
        "(`-i https://pypi.org/simple`), use a Python that the package supports, or install the package that pins "
        "`{name}` in a newer release.",
    ),
    zh=Words(
        "pip 没有找到可安装的 `{wanted}`{seen_zh}",
        "该版本在那里不存在、已撤回,或只有其他 Python 和平台的文件。没有安装任何东西。",
        "查看有哪些版本:`pip index versions {name}` 和 `python --version; pip --version`。升级 pip"
        "(`python -m pip install -U pip`);镜像滞后时使用官方索引(`-i https://pypi.org/simple`);"
        "换用该包支持的 Python;或安装固定 `{name}` 版本的那个包的新版本。",
    ),
)

UNREACHED = Message(
    en=Words(
        "pip found no release of `{wanted}`: the package index was not reached",
        "The requests for the list of its releases broke off ({broken}), and pip goes on with an empty list. Compute "
        "nodes often have no internet; or a proxy, a mirror or a certificate stands between.",
        "`curl -sSI https://pypi.org/simple/{name}/` shows what is wrong. Set HTTPS_PROXY where a proxy is needed "
        "(unset a dead one), or take a mirror that is near (`-i https://pypi.tuna.tsinghua.edu.cn/simple`). Without "
        "network: `pip download {name}` on a machine that has one, "
        "`pip install --no-index --find-links FOLDER {name}` here.",
    ),
    zh=Words(
        "pip 没有找到 `{wanted}`:无法访问包索引",
        "获取其版本列表的请求中断({broken}),pip 便以空列表继续。计算节点常无外网;或中间有代理、镜像或证书问题。",
        "`curl -sSI https://pypi.org/simple/{name}/` 可看出原因。需要代理则设置 HTTPS_PROXY(失效的请 unset),或使用就近"
        "镜像(`-i https://pypi.tuna.tsinghua.edu.cn/simple`)。无网络时在有网机器上 `pip download {name}`,此处 "
        "`pip install --no-index --find-links FOLDER {name}`。",
    ),
)

UV = Message(
    en=Words(
        "uv finds no package `{wanted}` on the index that it asks",
        "{why}No requirement contradicts another; nothing was installed.",
        "Ask the official index: `uv pip install --default-index https://pypi.org/simple {name}`. Look at "
        "`UV_DEFAULT_INDEX`, `UV_INDEX` and `[[tool.uv.index]]`: a private package needs its own index there (with "
        "its login), a wheel of another site its URL. Pre-releases alone: `--prerelease allow`. `uv cache clean "
        "{name}` forgets an old answer.",
    ),
    zh=Words(
        "uv 在所查询的索引上找不到包 `{wanted}`",
        "{why_zh}各项要求并不矛盾;没有安装任何东西。",
        "查询官方索引:`uv pip install --default-index https://pypi.org/simple {name}`。检查 `UV_DEFAULT_INDEX`、"
        "`UV_INDEX` 与 `[[tool.uv.index]]`:私有包需要在此写明其索引(及登录信息),其他站点的 wheel 需要给出 URL。只有预"
        "发布版本时加 `--prerelease allow`。`uv cache clean {name}` 可清除旧的应答。",
    ),
)
_ONLINE = (
    (
        "The name is misspelt or has another form there, the mirror lacks it (mirrors lag behind, and some leave out "
        "pre-releases and large wheels), or it stands on an index that was not named or wants a login. "
    ),
    "名称有误或在该处写法不同,镜像没有它(镜像会滞后,有的不含预发布版本和大型 wheel),或它在未指定或需要登录的索引上。",
)
_OFFLINE = (
    "The network is switched off for uv (`--offline`, `UV_OFFLINE`), and its cache does not hold the package. ",
    "uv 处于离线模式(`--offline`、`UV_OFFLINE`),而其缓存中没有该包。",
)


def _of_uv(hits: Hits, absent: str) -> Finding:
    why, why_zh = _OFFLINE if hits.get("offline") else _ONLINE
    return found(
        PROBLEM, UV, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=absent,
        name=re.split(r"[\[=<>~!]", absent)[0], why=why, why_zh=why_zh,
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """With the newest versions that pip saw, or that it saw none."""
    if absent := hits.get("absent"):
        return _of_uv(hits, absent)
    seen = [each.strip() for each in (hits.get("seen") or "").split(",") if each.strip()]
    none = seen == ["none"]
    wanted = hits.get("wanted") or "?"
    name = wanted.partition("[")[0]
    for mark in ("=", "<", ">", "~", "!"):
        name = name.partition(mark)[0]
    if none and _NAME.sub("-", hits.get("index") or "").lower() == _NAME.sub("-", name).lower():
        return found(
            PROBLEM, UNREACHED, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=wanted,
            name=name, broken=hits.get("broken"),
        )  # fmt: skip
    newest = ", ".join(seen[-3:])
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        wanted=wanted, name=name,
        seen="" if not seen else ": none for this Python and platform" if none else f": it saw {newest}",
        seen_zh="" if not seen else ":没有适合此 Python 和平台的文件" if none else f":它看到的是 {newest}",
    )  # fmt: skip
