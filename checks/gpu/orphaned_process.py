"""Judges gpu-process-orphaned (GPU006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: titles that vLLM and Ray give to workers; these are children of a server or a raylet and never started by hand
WORKER = later(r"VLLM::|EngineCore|VllmWorker|^ray::|multiprocessing\.spawn|multiprocessing\.forkserver")


@check(PROBLEM)
def orphaned_process(gpus: Gpus, host: Host) -> Judgement:
    """Workers of the stack that belong to this user and hang on process 1."""
    if host.container is not None:
        yield Skip("in a container an orphan cannot be distinguished from a child of the container's first process")
        return
    seen = set()
    for gpu in gpus.gpus:
        for process in gpu.processes or ():
            title = f"{process.name or ''} {process.command or ''}"
            is_orphan = process.parent_pid == 1 and process.is_mine and WORKER.search(title.strip())
            if not is_orphan or process.pid in seen:
                continue
            seen.add(process.pid)
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.index,
                name=process.name,
                pid=process.pid,
                used_gib=f"{(process.used_bytes or 0) / 2**30:.1f}",
                where=Where(gpu=gpu.index),
                commands=(f"doctor fix orphans {process.pid}", f"kill {process.pid}"),
                evidence=(Observed.quoted("/proc", f"pid {process.pid}, parent 1: {process.command or process.name}"),),
                confidence=LIKELY,
            )
