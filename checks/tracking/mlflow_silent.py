"""The tracking server of MLflow does not answer, or refuses.

## What it means
`MLFLOW_TRACKING_URI` names a server; trainers with `report_to="mlflow"` (or the default `all`, where mlflow is
installed) write to it.
## What it does to a run
Training ends at its start, or at the first log, after minutes of retries.
## What to do
Start the server, name a folder instead, or switch it off.
## How it is found
In a log: by MLflow's exceptions.
## References
https://mlflow.org/docs/latest/self-hosting/architecture/tracking-server/
https://huggingface.co/docs/transformers/main_classes/callback#transformers.integrations.MLflowCallback
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="TRK013", name="mlflow-silent", severity=ERROR, since="0.1")

SILENT = Message(
    en=Words(
        "MLflow's tracking server at {address} does not answer",
        "No server runs there, it is another port, or this node has no way to it. MLflow tries again for minutes "
        "before it gives up.",
        "Start it (`mlflow server --host 0.0.0.0 --port 5000`), correct `MLFLOW_TRACKING_URI`, or write to a "
        "folder: `export MLFLOW_TRACKING_URI=file:///home/user/mlruns`; or train without it: `--report_to none` "
        "(`report_to` is `all` where nothing is set in older Transformers).",
    ),
    zh=Words(
        "MLflow 跟踪服务器 {address} 没有应答",
        "那里没有运行服务器,端口不同,或本节点无法到达。MLflow 会重试数分钟才放弃。",
        "启动它(`mlflow server --host 0.0.0.0 --port 5000`),改正 `MLFLOW_TRACKING_URI`,或写到目录:`export "
        "MLFLOW_TRACKING_URI=file:///home/user/mlruns`;或不使用它:`--report_to none`(较旧的 Transformers 未"
        "设置时 `report_to` 为 `all`)。",
    ),
)
REFUSES = Message(
    en=Words(
        "MLflow refuses what it is asked to store ({code})",
        "The server answered. Mostly an experiment or run of that name is deleted or absent, a value is longer than "
        "its column (parameters have 500 or 6000 characters), or the same parameter is written twice with another "
        "value (a resumed run).",
        "Give a new `MLFLOW_EXPERIMENT_NAME` (or restore the old one), `export MLFLOW_FLATTEN_PARAMS=true "
        "MLFLOW_MAX_LOG_PARAMS=50` where parameters are too long or too many, unset `MLFLOW_RUN_ID` for a new run; or "
        "train without it: `--report_to none`.",
    ),
    zh=Words(
        "MLflow 拒绝存储({code})",
        "服务器已应答。多半是该名称的 experiment 或 run 已删除或不存在,值超过列长度(参数为 500 或 6000 字符),或同一"
        "参数以不同值写入两次(恢复的 run)。",
        "换新的 `MLFLOW_EXPERIMENT_NAME`(或恢复旧的),参数过长或过多时 `export MLFLOW_FLATTEN_PARAMS=true "
        "MLFLOW_MAX_LOG_PARAMS=50`,新 run 取消 `MLFLOW_RUN_ID`;或不使用它:`--report_to none`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"MlflowException: API request to (?P<address>https?://[\w.\-:]{3,80})\S{0,200} failed with excep"
            r"tion(?![^\n]{0,600}(?:too many \d{3} error responses|CERTIFICATE_VERIFY_FAILED))",
            symptom_of=("HST025",),
        ),
        SILENT,
        CONFIRMED,
    ),
    (
        Signature(
            r"mlflow\.exceptions\.(?:RestException|MlflowException): (?P<code>RESOURCE_DOES_NOT_EXIST"
            r"|RESOURCE_ALREADY_EXISTS|INVALID_PARAMETER_VALUE|INVALID_STATE|BAD_REQUEST): "
        ),
        REFUSES,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
