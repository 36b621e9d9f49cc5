"""MLflow's folder of experiments is not whole.

## What it means
Without a server MLflow keeps experiments as folders under `mlruns`, each with a `meta.yaml`. A folder without it was
left by a start that was interrupted, by several processes that made it at once, or by a copy that left files out.
## What it does to a run
The trainer's MLflow callback raises when training begins.
## What to do
Remove the broken folder, or report elsewhere.
## How it is found
In a log: by MLflow's exception, which names the file.
## References
https://github.com/mlflow/mlflow/blob/v2.20.0/mlflow/utils/file_utils.py
https://github.com/axolotl-ai-cloud/axolotl/issues/1307
https://github.com/Azure-Samples/ai-rag-chat-evaluator/issues/47
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRK014", name="mlflow-store-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:mlflow\.exceptions\.)?MissingConfigException: Yaml file '(?P<file>[^'\n]{1,300}meta\.yaml)' does "
        r"not exist"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "MLflow's folder of experiments is broken: `{file}` is not there",
        "Runs are kept in files, each experiment a folder with a `meta.yaml`. A start that was interrupted, several "
        "processes at once, or a copied folder leaves one without it, and MLflow reads them all.",
        "Remove that folder (`rm -r {folder}`), or `mlruns` whole when nothing in it is needed, and start again. If "
        "MLflow was not meant to be used: `report_to: none` (or `wandb`), or uninstall it: with `report_to: all`, the "
        "default before Transformers 5, each tracker that is installed is used.",
    ),
    zh=Words(
        "MLflow 的实验目录不完整:缺少 `{file}`",
        "运行记录存放在文件中,每个实验一个含 `meta.yaml` 的目录。启动被中断、多个进程同时创建或复制目录都可能留下没有"
        "该文件的目录,而 MLflow 会读取所有目录。",
        "删除该目录(`rm -r {folder}`),若 `mlruns` 中没有需要的内容则整个删除,然后重新启动。若不打算使用 "
        "MLflow:`report_to: none`(或 `wandb`),或卸载它:`report_to: all`(Transformers 5 之前的默认值)会使用每个已安装的"
        "跟踪器。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the folder by its last parts."""
    parts = re.split(r"[\\/]", hits.get("file") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        file="/".join(parts[-3:]), folder="/".join(parts[-3:-1]) or ".",
    )  # fmt: skip
