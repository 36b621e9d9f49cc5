"""Trainer GPUs and vLLM server GPUs take turns: one side always waits for the other.

## What it means
The trainer waits while completions are generated, and the vLLM server waits while the model is trained. Each group of
GPUs works only part of the time.
## What it does to a run
The GPU hours of whichever side waits are paid for and not used. With equal halves, that is nearly half of them.
## What to do
Generate on the training GPUs (`vllm_mode="colocate"`), give the server fewer GPUs, or let generation and training
overlap (asynchronous training of veRL or Trinity-RFT; TRL's `steps_per_generation` and `num_iterations` make each turn
longer and the switches fewer, which by itself gives nothing back).
## How it is found
In the figures of `doctor monitor`: GPUs whose processes are trainers and GPUs whose processes are vLLM's were active at
the same time in less than 20 % of the active time, and took turns at least six times. In logs, where a trainer's and a
vLLM server's lie together: the server's throughput lines stop for longer than three of their periods at least six
times, and the gaps are 40 % of its time or more.
## References
https://huggingface.co/docs/trl/vllm_integration
https://huggingface.co/blog/vllm-colocate
"""

from __future__ import annotations

from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import place

PROBLEM = Problem(id="PRF010", name="trainer-and-server-alternate", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "trainer and vLLM server take turns: the trainer idles {trainer} %, the server {server} %",
        "The two groups of GPUs were active at the same time in only {both} % of the active time, over {turns} turns. "
        "One side always waits for the other.",
        "Generate on the training GPUs (`vllm_mode=colocate`) or give the server fewer GPUs. If both kinds of work "
        "spread evenly over all GPUs, up to {back} % of the GPU time of this run would come back.",
    ),
    zh=Words(
        "训练端与 vLLM 服务器轮流工作:训练端空闲 {trainer} %,服务器空闲 {server} %",
        "两组 GPU 同时工作的时间仅占 {both} %,共轮换 {turns} 次,总有一方在等待另一方。",
        "在训练 GPU 上生成(`vllm_mode=colocate`),或减少服务器的 GPU。若两类工作能均匀分布到所有 GPU,"
        "最多可收回本次运行 {back} % 的 GPU 时间。",
    ),
)

FROM_LOGS = Message(
    en=Words(
        "the vLLM server was without requests {idle} % of the time, in {turns} pauses",
        "A trainer ran beside it. While a step is trained the server's GPUs wait, and while it generates the trainer's "
        "do; the log of the server shows its share of that.",
        "Run `doctor monitor` beside the next run: it shows what either side idles. Generate on the training GPUs "
        "(`vllm_mode=colocate`) or give the server fewer GPUs.",
    ),
    zh=Words(
        "vLLM 服务器有 {idle} % 的时间没有请求,共 {turns} 次停顿",
        "旁边有训练端在运行。训练时服务器的 GPU 在等待,生成时训练端的 GPU 在等待;服务器日志只显示它自己的那一份。",
        "下次运行时用 `doctor monitor` 查看双方各自空闲多少。在训练 GPU 上生成(`vllm_mode=colocate`),"
        "或减少服务器的 GPU。",
    ),
)

#: percent of activity that counts as working; share of overlap; turns; shortest share of either side
WORKING, MOST_OVERLAP, FEWEST_TURNS, LEAST_SHARE = 5.0, 0.2, 6, 0.1


@rule(PROBLEM, needs=("role/trainer/activity_pct", "role/server/activity_pct"))
class TrainerAndServerAlternate:
    """Counts the bins in which one side works, the other, or both."""

    def __init__(self) -> None:
        self._trainer: Optional[Point] = None
        self._both = self._only_trainer = self._only_server = self._bins = self._turns = 0
        self._side = ""
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Pair the trainer's figure with the server's of the same bin."""
        if point.name.startswith("role/trainer"):
            self._trainer = point
        elif self._trainer is not None and self._trainer.step == point.step:
            self._see(self._trainer.value >= WORKING, point.value >= WORKING)
            self._last = point
        return None

    def _see(self, trainer: bool, server: bool) -> None:
        self._bins += 1
        self._both += trainer and server
        self._only_trainer += trainer and not server
        self._only_server += server and not trainer
        side = "trainer" if trainer and not server else "server" if server and not trainer else self._side
        self._turns += bool(self._side) and side != self._side
        self._side = side

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        active = self._both + self._only_trainer + self._only_server
        least = min(self._only_trainer, self._only_server)
        if not active or self._last is None or self._turns < FEWEST_TURNS:
            return None
        if self._both > MOST_OVERLAP * active or least < LEAST_SHARE * active:
            return None
        idle = [100 * (1 - (self._both + own) / self._bins) for own in (self._only_trainer, self._only_server)]
        text = f"{self._both} of {active} active bins with both at work, {self._turns} turns"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, trainer=f"{idle[0]:.0f}", server=f"{idle[1]:.0f}",
            both=f"{100 * self._both / active:.0f}", turns=self._turns,
            back=f"{50 * (active - self._both) / self._bins:.0f}", **place(self._last, text),
        )  # fmt: skip


#: the server tells its throughput every 10 s, and nothing from the second idle period on
#: https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/metrics/loggers.py
PERIOD_NS = 10 * 10**9

#: periods without a line that are a pause, pauses, and their share of the time, that are turns and not accidents
PAUSE, FEWEST_PAUSES, IDLE_SHARE = 3, 6, 0.4


@rule(PROBLEM, needs=("vllm/running", "loss", "beside/trainer_steps"))
class ServerWaitsForTrainer:
    """Adds up the pauses between the server's busy lines, where a trainer tells a loss in the same log or beside it."""

    wants = ("gpus", "roles")

    def __init__(self) -> None:
        self._first: Optional[Point] = None
        self._busy: Optional[Point] = None
        self._idle_ns = self._pauses = 0
        self._trained = 0

    def update(self, point: Point) -> Optional[Finding]:
        """Take a line of either side in; one of the server counts where it carries a time and a request runs."""
        if point.name != "vllm/running":
            self._trained += 1 if point.name == "loss" else int(point.value)
        elif point.value > 0 and point.t_ns is not None:
            self._see(point, point.t_ns)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of the trainer alone: most of its log."""
        if stretch["vllm/running"].values or stretch["beside/trainer_steps"].values:
            return False
        self._trained += len(stretch["loss"])
        return True

    def _see(self, point: Point, now: int) -> None:
        if self._busy is None or self._busy.t_ns is None:
            self._first = point
        elif now - self._busy.t_ns > PAUSE * PERIOD_NS:
            self._pauses += 1
            self._idle_ns += now - self._busy.t_ns - PERIOD_NS
        self._busy = point

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        first, last = self._first, self._busy
        if first is None or last is None or first.t_ns is None or last.t_ns is None:
            return None
        share = self._idle_ns / max(1, last.t_ns - first.t_ns)
        if self._trained < FEWEST_PAUSES or self._pauses < FEWEST_PAUSES or share < IDLE_SHARE:
            return None
        text = f"{self._pauses} pauses between throughput lines"
        return found(
            PROBLEM, FROM_LOGS, confidence=LIKELY, severity=INFO, idle=f"{100 * share:.0f}", turns=self._pauses,
            **place(last, text),
        )  # fmt: skip
