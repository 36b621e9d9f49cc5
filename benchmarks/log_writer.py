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
#: what TRL 1.16 prints for a step with two reward functions, and what is usual there
TRAINER_VALUES = {
    "loss": 0.0124, "grad_norm": 0.2173, "learning_rate": 1e-06, "num_tokens": 4.1e6,
    "completions/mean_length": 412.6, "completions/min_length": 96, "completions/max_length": 1024,
    "completions/clipped_ratio": 0.03125, "completions/mean_terminated_length": 391.2,
    "completions/min_terminated_length": 96, "completions/max_terminated_length": 1013,
    "rewards/accuracy_reward/mean": 0.5313, "rewards/accuracy_reward/std": 0.4991,
    "rewards/format_reward/mean": 0.9063, "rewards/format_reward/std": 0.2917, "reward": 1.438, "reward_std": 0.3842,
    "frac_reward_zero_std": 0.125, "kl": 0.002113, "entropy": 0.3312,
    "sampling/sampling_logp_difference/mean": 0.01171, "sampling/sampling_logp_difference/max": 0.5811,
    "sampling/importance_sampling_ratio/min": 0.8212, "sampling/importance_sampling_ratio/mean": 0.9998,
    "sampling/importance_sampling_ratio/max": 1.31, "clip_ratio/low_mean": 0.000412, "clip_ratio/high_mean": 0.000633,
    "clip_ratio/region_mean": 0.001045, "clip_ratio/low_min": 0, "clip_ratio/high_max": 0.00211, "step_time": 21.42,
}  # fmt: skip
#: what veRL 0.7 prints: its metrics of data, actor, time and throughput, many of them as mean, max and min
VERL_VALUES = {
    **{f"global_seqlen/{name}": 93440 for name in ("min", "max", "minmax_diff", "balanced_min", "balanced_max",
                                                    "mean")},
    "actor/entropy": 0.408, "actor/pg_loss": 0.0034, "actor/kl_loss": 0.0021, "actor/kl_coef": 0.001,
    "actor/pg_clipfrac": 0.0011, "actor/ppo_kl": 0.00012, "actor/pg_clipfrac_lower": 0.0, "actor/grad_norm": 0.231,
    "actor/lr": 1e-06, "perf/mfu/actor": 0.31, "perf/max_memory_allocated_gb": 41.2,
    "perf/max_memory_reserved_gb": 52.7, "perf/cpu_memory_used_gb": 130.4, "perf/total_num_tokens": 747520,
    "perf/time_per_step": 321.4, "perf/throughput": 2118.7,
    **{f"{area}/{name}": value for area, values in (
        ("critic/score", (1.438, 2, 0)), ("critic/rewards", (1.438, 2, 0)), ("critic/advantages", (0.001, 2.4, -2.4)),
        ("critic/returns", (0.001, 2.4, -2.4)), ("response_length", (1460, 8192, 81)),
        ("response_length_non_aborted", (1460, 8192, 81)), ("prompt_length", (211, 604, 77)), ("num_turns", (2, 2, 2)),
    ) for name, value in zip(("mean", "max", "min"), values, strict=True)},
    "response_length/clip_ratio": 0.024, "prompt_length/clip_ratio": 0.0, "response/aborted_ratio": 0.0,
    "training/global_step": 1,
    **{f"timing_s/{name}": 12.3 for name in (
        "start_profile", "generate_sequences", "gen", "reward", "old_log_prob", "ref", "values", "adv", "update_actor",
        "update_weights", "step", "stop_profile",
    )},
    **{f"timing_per_token_ms/{name}": 0.0213 for name in ("gen", "ref", "adv", "update_actor")},
}  # fmt: skip
_STEP = re.compile(rb"step:\d+ - ")  # counts on through all blocks, as in a run
_DONE = re.compile(rb"\| \d+/1000000 \[")  # likewise
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

    def step_of_trainer(self, step: int) -> str:
        """What the Trainer prints for a step: the bar, a cleared line, the metrics as newer releases quote them."""
        pick = self.random
        done, rate = step % 101, pick.uniform(1, 9)
        bar = f"\r{done:3d}%|{'█' * (done // 10):10}| {step}/1000000 [01:00:00<02:00:00, {rate:.2f}s/it]"
        values = {
            **{name: f"{value:.4g}" for name, value in self.around(TRAINER_VALUES)},
            "epoch": f"{step / 1000:.4g}",
        }
        return f"{bar}\r{'':60}\r{values}\n{bar}"

    def step_of_verl(self, step: int) -> str:
        """What veRL's main task prints for a step."""
        values = " - ".join(f"{name}:{value!r}" for name, value in self.around(VERL_VALUES))
        return f"{COLOUR}(TaskRunner pid=9000){PLAIN} step:{step} - {values}\n"

    def around(self, usual: dict[str, float]) -> Iterator[tuple[str, float]]:
        """Each metric with a value near its usual one."""
        return ((name, value * self.random.uniform(0.95, 1.05)) for name, value in usual.items())

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


def write_dense_log(path: Path, size: int, seed: int, samples: list[str], bytes_a_step: int = 2070) -> None:
    """Write a log most of whose bytes are metrics: a long run's that prints little else, one half TRL's, one veRL's."""
    writer = Writer(seed, samples)
    parts = [each.encode() for each in itertools.islice(writer.lines(), 4000)]
    others = itertools.cycle(each for each in parts if not (each.startswith(b"{") or _STEP.search(each)))
    makers = (writer.step_of_trainer, writer.step_of_verl)
    blocks = [[make(step).encode() for step in range(1000, 3000)] for make in makers]  # Python is slow: repeated
    written = 0
    with path.open("wb") as file:
        for step in itertools.count(1):
            if written >= size:
                return
            verl = written >= size // 2
            line = blocks[verl][step % 2000]
            line = _STEP.sub(b"step:%d - " % step, line) if verl else _DONE.sub(b"| %d/1000000 [" % step, line)
            file.write(line)
            written += len(line)
            while written < step * bytes_a_step:
                other = next(others)
                file.write(other)
                written += len(other)


def of_one_trainer(parts: list[bytes], *, verl: bool) -> Iterator[bytes]:
    """Lines without the metrics of the other framework: a log is that of one, here of two runs in one file."""
    return (each for each in parts if not (each.startswith(b"{") if verl else _STEP.search(each)))


def renumbered(block: bytes, digits: bytes) -> bytes:
    """Other digits in lines that are no message: timestamps, counts, ports."""
    table = bytes.maketrans(b"123456789", digits)
    return b"\n".join(line.translate(table) if line[:1] in b"I\r{(n\x1b" else line for line in block.split(b"\n"))
