"""Words by which a process says that another one failed first."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.logs.failures.raised import Failure, Raised

_TYPES = frozenset({
    "EngineDeadError", "ChildFailedError", "CalledProcessError", "ActorDiedError", "ActorUnavailableError",
    "RayActorError", "WorkerCrashedError", "OwnerDiedError", "NodeDiedError", "BrokenPipeError",
    "ConnectionResetError", "EOFError", "IncompleteReadError", "SignalException", "KeyboardInterrupt",
    "CancelledError", "TaskCancelledError", "SystemExit", "BrokenProcessPool", "ProcessExitedException",
    "MQEngineDeadError", "AsyncEngineDeadError", "ServerDisconnectedError", "RemoteProtocolError",
    "ProcessRaisedException", "BrokenBarrierError",
})  # fmt: skip
_WORDS = later(
    r"Connection closed by peer|Connection reset by peer|Read error \[|Broken pipe|recvValue failed"
    r"|[Ff]ailed to recv, got 0 bytes"
    r"|Socket [Tt]imeout|Timed out waiting \d+ ?ms for (?:recv|send)|[Ww]atchdog caught collective operation timeout"
    r"|Some NCCL operations have failed or timed out|NCCL communicator was aborted|ncclRemoteError"
    r"|remote process exited"
    r"|Process group watchdog thread terminated|HeartbeatMonitor|Heartbeat monitor timed out|wait timeout after \d+ ?ms"
    r"|[Ee]ngine core initialization failed|[Ee]ngine process failed to start"
    r"|Failed core proc\(s\)|EngineCore encountered an issue"
    r"|WorkerProc initialization failed|Worker failed with error|Executor failed|died unexpectedly"
    r"|[Ee]ngine loop (?:is not running|has died)"
    r"|Background loop (?:has errored|is stopped)|stack trace (?:above|for the root cause)|See root cause above"
    r"|died before finishing"
    r"|worker process has died|Received sigquit from a child process|Rank \d+ scheduler died|terminating worker queues"
    r"|[Dd]etected that another (?:rank|process)|peer (?:has )?(?:failed|closed|exited)"
    r"|Application monitor timed out|monitoredBarrier"
    r"|failed to pass monitoredBarrier|Remote (?:node|worker) (?:died|failed)|[Ww]orker rank \d+ (?:died|failed)"
    r"|was killed (?:due to|by) ray|^The actor with name \S{1,200} failed to import on the worker"
    r"|^An issue was found when launching the training"
)

#: thrown by a process group's watchdog, which has said why before; other output may tear its own words off
#: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
_WATCHDOGS = "DistBackendError"


def is_victim(raised: Raised) -> bool:
    """Whether one exception only tells that another process failed."""
    if raised.name in _TYPES:
        return True
    if raised.kind == "c++" and not raised.message and raised.type.endswith(_WATCHDOGS):
        return True
    if raised.kind == "fatal":
        return "Aborted" in raised.message  # what terminate() leaves behind; segmentation faults are not
    return bool(_WORDS.search(raised.message[:4000]))


def failed_by_itself(failure: Failure) -> bool:
    """Whether a failure's cause is its own and not another process's."""
    return not is_victim(failure.cause)


#: an end that tells of nothing but somebody who did not answer: it may be an echo of any failure
_UNANSWERED = later(
    r"connect|time(?:d[ _])?out|unavailable|\b50[0-4]\b|internal ?server|remote|\brpc|APIError|ClientError",
    re.IGNORECASE,
)


def may_be_echo(failure: Failure) -> bool:
    """Whether a failure only says that somebody did not answer, whatever the reason."""
    return _UNANSWERED.search(f"{failure.cause.type}: {failure.cause.message[:300]}") is not None
