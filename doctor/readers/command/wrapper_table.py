"""Wrappers of launch commands: which of their options take a word, from their manual pages."""

from __future__ import annotations


class Wrapper:
    """A program that starts the rest of its words.

    Args:
        values: its options that take the next word.
        pairs: its options that take the next two.
        words: how many words of its own stand before the command.
        second: the word that must follow the program, as `run` in `uv run`.
        flags: its long options that take none, where all others do (srun, uv).
        keep: options worth knowing, by their letter -> name.

    """

    def __init__(
        self,
        values: frozenset[str] = frozenset(),
        pairs: frozenset[str] = frozenset(),
        words: int = 0,
        second: str | None = None,
        flags: frozenset[str] | None = None,
        keep: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.values = values
        self.pairs = pairs
        self.words = words
        self.second = second
        self.flags = flags
        self.keep = keep


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SLURM = Wrapper(
    values=_set("-n -N -c -t -p -A -J -G -w -x -D -o -e -i -C -q -L -d -r -B -a -m -M -T -S -U -b -P -k"),
    flags=_set(
        "--exclusive --pty --unbuffered --label --overlap --exact --verbose --quiet --no-kill --oversubscribe"
        " --overcommit --disable-status --immediate --contiguous --spread-job --no-allocate --preserve-env --x11"
        " --container-mount-home --no-container-mount-home --container-writable --container-remap-root"
        " --no-container-entrypoint --wait-all-nodes --no-shell --resv-ports --kill-on-bad-exit --multi-prog"
    ),
    keep=(("-n", "ntasks"), ("-N", "nodes"), ("--ntasks", "ntasks"), ("--nodes", "nodes"),
          ("--ntasks-per-node", "ntasks_per_node"), ("-w", "nodelist"), ("--nodelist", "nodelist"),
          ("-D", "chdir"), ("--chdir", "chdir"), ("--export", "export")),
)  # fmt: skip
_MPI = Wrapper(
    values=_set(
        "-n -np -c -H -host --host -hostfile --hostfile -machinefile --machinefile -x -wdir --wdir -wd -N -npernode"
        " --npernode --bind-to -bind-to --map-by -map-by --rank-by -rank-by --prefix -ppn -f -hosts --np --n"
        " -output-filename --output-filename -envlist -genvlist --report-uri --timeout --app"
    ),
    pairs=_set("--mca -mca -env -genv --gmca -gmca --pmixmca"),
    keep=(("-n", "ntasks"), ("-np", "ntasks"), ("--np", "ntasks"), ("--n", "ntasks"), ("-x", "env")),
)  # fmt: skip
_UV = Wrapper(
    second="run",
    values=_set("-p -C -P -w -i -f"),
    flags=_set(
        "--no-sync --frozen --locked --isolated --active --no-project --all-extras --no-dev --dev --only-dev --quiet"
        " --verbose --offline --no-config --no-cache --refresh --upgrade --reinstall --exact --no-editable --all-groups"
        " --no-default-groups --managed-python --no-managed-python --no-python-downloads --native-tls --all-packages"
        " --no-env-file --no-build --no-binary --no-index --no-build-isolation --no-sources --no-progress --gui-script"
        " --compile-bytecode --script --module"
    ),
    keep=(("--directory", "chdir"), ("--env-file", "env_file")),
)  # fmt: skip
_CONDA = Wrapper(
    second="run",
    values=_set("-n --name -p --prefix --cwd -e -a -r --root-prefix"),
    keep=(("--cwd", "chdir"),),
)
_PLAIN_RUN = Wrapper(second="run")
WRAPPERS: dict[str, Wrapper] = {
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "exec": Wrapper(values=_set("-a")),
    "command": Wrapper(),
    "unbuffer": Wrapper(),
    "chronic": Wrapper(),
    "catchsegv": Wrapper(),
    "prime-run": Wrapper(),
    "timeout": Wrapper(values=_set("-s -k --signal --kill-after"), words=1),
    "nice": Wrapper(values=_set("-n --adjustment")),
    "ionice": Wrapper(values=_set("-c -n --class --classdata")),
    "chrt": Wrapper(values=_set("-T -P -D"), words=1),
    "taskset": Wrapper(words=1),
    "numactl": Wrapper(
        values=_set(
            "-i -N -C -m -p -P -w --interleave --cpunodebind --physcpubind --membind --preferred --preferred-many"
            " --weighted-interleave --localcpus"
        )
    ),
    "stdbuf": Wrapper(values=_set("-i -o -e --input --output --error")),
    "time": Wrapper(values=_set("-f -o --format --output")),
    "sudo": Wrapper(values=_set("-u -g -h -p -C -D -R -T -r -t -U --user --group --host --prompt --chdir --chroot"),
                    keep=(("-D", "chdir"), ("--chdir", "chdir"))),
    "doas": Wrapper(values=_set("-u -C")),
    "srun": _SLURM,
    "salloc": _SLURM,
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "orterun": _MPI,
    "uv": _UV,
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "poetry": _PLAIN_RUN,
    "pdm": _PLAIN_RUN,
    "pipenv": _PLAIN_RUN,
    "rye": _PLAIN_RUN,
    "pixi": Wrapper(second="run", values=_set("-e --environment --manifest-path")),
    "nsys": Wrapper(second="profile", values=_set("-o -t -c -s -b -w -x -f -e -y -d -n -p")),
    "ncu": Wrapper(values=_set("-o -k -c -s --set --section --metrics --target-processes --launch-count")),
    "compute-sanitizer": Wrapper(values=_set("--tool")),
    "gdb": Wrapper(values=_set("-ex -x -iex")),
    "strace": Wrapper(values=_set("-o -e -p -s -u -E -a -b -I -O -S")),
    "py-spy": Wrapper(second="record", values=_set("-o -r -f -d -p --output --rate --format --duration")),
}  # fmt: skip
