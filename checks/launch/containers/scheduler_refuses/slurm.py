"""Judges LCH4907/slurm, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE_WAITS = TOML["log_waits"]
LOG_MESSAGE_REQUEST = TOML["log_request"]
LOG_MESSAGE_CREDENTIAL = TOML["log_credential"]
LOG_MESSAGE_EXCLUSIVE = TOML["log_exclusive"]
LOG_MESSAGE_CONTROLLER = TOML["log_controller"]
LOG_MESSAGE_SILENT = TOML["log_silent"]
LOG_MESSAGE_UNBOUND = TOML["log_unbound"]
LOG_MESSAGE_SPEC = TOML["log_spec"]
LOG_MESSAGE_NOWHERE = TOML["log_nowhere"]


#: a part of Slurm's words -> what it says, https://github.com/SchedMD/slurm/blob/master/src/common/slurm_errno.c
REASONS = (
    ("memory required by task", "more memory than the job has left", "内存超出作业剩余"),
    ("node configuration is not available", "no node has all that is asked for", "没有节点满足全部要求"),
    ("generic resource", "it does not know GPUs of that kind or number", "不认识所写的 GPU 类型或数量"),
    ("policy", "a limit of the account or QOS is reached", "达到账户或 QOS 的上限"),
    ("account", "the account may not use this partition", "该账户不能使用此分区"),
    ("qos", "the QOS does not allow it", "QOS 不允许"),
    ("partition configuration", "more than the partition allows, or it is down", "超出分区允许的范围,或分区已停用"),
    ("not permitted to use this partition", "your group may not use this partition", "你所在的组不能使用此分区"),
    ("partition", "the partition does not exist, or these nodes are not in it", "分区不存在,或这些节点不在其中"),
    ("time limit", "more time than the partition allows", "时间超过分区上限"),
    ("processors", "more CPUs than the job or partition has", "CPU 超出作业或分区所有"),
    ("task count", "more tasks than the job has room for", "任务数超出作业容量"),
    ("invalid job id", "the job has ended or is another user's", "作业已结束或属于其他用户"),
)
OTHER_REASON = ("see its own words", "见其原文")
#: not the request is at fault: the controller did not answer, or is busy
_CONTROLLER = re.compile(
    r"(?i)slurm controller|socket timed out|zero bytes were transmitted|temporarily unable|try again"
)


def explain(hits: Hits) -> Finding | None:
    """It waits for itself, asks for too much, or cannot prove who it is; a step that was created waited no longer."""
    if hits.get("created") and all(hit.signature in (0, len(SIGNATURES) - 1) for hit in hits):
        return None
    told = hits.get("why") or ""
    english, chinese = next(((en, zh) for part, en, zh in REASONS if part in told.lower()), OTHER_REASON)
    request = LOG_MESSAGE_CONTROLLER if _CONTROLLER.search(told) else LOG_MESSAGE_REQUEST
    messages = {
        "why": request, "exclusive": LOG_MESSAGE_EXCLUSIVE, "launch": LOG_MESSAGE_CREDENTIAL,
        "waiting": LOG_MESSAGE_WAITS, "silent": LOG_MESSAGE_SILENT,
        "unbound": LOG_MESSAGE_UNBOUND, "spec": LOG_MESSAGE_SPEC, "nowhere": LOG_MESSAGE_NOWHERE,
    }  # fmt: skip
    return found(
        PROBLEM,
        hits.choice(messages, LOG_MESSAGE_REQUEST),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if told and english == OTHER_REASON[0] and request is LOG_MESSAGE_REQUEST else CONFIRMED,
        job=hits.get("waiting") or "",
        why=english,
        why_zh=chinese,
        node=hits.get("node") or "a node",
        unbound=hits.get("unbound") or "",
        spec=_spec(hits.get("spec") or ""),
    )


def _spec(told: str) -> str:
    """Its options, or its first words."""
    options = " ".join(dict.fromkeys(re.findall(r"--[a-z\-]{2,30}", told)))
    return f"`{options}`" if options else told[:60]
