"""The running Ray cluster is of another version than the command's environment.

## What it means
A cluster runs that `ray.init` will join, and it was started by another Ray, or by another Python.
## What it does to a run
`RuntimeError: Version mismatch: The cluster was started with: Ray ... Python ...`. Ray wants the same version of
itself and the same Python.
## What to do
Stop the cluster and start it from the environment that trains, or use the environment of the cluster.
## How it is found
The package that the running daemon of this machine comes from, against the installed Ray and the interpreter; over
several nodes of a Ray cluster the Ray and Python of each node's workers. Ray compares Python to the patch release.
## References
https://github.com/ray-project/ray/blob/ray-2.50.0/python/ray/_private/utils.py
https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.checks.ray._helpers import joins_ray
from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.script import Script
from doctor.facts.serving import Serving

PROBLEM = Problem(id="RAY003", name="ray-versions-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Version mismatch: The cluster was started with"),
    # a worker of one release is given the options of the raylet of another
    Signature(r"default_worker\.py: error: (?:unrecognized arguments|the following arguments are required|argument )"),
)

LOG_MESSAGE = Message(
    en=Words(
        "this environment has another Ray or Python than the running cluster",
        "All processes of a cluster must have the same Ray version and the same Python, to the last number "
        "(`RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor` lets patch releases differ). The lines after `Version "
        "mismatch` name both; a worker that does not know the raylet's options is of "
        "another release, too (with `uv run`, `conda` or `pip` in `runtime_env` that brings a Ray of its own).",
        "Install the same `ray==` and Python on all nodes and in this environment, or stop the old "
        "cluster (`ray stop --force`) and start it from this environment. With `uv run` pin the cluster's `ray==` in "
        "pyproject.toml, and submit with the Ray of the cluster instead of through uv.",
    ),
    zh=Words(
        "当前环境的 Ray 或 Python 与正在运行的集群不同",
        "集群中所有进程的 Ray 版本与 Python 版本必须一致,直到最后一位(`RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor` "
        "允许补丁版本不同)。`Version mismatch` 之后的几行给出了双方版本;"
        "worker 不认识 raylet 的选项同样说明版本不同(`runtime_env` 中的 `uv run`、`conda` 或 `pip` 带来了另一个 Ray)。",
        "在所有节点与当前环境安装相同的 `ray==` 与 Python,或停止旧集群(`ray stop --force`)后从当前环境启动。"
        "使用 `uv run` 时在 pyproject.toml 中固定集群的 `ray==`,并用集群的 Ray 提交,而不是通过 uv。",
    ),
)

MESSAGE = Message(
    en=Words(
        "The Ray cluster at {address} runs {what} {theirs}, and the command {ours}",
        "Joining it ends with `RuntimeError: Version mismatch`: Ray wants the same version of itself and the same "
        "Python everywhere.",
        "Stop the cluster and start it from the environment of the command, or use the environment of the cluster.",
    ),
    zh=Words(
        "{address} 的 Ray 集群使用 {what} {theirs},而命令使用 {ours}",
        "加入集群会以 `RuntimeError: Version mismatch` 失败:Ray 要求各处的 Ray 与 Python 版本一致。",
        "停止集群并从命令所在的环境重新启动,或改用集群的环境。",
    ),
)


@check(PROBLEM)
def versions_differ(
    launch: Launch,
    ray_cluster: RayCluster,
    packages: Packages,
    interpreter: Interpreter | None,
    serving: Serving | None,
    script: Script | None,
) -> Judgement:
    """Judge the cluster that `ray.init` would find; the minor version of Python is all that is known of it."""
    if not ray_cluster.address or not joins_ray(launch, serving, script) or runs_elsewhere(launch):
        return
    own = f"{interpreter.version_info[0]}.{interpreter.version_info[1]}" if interpreter is not None else None
    for what, theirs, ours in (
        ("Ray", ray_cluster.version, packages.version("ray")),
        ("Python", ray_cluster.python_version, own),
    ):
        if theirs and ours and theirs != ours:
            yield found(
                PROBLEM,
                MESSAGE,
                address=ray_cluster.address,
                what=what,
                theirs=theirs,
                ours=ours,
                commands=("ray stop",),
                evidence=(Evidence("raylet", f"Ray {ray_cluster.version}, Python {ray_cluster.python_version}"),),
            )
            return


_WHY_EN = "Workers of these nodes cannot join: Ray wants the same version of itself and the same Python on all nodes."
_WHY_ZH = "这些节点的工作进程无法加入:Ray 要求所有节点上的 Ray 与 Python 版本相同。"
_DO_EN = "Install the same Python and the same Ray on all nodes, and start the daemons there anew."
_DO_ZH = "在所有节点安装相同的 Python 与 Ray,并重新启动那里的守护进程。"
ODD = Message(
    en=Words("Ray or Python of {hosts} is not that of {others} other nodes: {told}", _WHY_EN, _DO_EN),
    zh=Words("{hosts} 的 Ray 或 Python 与其余 {others} 个节点不同:{told_zh}", _WHY_ZH, _DO_ZH),
)
SPLIT = Message(
    en=Words("`{name}` differs between {seen} nodes, none has a majority: {told}", _WHY_EN, _DO_EN),
    zh=Words("`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}", _WHY_ZH, _DO_ZH),
)


@check(PROBLEM)
def versions_of_nodes(cluster: Cluster) -> Judgement:
    """Only where Ray joins the nodes; elsewhere LCH027 tells what differs."""
    if cluster.engine == "ray":
        rows = [each for each in compare(cluster, named("Python", "{}")) if each.name in {"Python", "ray"}]
        yield from told_apart(PROBLEM, ODD, SPLIT, rows, commands=("ray stop --force",))
