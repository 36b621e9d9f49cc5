"""Judges npu-call-failed (TOR038), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
HIDDEN = TOML["hidden"]
LOG_MESSAGE_OPERATION = TOML["log_operation"]
LOG_MESSAGE_DRIVER = TOML["log_driver"]
LOG_MESSAGE_CANN = TOML["log_cann"]
LOG_MESSAGE = TOML["log"]
ABSENT = TOML["absent"]
COMPILER = TOML["compiler"]
UNCOMPILED = TOML["uncompiled"]
KERNELS = TOML["kernels"]


#: these come with the driver on the host, all others with CANN
_OF_DRIVER = frozenset({"ascend_hal", "drvdsmi_host", "c_sec"})


#: first digits of an aclnn status -> what kind it is (ACLNN_ERR_PARAM_*, ACLNN_ERR_RUNTIME_*, ACLNN_ERR_INNER_*)
STATUS = TOML.phrases("status")


def _kernels(hits: Hits) -> Finding:
    """The package of binaries for the chip."""
    name = hits.get("kernelless") or hits.get("type")
    return found(
        PROBLEM, KERNELS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=("npu-smi info",),
        which=name or "",
    )  # fmt: skip


def _other(hits: Hits) -> Finding | None:
    """An operation that CANN does not have, a compiler that lacks a package, or cards that are not there."""
    if hits.get("variable"):
        return found(
            PROBLEM, HIDDEN, where=hits.where(), evidence=hits.evidence(), commands=("npu-smi info",),
            variable=hits.get("variable") or "", devices=(hits.get("devices") or "").strip(),
            range=hits.get("range") or "",
        )  # fmt: skip
    if hits.of(5):
        return _kernels(hits)
    if uncompiled := hits.get("uncompiled"):
        return found(
            PROBLEM, UNCOMPILED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            uncompiled=uncompiled, commands=("npu-smi info",),
        )  # fmt: skip
    module, absent = hits.get("module") or hits.get("failure"), hits.get("absent")
    if not absent and not hits.get("compiler"):
        return None
    return found(
        PROBLEM, ABSENT if absent else COMPILER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        absent=absent or "", which=module or "",
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """A library that is not found, or a call that the NPU refused."""
    other = _other(hits)
    if other is not None:
        return other
    library, operation = hits.get("library"), hits.get("operation")
    message = LOG_MESSAGE_DRIVER if library in _OF_DRIVER else LOG_MESSAGE_CANN if library else LOG_MESSAGE
    return found(
        PROBLEM,
        LOG_MESSAGE_OPERATION if operation and not library else message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if library else LIKELY,
        library=library or "",
        operation=operation or "",
        status=STATUS.get((hits.get("status") or "")[:3], ""),
        call=hits.get("call") or "",
        number=hits.get("number") or "",
        commands=("npu-smi info",),
    )
