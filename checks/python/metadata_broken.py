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
https://github.com/hiyouga/LlamaFactory/issues/8411
https://github.com/hiyouga/LlamaFactory/issues/7698
"""

from __future__ import annotations

from doctor.checks.python._helpers import stack
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT007", name="package-metadata-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"PackageNotFoundError: (?:No package metadata was found for )?(?!bitsandbytes)(?P<name>[\w.\-]{1,80})$"),
    Signature(
        r"(?:PackageNotFoundError: No package metadata was found for T|DistributionNotFound: T)he "
        r"'(?!bitsandbytes)(?P<wanted>(?P<asked>[\w.\-]{1,80})[^'\n]{0,60})' distribution was not found and is "
        r"required by",
        symptom_of=("DSP015", "BNB001"),
    ),
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

REQUIRED = Message(
    en=Words(
        "the run needs `{wanted}`, which is not installed in the interpreter that ran",
        "The options that were chosen need that package and its version is asked for before it is imported. Where `pip "
        "list` shows it, another environment was looked at than the one that runs; a plain source tree, an emptied "
        ".dist-info or an executable made by PyInstaller has no metadata either.",
        "Install it with the Python of the traceback: `python -m pip install '{wanted}'`, or choose another backend. "
        "Compare `which python pip` and `python -c 'import sys; print(sys.executable)'`, and start through `python -m` "
        "of the environment that has it. Switching the check off only moves the error.",
    ),
    zh=Words(
        "运行需要 `{wanted}`,而实际运行的解释器中没有安装",
        "所选的选项需要这个包,导入之前会先查询其版本。若 `pip list` 中能看到它,说明查看的环境与实际运行的不是同一个;只"
        "有源代码目录、.dist-info 被清空或由 PyInstaller 打包的可执行文件同样没有元数据。",
        "用异常栈中的 Python 安装:`python -m pip install '{wanted}'`,或选用其他后端。对照 `which python pip` 与 "
        "`python -c 'import sys; print(sys.executable)'`,并用装有该包的环境以 `python -m` 启动。关闭该检查只会让错误换"
        "个地方出现。",
    ),
)

MESSAGE = Message(
    en=Words(
        "The metadata of `{name}` cannot be read: {reason}",
        "Libraries that ask for the version of `{name}` take it for absent or raise, and pip can neither upgrade nor "
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


def explain(hits: Hits) -> Finding:
    """The words of a requirement tell more than the bare name that importlib gives."""
    wanted = hits.get("wanted")
    name = hits.get("asked") or hits.get("name") or "?"
    return found(
        PROBLEM,
        REQUIRED if wanted else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"python -m pip show {name}",),
        name=name,
        wanted=wanted or "",
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
