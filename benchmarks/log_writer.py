"""Writes the log of a run with several ranks, of any size, the same for the same seed."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

WORD_LIST = (
    "the model reward error timeout CUDA memory solution therefore step answer number we find that equation because "
    "memory process failed exception value let x be prime integer sum of all which gives rank loss kernel so and then"
)
WORDS = WORD_LIST.split()
KEY_LIST = (
    "loss grad_norm learning_rate num_tokens completions/mean_length completions/min_length completions/max_length "
    "completions/clipped_ratio rewards/format/mean rewards/format/std rewards/accuracy/mean rewards/accuracy/std "
    "reward reward_std frac_reward_zero_std kl entropy clip_ratio/low_mean clip_ratio/high_mean clip_ratio/region_mean "
    "sampling/sampling_logp_difference/mean epoch"
)
KEYS = KEY_LIST.split()
AREAS = ("actor", "critic", "perf", "timing_s", "response_length", "global_seqlen")
NAMES = ("mean", "max", "min", "kl_loss", "pg_loss", "std", "clipfrac", "lr", "total", "gen")
VERL = [f"{area}/{name}" for area in AREAS for name in NAMES]
_STEP = re.compile(rb"step:\d+ - ")  # counts on through all blocks, as in a run
COLOUR, PLAIN = "\x1b[36m", "\x1b[0m"


class Writer:
    """Makes lines of each kind, in the proportions of a real multi-rank run."""

    def __init__(self, seed: int, samples: list[str]) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a benchmark, not a secret
        self.samples = samples
        self.step = 0
        self.kinds: tuple[tuple[Callable[[], str], int], ...] = (
            (self.rollout, 280), (self.vllm, 220), (self.ray, 180), (self.nccl, 140), (self.bars, 120),
            (self.metrics, 20), (self.warning, 34), (self.traceback, 6),
        )  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Lines without end; a kind that is behind its share of bytes comes next."""
        written = [0.0] * len(self.kinds)
        while True:
            number = min(range(len(written)), key=written.__getitem__)
            make, share = self.kinds[number]
            text = make()
            written[number] += len(text) / share * self.random.uniform(0.5, 1.5)
            yield text

    def rollout(self) -> str:
        """Model text: long lines with the words that errors are made of."""
        return " ".join(self.random.choices(WORDS, k=self.random.choice((12, 30, 60, 200)))) + "\n"

    def vllm(self) -> str:
        """Throughput and request lines of the server."""
        pick = self.random
        if pick.random() < 0.99:  # a server logs its throughput every 10 s, and every request
            return (
                f"(APIServer pid={4000 + pick.randrange(8)}) INFO:     10.0.0.{pick.randrange(256)}:"
                f"{pick.randrange(65536)}"
                ' - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
            )
        return (
            f"INFO 11-20 16:{pick.randrange(60):02}:{pick.randrange(60):02} [loggers.py:123] "
            f"Engine {pick.randrange(8):03}: Avg prompt throughput: {pick.uniform(0, 9000):.1f} tokens/s, "
            "Avg generation throughput: "
            f"{pick.uniform(0, 9000):.1f} tokens/s, Running: {pick.randrange(256)} reqs, "
            f"Waiting: {pick.randrange(64)} reqs, "
            f"GPU KV cache usage: {pick.uniform(0, 100):.1f}%, Prefix cache hit rate: {pick.uniform(0, 100):.1f}%\n"
        )

    def ray(self) -> str:
        """Coloured lines of actors; now and then veRL's long step line."""
        pick = self.random
        worker = pick.randrange(64)
        actor = f"{COLOUR}(WorkerDict pid={10_000 + 17 * worker}, ip=10.0.0.{worker // 8}){PLAIN} "
        if pick.random() < 0.025:  # one for a hundred lines that the workers print in a step
            self.step += 1
            actor = f"{COLOUR}(main_task pid=9000){PLAIN} "
            values = " - ".join(f"{name}:{pick.uniform(-2, 2):.6f}" for name in VERL)
            return f"{actor}step:{self.step} - {values}\n"
        return (
            f"{actor}{pick.choice(('Total params', 'After load', 'Before rollout offload'))}: {pick.random():.3f} GB\n"
            * 3
        )

    def nccl(self) -> str:
        """What NCCL_DEBUG=INFO prints."""
        pick, rank = self.random, self.random.randrange(16)
        return (
            f"node{rank // 8}:{20000 + rank}:{21000 + rank} [{rank % 8}] NCCL INFO Channel {pick.randrange(32):02}/0 : "
            f"{rank}[{rank % 8}] -> {(rank + 1) % 16}[{(rank + 1) % 8}] [send] via NET/IB/{pick.randrange(8)}/GDRDMA\n"
        )

    def bars(self) -> str:
        """A progress bar redrawn many times in one line."""
        pick = self.random
        total, first = 1000, pick.randrange(900)
        return "".join(
            f"\rProcessed prompts: {done / 10:3.0f}%|{'█' * (done // 100)}{' ' * (10 - done // 100)}| {done}/{total} "
            f"[{done // 60:02}:{done % 60:02}<01:02, {pick.uniform(1, 9):.2f}it/s]"
            for done in range(first, first + pick.randrange(20, 100))
        ) + "\n"  # fmt: skip

    def metrics(self) -> str:
        """A dict line of the Trainer; a step takes seconds, in which everybody else prints fifty times as much."""
        values = ", ".join(f"'{name}': {self.random.uniform(0.5, 1.5):.6g}" for name in KEYS if name != "epoch")
        return f"{{{values}, 'epoch': 0.5}}\n"

    def warning(self) -> str:
        """A warning that healthy runs print."""
        return (
            f"[rank{self.random.randrange(16)}]:[W1120 16:10:{self.random.randrange(60):02}."
            f"{self.random.randrange(10**9):09} ProcessGroupNCCL.cpp:4115] Warning: using GPU 0 to perform barrier as "
            "devices used by this process are currently unknown.\n"
        )

    def traceback(self) -> str:
        """A traceback that ends with a message that a signature knows."""
        rank = f"[rank{self.random.randrange(16)}]: "
        frames = "".join(
            f'{rank}  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", '
            f"line {self.random.randrange(2000)}, in _call_impl\n{rank}    return forward_call(*args, **kwargs)\n"
            for _ in range(12)
        )
        return f"{rank}Traceback (most recent call last):\n{frames}{rank}{self.random.choice(self.samples)}\n"


def write_log(path: Path, size: int, seed: int, samples: list[str]) -> None:
    """Write a log of some size; a block of 16 MB is made anew and repeated with other numbers, for Python is slow."""
    lines = Writer(seed, samples).lines()
    parts, made = [], 0
    while made < min(size, 16 << 20):
        line = next(lines).encode()
        parts.append(line)
        made += len(line)
    pick = random.Random(seed)  # noqa: S311
    written, steps = 0, itertools.count(1)
    with path.open("wb") as file:
        while written < size:
            block = b"".join(of_one_trainer(parts, verl=written >= size // 2))
            block = block[: block.find(b"\n", size - written) + 1] or block
            # other digits, so that no two blocks hold the same lines
            digits = [*b"123456789"]
            pick.shuffle(digits)
            block = renumbered(block, bytes(digits)) if written else block
            file.write(_STEP.sub(lambda _: b"step:%d - " % next(steps), block))
            written += len(block)
            pick.shuffle(parts)


def of_one_trainer(parts: list[bytes], *, verl: bool) -> Iterator[bytes]:
    """Lines without the metrics of the other framework: a log is that of one, here of two runs in one file."""
    return (each for each in parts if not (each.startswith(b"{") if verl else _STEP.search(each)))


def renumbered(block: bytes, digits: bytes) -> bytes:
    """Other digits in lines that are no message: timestamps, counts, ports."""
    table = bytes.maketrans(b"123456789", digits)
    return b"\n".join(line.translate(table) if line[:1] in b"I\r{(n\x1b" else line for line in block.split(b"\n"))
