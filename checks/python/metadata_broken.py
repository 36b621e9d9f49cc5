"""The metadata of an installed package cannot be read.

## What it means
The package's `.dist-info` folder lacks its METADATA, or that file is empty, or pip was stopped before it wrote RECORD.
## What it does to a run
Libraries ask the metadata for versions (`importlib.metadata`): Transformers, TRL and accelerate then take the package
for absent or raise while they are imported; pip can neither upgrade nor remove it properly.
## What to do
Install the package again over the damaged one.
## How it is found
Every metadata folder on the path is opened.
In a log: by the exception of importlib.metadata.
## References
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
https://github.com/python/importlib_metadata/issues/291
https://github.com/pypa/pip/issues/11352
"""

from __future__ import annotations

from doctor.checks.python._helpers import stack
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT007", name="package-metadata-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"PackageNotFoundError: (?:No package metadata was found for )?(?!bitsandbytes)(?P<name>[\w.\-]{1,80})$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the metadata of `{name}` are not there, although something asks for its version",
        "No installed distribution of that name is known to this interpreter: it is not installed here, or only its "
        "code is there (a source tree, a copy, PYTHONPATH), or its .dist-info was lost.",
        "Look with `python -m pip show {name}` and `python -c 'import sys; print(sys.executable)'`. Install it "
        "properly into the environment that runs: `python -m pip install {name}` (`-e .` for a clone; with "
        "`--force-reinstall --no-deps` where only its metadata were lost).",
    ),
    zh=Words(
        "有代码查询 `{name}` 的版本,但找不到它的元数据",
        "此解释器中没有这个名称的已安装发行包:它没有安装在这里,或只有代码(源代码目录、副本、PYTHONPATH),"
        "或其 .dist-info 已丢失。",
        "用 `python -m pip show {name}` 和 `python -c 'import sys; print(sys.executable)'` 查看。在所用环境中正确安装:"
        "`python -m pip install {name}`(克隆的代码用 `-e .`;只是元数据丢失则加 `--force-reinstall --no-deps`)。",
    ),
)

LOG_COMMANDS = ("python -m pip show {name}",)

MESSAGE = Message(
    en=Words(
        "The metadata of `{name}` cannot be read: {reason}",
        "Libraries that ask for the version of `{name}` take it for absent or raise, and pip can neither upgrade "
        "nor "
        "remove it properly. An installation or removal was cut short, or a disk was full.",
        "Install `{name}` again over the damaged copy.",
    ),
    zh=Words(
        "`{name}` 的元数据无法读取:{reason}",
        "查询 `{name}` 版本的库会认为它不存在或直接报错,pip 也无法正常升级或卸载它。通常是安装或卸载被中断,"
        "或磁盘曾经写满。",
        "重新安装 `{name}`,覆盖损坏的一份。",
    ),
)


@check(PROBLEM)
def metadata_broken(packages: Packages) -> Judgement:
    """Judge the stack's packages; contradicting copies in one folder are PYT005."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        if each.broken is None or "side by side" in each.broken:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            severity=ERROR if each.version is None else WARNING,
            where=Where(file=each.location) if each.location else None,
            commands=(f"pip install --force-reinstall --no-deps {name}",),
            evidence=(Evidence(each.location or "metadata", each.broken),),
            name=name,
            reason=each.broken,
        )
