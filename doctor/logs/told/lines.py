"""What a single line tells: dumps of arguments, variables, banners, sizes, commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.base.redact import hide
from doctor.facts.environment import NAMES, PREFIXES
from doctor.logs.told.said import Said, members, value_of

#: one of these is in every line that `of_line` or `doctor.logs.told.blocks` reads something from; words that hardly
#: any line holds without telling something, for each line with one is taken apart
HINTS = (
    "with config: ", "non-default args: {", "args: Namespace(", "ServerArgs(", " set by environment to ",
    "Arguments(", "Config(", "accelerate launch ", "torchrun ", "vllm serve ", "deepspeed --", "swift rlhf",
    "swift sft", "trl grpo", "trl sft", "trl vllm-serve", "vllm.entrypoints", "verl.trainer", "export ",
    "Num GPUs = ", "Batch size per device = ", "batch size per device = ", "Accumulation steps = ",
    "accumulation steps = ", "change the batch size of", "total capacity of", "NVIDIA-SMI", "CUDA Version:",
    "NNODES", "MASTER_ADDR", "_proxy", "_PROXY", "_IFNAME", "NCCL_", "VLLM_", "CUDA_VISIBLE_DEVICES",
    "PYTORCH_CUDA_ALLOC_CONF",
    "actor_rollout_ref", "with overrides: [", "json = {", "SLURM_", "Package  ", "compute_environment",
    "#SBATCH", "init_process_group", "init_method", ".py --", "docker run", "podman run", "mpirun", "mpiexec",
    "per_device_train_batch_size", "gradient_checkpointing",
)  # fmt: skip

#: settings of a training on which advice depends, as every framework on Transformers calls them
ARGUMENTS = frozenset({
    "per_device_train_batch_size", "gradient_checkpointing", "gradient_accumulation_steps", "max_completion_length",
    "vllm_gpu_memory_utilization", "vllm_enable_sleep_mode",
})  # fmt: skip
#: of an object with fewer of them, or a line with fewer assignments, nobody says that it is the run's configuration
_FEWEST, _FEWEST_ASSIGNED = 2, 3
_PAIR = later(r"(?<![\w.\-])-{0,2}(?P<name>[a-z]\w{1,60})=(?P<value>[\w.+\-/]{1,80})(?=[,;\s)]|$)")

_ENGINE = "with config: "
_OVERRIDES = "Error executing job with overrides: "
_OVERRIDE = later(r"\+{0,2}(?P<name>[A-Za-z_][\w.]{1,120})=(?P<value>.{0,400})\Z")
#: engine's names for arguments of the server
_ENGINE_NAMES = {"max_seq_len": "max_model_len", "quantization_config": "", "tokenizer_mode": "tokenizer_mode"}
_DUMPS = (("non-default args: ", "vllm"), ("args: ", "vllm"), ("server_args=", "sglang"))
#: NCCL's word for each of its variables that it reads (https://github.com/NVIDIA/nccl/blob/master/src/misc/param.cc)
_READ = later(r"\b(?P<name>NCCL_[A-Z0-9_]{2,60}) set by environment to (?P<value>[^\s]{1,200}?)\.?$")
_ASSIGNED = later(r"(?P<name>[A-Za-z_][A-Za-z0-9_]{2,60})=(?P<value>'[^']*'|\"[^\"]*\"|[^\s;'\"]*)")
_BEFORE = later(
    r"^\s*(?:(?:\([\w.\-]{1,40}\) ?)?[\w.\-]{1,40}@[\w.\-]{1,60}[: ][^\s$#]{0,200}[$#] )?"
    r"(?:[$#>+]{1,3} |- |env |export |declare -x |set |\[cmd\] ?|ENV |command: )*"
)
#: programs that hand variables on to what they start, and how
#: https://docs.docker.com/reference/cli/docker/container/run/#env, https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html
_HANDS_ON = later(
    r"^(?:sudo )?(?:\S{0,80}/)?(?:docker|podman|nerdctl) (?:container )?run\s|^(?:\S{0,80}/)?(?:mpirun|mpiexec)\s"
)
_HANDED = later(
    r"\s(?:-e|--env|-x)[ =](?P<quote>['\"]?)(?P<name>[A-Za-z_][A-Za-z0-9_]{2,60})="
    r"(?P<value>'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]*)(?P=quote)(?=\s|\Z)"
)
_ENTRY = later(r"['\"](?P<name>[A-Z][A-Z0-9_]{3,60})['\"] ?: ?['\"](?P<value>[^'\"\n]{0,200})['\"]")
_LISTED = later(r"^\s*(?:- )?(?P<name>[A-Z][A-Z0-9_]{3,60}):\s+['\"]?(?P<value>[^'\"\s]{1,200})['\"]?\s*$")
_STARTS = later(
    r"^(?:\S*/)?(?:accelerate launch|torchrun|deepspeed|vllm serve|trl [\w-]+|swift [\w-]+|"
    r"python[\d.]* -m (?:accelerate\.commands\.launch|torch\.distributed\.\w+|vllm\.entrypoints\.[\w.]+|"
    r"verl\.trainer\.\w+|trl\.scripts\.\w+|swift\.cli\.\w+)|python[\d.]*(?: -[uBO])* [\w./\-]{1,200}\.py(?= --))"
    r"(?=\s|\Z)"
)
_LAUNCH_WORDS = ("accelerate launch ", "torchrun ", "deepspeed ", "vllm serve ", "trl ", "swift ", " -m ", ".py --")
#: https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/trainer.py (`_inner_training_loop`) and
#: https://github.com/unslothai/unsloth/blob/main/unsloth/models/llama.py (`_fast_inner_training_loop`)
_BANNERS = (
    (
        later(r"\b(?:Instantaneous batch|[Bb]atch) size per device = (?P<value>\d{1,6})\b"),
        "per_device_train_batch_size",
    ),
    (later(r"\bGradient [Aa]ccumulation steps = (?P<value>\d{1,6})\b"), "gradient_accumulation_steps"),
)
#: https://github.com/unslothai/unsloth/blob/main/unsloth/models/rl.py
_CHANGED = later(r"change the batch size of (?P<old>\d{1,6}) to the `num_generations` of (?P<new>\d{1,6})")
_MOST_ARGUMENTS = 400
#: in launch scripts, and for ms-swift: how many machines there are
NODES = "NNODES"
#: https://slurm.schedmd.com/sbatch.html#OPT_nodes, and where `init_process_group` lets the ranks meet
_SBATCH = later(r"^\s*#SBATCH\s+(?:--nodes|-N)[= ]?\s*(?P<nodes>\d{1,5})\s*(?:#|$)")
_MEETING = later(
    r"\binit_(?:process_group|method)\b[^\n]{0,80}?tcp://(?P<host>[A-Za-z][\w.-]{1,80}|\d{1,3}(?:\.\d{1,3}){3}|\[::1\]):"
)
#: what stands for words that are left out
_ELIDED = frozenset({"...", "…"})
_CAPACITY = later(r"\bGPU (?P<gpu>\d{1,3}) has a total capacit\w{1,2} of (?P<size>\d+(?:\.\d+)?) (?P<unit>[MG]iB)")
_UNSLOTH = later(
    r"(?P<name>[A-Z][\w \-]{2,50}?)\. Num GPUs = (?P<count>\d{1,3})\. Max memory: (?P<size>\d+(?:\.\d+)?) GB"
)
_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


def of_line(text: str, number: int) -> Iterator[Said]:
    """What a line, without what stands in front of it, tells.

    Args:
        text: message of the line.
        number: of the line, from 1.

    """
    if not any(each in text for each in HINTS):
        return
    yield from _dumped(text, number)
    yield from _arguments(text, number)
    yield from _variables(text, number)
    yield from _sizes(text, number)
    yield from _overridden(text, number)
    yield from commands(text, number)


def of_version(name: str, version: str, number: int, text: str) -> Said:
    """What a line says of a version that it states, see `doctor.logs.lines.life.versions_in`."""
    return Said("python" if name == "python" else "package", name, version, number, text)


def _dumped(text: str, number: int) -> Iterator[Said]:
    """Arguments of an engine or a server, printed in one line."""
    if _ENGINE in text:
        for name, value in members(text.partition(_ENGINE)[2]):
            if (known := _ENGINE_NAMES.get(name, name)) and not value.startswith(("<", "{")):
                yield Said("vllm", known, _shown(known, value), number, text)
        return
    for mark, owner in _DUMPS:
        dump = text.partition(mark)[2]
        if dump.startswith(("{", "Namespace(", "ServerArgs(")):
            for name, value in members(dump):
                yield Said(owner, name, _shown(name, value), number, text)
            return


def _arguments(text: str, number: int) -> Iterator[Said]:
    """Settings of a training in an object of one line, or as assignments side by side; a sentence with one is none."""
    begins = text.find("{")
    if begins >= 0:
        found = members(text[begins:])
    else:
        found = [(each["name"], each["value"]) for each in _PAIR.finditer(text)]
        if len(found) < _FEWEST_ASSIGNED:
            return
    told = [(name, value) for name, value in found if name in ARGUMENTS]
    if begins < 0 or len(told) >= _FEWEST:
        for name, value in told:
            yield Said("training", name, value_of(value), number, text, exact=False)


def _shown(name: str, text: str) -> object:
    value = value_of(text)
    return hide(name, value) if isinstance(value, str) else value


def _overridden(text: str, number: int) -> Iterator[Said]:
    """Settings of veRL's command line, as Hydra repeats them where the job raises.

    https://github.com/facebookresearch/hydra/blob/v1.3.2/hydra/core/utils.py (`run_job`)
    """
    dump = text.partition(_OVERRIDES)[2]
    if "actor_rollout_ref." not in dump:  # other programs have sections of the same names
        return
    try:
        words = ast.literal_eval(dump[: dump.rindex("]") + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return  # cut off
    for word in words if isinstance(words, list) else ():
        if isinstance(word, str) and (match := _OVERRIDE.match(word)):
            yield Said("verl", match["name"], _shown(match["name"], match["value"]), number, text)


def _variables(text: str, number: int) -> Iterator[Said]:
    if " set by environment to " in text and (read := _READ.search(text)):
        yield Said("variable", read["name"], read["value"], number, text)
        return
    listed = _LISTED.match(text)
    for match in [listed] if listed else _ENTRY.finditer(text):
        if is_of_the_stack(match["name"]):
            yield Said("variable", match["name"], hide(match["name"], match["value"]), number, text)
    front = _BEFORE.match(text)
    if _HANDS_ON.match(text[front.end() :] if front else text):
        for match in _HANDED.finditer(text):
            if is_of_the_stack(match["name"]) and "$" not in match["value"]:
                value = match["value"].strip("'\"")
                yield Said("variable", match["name"], hide(match["name"], value), number, text)
    if asked := _SBATCH.match(text):
        yield Said("variable", NODES, asked["nodes"], number, text)
    if meeting := _MEETING.search(text):
        yield Said("variable", "MASTER_ADDR", meeting["host"].strip("[]"), number, text)
    yield from _assigned(text, number)


def _assigned(text: str, number: int) -> Iterator[Said]:
    """`NAME=value` in front of a command, or alone on a line; what a sentence says in passing is advice, no report."""
    front = _BEFORE.match(text)
    place = front.end() if front else 0
    found = []
    while match := _ASSIGNED.match(text, place):
        found.append(match)
        place = match.end()
        while text[place : place + 1] in (" ", ";"):
            place += 1
    rest = text[place:].strip(" \\")
    if (
        rest
        and not rest.startswith(("#", "&&"))
        and not _STARTS.match(rest)
        and not rest.startswith(("python", "bash"))
    ):
        return
    for match in found:
        if is_of_the_stack(match["name"]) and "$" not in match["value"]:
            value = match["value"].strip("'\"")
            yield Said("variable", match["name"], hide(match["name"], value), number, text)


def is_of_the_stack(name: str) -> bool:
    """Whether a variable is one that the stack reads."""
    return name in NAMES or name.startswith(PREFIXES) or name == NODES


def _sizes(text: str, number: int) -> Iterator[Said]:
    for pattern, name in _BANNERS:
        if match := pattern.search(text):
            yield Said("training", name, int(match["value"]), number, text)
    if match := _CHANGED.search(text):
        yield Said("training", "per_device_train_batch_size", int(match["new"]), number, text)
        yield Said("training", "num_generations", int(match["new"]), number, text)
        old, new = int(match["old"]), int(match["new"])
        yield Said("raised", "per_device_train_batch_size", (old, new, "num_generations"), number, text)
    if match := _CAPACITY.search(text):
        size = int(float(match["size"]) * _UNITS[match["unit"]])
        yield Said("gpu", f"{match['gpu']}.memory_total_bytes", size, number, text)
    if match := _UNSLOTH.search(text):
        yield Said("gpu", "0.name", match["name"], number, text)


def commands(text: str, number: int) -> Iterator[Said]:
    """A launch command that stands by itself on a line; words of a sentence are none."""
    if not any(each in text for each in _LAUNCH_WORDS):
        return
    front = _BEFORE.match(text)
    place = front.end() if front else 0
    start = place
    while match := _ASSIGNED.match(text, place):
        place = match.end()
        while text[place : place + 1] == " ":
            place += 1
    if not _STARTS.match(text[place:]):
        return
    try:
        import shlex

        words = shlex.split(text[start:].rstrip("\\ "), comments=True)
    except ValueError:
        return
    if _is_command(words) and not _ELIDED.intersection(words):
        yield Said("command", words[0], tuple(words[:_MOST_ARGUMENTS]), number, text)


def _is_command(words: list[str]) -> bool:
    """Whether the words behind the program are options, files and settings, not those of a sentence."""
    plain = [each for each in words if re.fullmatch(r"[A-Za-z][a-z]*[,.]?", each)]
    return len(plain) <= max(4, len(words) // 2)
