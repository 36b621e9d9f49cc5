"""`sbatch`: options of the command line and of the script's `#SBATCH` lines (https://slurm.schedmd.com/sbatch.html)."""

from __future__ import annotations

import shlex
from contextlib import suppress

from doctor.base.patterns import later

#: letters -> long names
_SHORT = {
    "-N": "nodes", "-n": "ntasks", "-c": "cpus_per_task", "-G": "gpus", "-D": "chdir", "-t": "time", "-p": "partition",
    "-J": "job_name", "-o": "output", "-e": "error", "-w": "nodelist", "-x": "exclude", "-A": "account", "-q": "qos",
    "-C": "constraint", "-d": "dependency", "-a": "array", "-L": "licenses", "-M": "clusters", "-b": "begin",
    "-S": "core_spec", "-k": "no_kill", "-F": "nodefile", "-m": "distribution", "-i": "input",
}  # fmt: skip
_FLAGS = frozenset({
    "--exclusive", "--requeue", "--no-requeue", "--wait", "-W", "--parsable", "--overcommit", "-O", "--hold", "-H",
    "--contiguous", "--verbose", "-v", "--quiet", "-Q", "--test-only", "--oversubscribe", "-s", "--spread-job",
    "--use-min-nodes", "--reboot", "--kill-on-invalid-dep", "--ignore-pbs", "--get-user-env", "-I",
})  # fmt: skip
#: options whose numbers the job finds in a variable
_TOLD = {
    "nodes": "SLURM_NNODES", "ntasks": "SLURM_NTASKS", "ntasks_per_node": "SLURM_NTASKS_PER_NODE",
    "cpus_per_task": "SLURM_CPUS_PER_TASK", "gpus_per_node": "SLURM_GPUS_PER_NODE", "gpus": "SLURM_GPUS",
}  # fmt: skip
#: the script itself runs on the first node, as its first task
_FIRST = {"SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
_GPUS = later(r"(?:[A-Za-z][\w.\-]*:)?(\d+)")
_GPUS_OF_GRES = later(r"(?:gres/)?gpu(?::[A-Za-z][\w.\-]*)?:(\d+)")
#: options that say what a job gets
RESOURCES = frozenset({
    "nodes", "ntasks", "ntasks_per_node", "gpus", "gpus_per_node", "gpus_per_task", "gres", "cpus_per_task", "mem",
    "time",
})  # fmt: skip


def options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options in front of the script, long names in snake case, and what follows them."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if name in _FLAGS:
            found[name.lstrip("-").replace("-", "_")] = value or "yes"
            continue
        if not word.startswith("--") and len(word) > 2 and not joined:
            name, value = word[:2], word[2:]
        elif not joined and rest:
            value = rest.pop(0)
        found[_SHORT.get(name, name.lstrip("-").replace("-", "_"))] = value
    return found, rest


def variables(given: dict[str, str], script: str) -> dict[str, str]:
    """What Slurm sets in the job by its options alone; most are set only where the option was given.

    https://slurm.schedmd.com/sbatch.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
    """
    found = {variable: given[option] for option, variable in _TOLD.items() if given.get(option, "").isdigit()}
    found |= {"SLURM_JOB_NAME": given.get("job_name", script), **_FIRST}
    if "SLURM_NNODES" in found:
        found["SLURM_JOB_NUM_NODES"] = found["SLURM_NNODES"]
    each, nodes = found.get("SLURM_NTASKS_PER_NODE"), found.get("SLURM_NNODES")
    if "SLURM_NTASKS" not in found and each and nodes:
        found["SLURM_NTASKS"] = str(int(each) * int(nodes))
    if "SLURM_NTASKS" in found:
        found["SLURM_NPROCS"] = found["SLURM_NTASKS"]
    gpus = _GPUS.fullmatch(given.get("gpus_per_node", "")) or _GPUS_OF_GRES.fullmatch(given.get("gres", ""))
    if gpus:
        found["SLURM_GPUS_ON_NODE"] = gpus[1]
    return found


def directives(text: str) -> dict[str, str]:
    """`#SBATCH` lines up to the first command; the command line's options win over them."""
    words: list[str] = []
    for line in text.splitlines():
        if line.startswith("#SBATCH"):
            with suppress(ValueError):  # an unclosed quote
                words += shlex.split(line.removeprefix("#SBATCH"), comments=True)
        elif line.strip() and not line.startswith("#"):
            break
    return options(words)[0]
