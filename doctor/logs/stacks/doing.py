"""What a process does, by the frames of its threads: it waits in a collective, for a lock, for an answer, or works."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.stillness import Doing, Stood
from doctor.logs.stacks.read import Called, Stack


class _Row(NamedTuple):
    """A call by which it is told what a process does; both patterns have to be found."""

    doing: Doing
    function: re.Pattern[str]
    path: re.Pattern[str] | None = None


#: collectives by their names in torch, NCCL, DeepSpeed, vLLM and SGLang, and who offers them
_COLLECTIVES = (
    r"^(?:p?nccl(?:All|Reduce|Broadcast|Send|Recv|Group|Comm(?:Init|Finalize))\w*|(?:_?(?:all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|barrier|monitored_barrier|scatter|"
    r"gather|reduce|send|recv|isend|irecv|wait_tensor|tensor_model_parallel_)\w*)|full_tensor)$"
)
_OFFER = (
    r"torch/distributed/(?:distributed_c10d|_functional_collectives|nn/functional|tensor)|deepspeed/comm/"
    r"|pynccl|distributed/(?:parallel_state|communication_op)|device_communicators/(?!shm_broadcast)"
    r"|collective/collective_group|libnccl"
)
#: the first that any frame meets counts, those of a row from the innermost frame on
_ROWS = (
    _Row("collective", later(_COLLECTIVES), later(_OFFER)),
    _Row("lock", later(r"^(?:wait|acquire|_acquire)$"), later(r"file_baton|filelock|portalocker|fasteners")),
    _Row("scores", later(r"(?i)score|reward|verif|grad(?:e|er)\b|is_equiv|is_correct|extract_answer"),
         later(r"(?i)reward|scor|verif|grad(?:er|ing)|judge")),
    _Row("remote", later(r"^(?:get|wait|get_objects)$"),
         later(r"ray/_private/(?:worker|client_mode_hook)|ray/_raylet")),
    _Row("asks", later(r"^(?:recv_into|readinto|read|recv|connect|send|urlopen|getresponse|begin)$"),
         later(r"(?:^|/)(?:socket|ssl|urllib3/\w+|httpx/\S+|httpcore/\S+|http/client|requests/\w+)\.py$")),
    _Row("child", later(r"^(?:wait|_wait|communicate|_communicate|_try_wait)$"), later(r"(?:^|/)subprocess\.py$")),
    _Row("compiles", later(r"(?i)compile|_run_ninja_build|ninja"),
         later(r"triton/|_inductor/|_dynamo/|cpp_extension|flashinfer/jit|deep_gemm|tvm")),
    _Row("loader", later(r"^_?(?:try_get_data|get_data|next_data)$"), later(r"torch/utils/data/dataloader")),
    _Row("gpu", later(r"^(?:cu(?:da)?(?:Stream|Device|Event|Ctx)Synchronize\w*|synchronize|item|_local_scalar_dense)$"),
         None),
    _Row("idle", later(r"^(?:recv_requests|_process_input_queue|dequeue|recv_multipart|main_loop|run_once|_run_once"
                       r"|serve_forever|event_wait_loop|RunTaskExecutionLoop|accept)$"), None),
    _Row("idle", later(r"^(?:wait|poll|select|epoll_wait|get|acquire|_wait_for_tstate_lock|join|sleep|accept)$"),
         later(r"(?:^|/)(?:threading|queue|selectors|asyncio/\w+|multiprocessing/\w+|zmq/\S+|concurrent/futures/\w+)"
               r"\.pyx?$|libc|libpthread")),
)  # fmt: skip
#: which of several threads tells what a process is about
_ORDER: tuple[Doing, ...] = (
    "collective", "lock", "scores", "compiles", "computes", "gpu", "loader", "asks", "child", "remote", "idle",
)  # fmt: skip
_STANDARD = later(
    r"(?:^|/)(?:threading|queue|selectors|socket|ssl|subprocess|contextlib|functools|runpy|asyncio/\w+|concurrent/\S+"
    r"|multiprocessing/\w+|importlib/\S+|http/\w+)\.py$|/lib(?:64)?/python3\.\d{1,2}/(?!site-packages|dist-packages)"
    r"|^<|\.so[\d.]*$|^lib\w+|^python[\d.]*$|zmq/"
)
#: wrappers that say nothing of who called
_WRAPS = later(
    r"^(?:broadcast_pyobj|wrapper|inner|decorate_context|_call_impl|_wrapped_call_impl|__call__|_fn|client_mode_hook)$"
)
_TORCH = later(r"(?:^|/)torch/(?:distributed|autograd|nn|utils|_\w+)")


def stood(who: str, threads: Sequence[Stack], file: str) -> Stood | None:
    """Where a process stands, by the thread of it that tells most; None where no frame is one of a program.

    Args:
        who: what the text calls it.
        threads: its stacks.
        file: the text.

    """
    found = [each for stack in threads if (each := _of_thread(who, stack, file)) is not None]
    return min(found, key=lambda each: _ORDER.index(each.doing), default=None)


def _of_thread(who: str, stack: Stack, file: str) -> Stood | None:
    doing, place, outermost = _doing(stack.frames)
    at = next((each for each in stack.frames if not _STANDARD.search(each.path)), None)
    if at is None and doing in ("idle", "computes"):
        return None
    if doing == "computes" and stack.state == "idle":
        doing = "idle"  # py-spy saw it off the processor, in native code that no row knows
    frame = stack.frames[place]
    caller = stack.frames[outermost] if doing == "scores" else _caller(stack.frames[outermost + 1 :])
    shown = at or frame
    quote = Observed.quoted(file, frame.text[:300], frame.number)
    way = tuple(map(told, _callers(stack.frames[outermost + 1 :])))
    return Stood(who, doing, frame.function, told(shown), told(caller) if caller else "", quote, way)


def _doing(frames: Sequence[Called]) -> tuple[Doing, int, int]:
    """What the frames say, the place of the one that says it, and that of the call by which the program got there."""
    for row in _ROWS:
        places = [
            place
            for place, each in enumerate(frames)
            if row.function.search(each.function) and (row.path is None or row.path.search(each.path))
        ]
        if places:
            return row.doing, places[0], _outermost(places) if row.doing in ("collective", "scores") else places[0]
    own = [place for place, each in enumerate(frames) if not _STANDARD.search(each.path)]
    place = own[0] if own else 0
    return "computes", place, place


def _outermost(places: Sequence[int]) -> int:
    """The last of the places that follow each other: a collective is called through several layers of its library."""
    last = places[0]
    for place in places[1:]:
        if place - last > 2:
            break
        last = place
    return last


def _caller(frames: Sequence[Called]) -> Called | None:
    """Who called: the first frame that is no layer of torch and no wrapper."""
    return next(_callers(frames), None)


def _callers(frames: Sequence[Called]) -> Iterator[Called]:
    """Who called whom, from the innermost on, without layers of torch and wrappers."""
    for each in frames:
        if not (_TORCH.search(each.path) or _STANDARD.search(each.path) or _WRAPS.search(each.function)):
            yield each


def told(frame: Called) -> str:
    """`clip (reward.py:7)`."""
    name = frame.path.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{frame.function} ({name}{f':{frame.line}' if frame.line else ''})"
