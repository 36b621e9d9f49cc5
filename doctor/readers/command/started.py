"""Commands that stand in a file: shell scripts, batch jobs, Makefiles and notebooks; and what containers run.

Files are read, nothing is run. What is found is understood as if it had been given itself; what is not known is said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.base.evidence import Observed, Place
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import hide, redact_text
from doctor.readers.command.argv import guess, secured
from doctor.readers.command.launchers import understand
from doctor.readers.command.wrappers import BATCH, ELSEWHERE, Unwrapped, is_assignment
from doctor.readers.script.python_source import SourceNotReadable, read_regular
from doctor.readers.script.shell import NoGrammar, Started, commands
from doctor.readers.script.shell_words import ShellScope, unknown

if TYPE_CHECKING:
    from doctor.facts.launch import Beside, Launch
    from doctor.readers.command.containers import Contained

_LIMIT_BYTES = 1 << 20
_DEEPEST = 5
_MOST_BESIDE = 8
_SLURM = ("SLURM", "SLURMD_", "SBATCH_", "PMI")
#: a script may be started by these although they are no shell's name
_NOTEBOOKS = {"jupyter": ("nbconvert", "execute", "run"), "papermill": ()}
#: of a notebook whose own cells train
_TRAINS = ".train("
#: of a script that trains, by its own calls or those of a library
_TRAINING = later(r"\btrain\w*\(|backward\(|Trainer\b|\.fit\(|\.initialize\(|\brun_\w+\(|\bmain\w*\(\w")
#: a file of data or settings that a script's code names
_OF_DATA = later(r"[\"']([\w./\-]{1,120}\.(?:jsonl?|csv|tsv|parquet|arrow|ya?ml|toml))[\"']")
#: programs of frameworks that train by their subcommand `train`
_FRAMEWORKS = frozenset({"llamafactory-cli", "lmf", "axolotl", "oumi"})
_SHEBANGS = ("bash", "sh", "zsh", "dash", "ksh")


class Opener:
    """Opens what a command leads to, at most `_DEEPEST` files deep."""

    def __init__(self, environ: Mapping[str, str], depth: int = 0) -> None:
        self.environ = environ
        self.depth = depth

    def __call__(self, state: Unwrapped) -> Launch | None:
        """The command behind `state.unread`; None where it leads nowhere that can be read."""
        words, name = state.unread, os.path.basename(state.unread[0])  # noqa: PTH119 - a word
        if self.depth >= _DEEPEST:
            return None
        if name == "sbatch":
            return self._batch(state, words)
        if name == "make":
            return self._make(state, words)
        if name in {"docker", "podman", "nerdctl"}:
            return self._container(state, words)
        if name in _NOTEBOOKS or name.endswith(".ipynb"):
            return self._notebook(state, words)
        return None if name in ELSEWHERE | BATCH else self._script(state, words)

    # --- files ---

    def _path(self, state: Unwrapped, word: str) -> str:
        return os.path.normpath(os.path.join(state.folder, word))  # noqa: PTH118

    def _script(self, state: Unwrapped, words: list[str]) -> Launch | None:
        path = self._path(state, words[0])
        if os.path.basename(path) == words[0] and not state.wrappers and not os.path.isfile(path):  # noqa: PTH113, PTH119
            found = _on_path(words[0], self.environ) if "/" not in words[0] else None
            if found is None and state.words:
                return None  # a program's name, which nobody knows
            path = found or path
        text = _text(path)
        if text is None:
            return _missing(state, words[0]) if not os.path.exists(path) and _names_file(state, words[0]) else None  # noqa: PTH110
        if state.words and not _is_shell_script(path, text):
            return None
        return self._read(state, text, path, words)

    def _batch(self, state: Unwrapped, words: list[str]) -> Launch | None:
        from doctor.readers.command import batch

        options, rest = batch.options(words[1:])
        if "wrap" in options:
            text, path, rest = options["wrap"], "--wrap", ["--wrap"]
        elif rest:
            path = self._path(state, rest[0])
            found = _text(path)
            if found is None:
                return _missing(state, rest[0]) if not os.path.exists(path) else None  # noqa: PTH110
            text, options = found, {**batch.directives(found), **options}
        else:
            return None
        state.wrappers.append("sbatch")
        if "chdir" in options:
            state.go_to(options["chdir"])
        if options.get("export", "ALL").split(",")[0] == "NONE":
            state.ignores_environment = True
        for name in batch.RESOURCES & options.keys():
            full = f"sbatch.{name}"
            state.options[full] = Observed.written(full, guess(options[name]), True, options[name])
        told = batch.variables(options, os.path.basename(path) if path != "--wrap" else "wrap")  # noqa: PTH119
        return self._read(state, text, path, rest, set_elsewhere=_SLURM, told=told)

    def _make(self, state: Unwrapped, words: list[str]) -> Launch | None:
        from doctor.readers.command import makefile

        file: str | None = None
        given: dict[str, str] = {}
        targets: list[str] = []
        rest = list(words[1:])
        while rest:
            word = rest.pop(0)
            name, joined, value = word.partition("=")
            if name in makefile.VALUES:
                value = value if joined else rest.pop(0) if rest else ""
                file = value if name in {"-f", "--file", "--makefile"} else file
                if name in {"-C", "--directory"}:
                    state.go_to(value)
            elif is_assignment(word):
                given[name] = value
            elif not word.startswith("-"):
                targets.append(word)
        names = [file] if file else list(makefile.NAMES)
        path = next((each for each in (self._path(state, name) for name in names) if _text(each) is not None), None)
        if path is None:
            return _missing(state, file) if file else None
        read = makefile.Makefile(_text(path) or "", given, self._variables(state))
        recipes = [read.recipe(each) for each in (targets or [read.first or ""])]
        if None in recipes:
            state.not_understood = (
                f"`{redact_text(os.path.basename(path))}` has no target `{(targets or [''])[0][:60]}`"  # noqa: PTH119
            )
            return None
        state.wrappers.append("make")
        lines = [each for recipe in recipes for each in recipe or ()]
        return self._chosen(
            state, [each for number, line in lines for each in self._of_recipe(state, line, path, number)]
        )

    def _of_recipe(self, state: Unwrapped, line: str, path: str, number: int) -> list[Started]:
        """Every line of a recipe is a shell of its own."""
        scope = _with_given(ShellScope(self._variables(state), [path], state.folder), state)
        try:
            return [replace(each, line=number) for each in commands(line, path, scope, _text)]
        except NoGrammar as exc:
            state.not_understood = f"`{os.path.basename(path)}` was not read: {exc}"  # noqa: PTH119
            return []

    def _container(self, state: Unwrapped, words: list[str]) -> Launch | None:
        from doctor.readers.command.containers import contained, entered

        found = contained(words)
        if isinstance(found, str):
            state.not_understood = found
            return None
        command = list(entered(found.image, found.command, found.values("entrypoint")))
        if not command:
            state.not_understood = f"`{words[0]}` starts what the image `{found.image[:80]}` starts automatically"
            return None
        volumes = found.values("volume")
        workdir = (found.values("workdir") or ["/"])[-1]
        mounted = _outside(workdir, volumes, state.folder)
        inner = Unwrapped(command, workdir)
        launch = self._again(inner, list(command), workdir)
        if launch.missing and mounted is not None:  # a script that is looked for where the volume lies here
            launch = self._again(Unwrapped(command, mounted), list(command), mounted)
            workdir = mounted
        if launch.missing and (mounted is None or launch.missing.startswith("/")):
            launch = replace(launch, missing=None, not_understood=_in_image(launch.missing))
        script = launch.script if workdir == mounted else _outside(launch.script or "", volumes, state.folder)
        if launch.script and script is None:
            launch = replace(launch, not_understood=launch.not_understood or _in_image(launch.script))
        folder = launch.folder if workdir == mounted else _outside(launch.folder, volumes, state.folder)
        folder = folder or state.folder
        launch = replace(launch, script=script, folder=folder)
        given = dict(each.partition("=")[::2] for each in found.values("env") if is_assignment(each))
        return replace(
            launch,
            wrappers=(*state.wrappers, os.path.basename(words[0]), *launch.wrappers),  # noqa: PTH119
            wrapper_options={**state.options, **_of_container(found), **launch.wrapper_options},
            environment={**_shown(given), **launch.environment},
            image=found.image,
        )

    def _notebook(self, state: Unwrapped, words: list[str]) -> Launch | None:
        from doctor.readers.script.notebook import NotebookError, cells

        word = next((each for each in words if each.endswith(".ipynb")), None)
        name = os.path.basename(words[0])  # noqa: PTH119
        if word is None or (_NOTEBOOKS.get(name) and (len(words) < 2 or words[1] not in _NOTEBOOKS[name])):
            return None
        path = self._path(state, word)
        content = _text(path, limit=16 << 20)
        if content is None:
            return _missing(state, word) if not os.path.exists(path) else None  # noqa: PTH110
        try:
            source = cells(content)
        except NotebookError as exc:
            state.not_understood = f"`{word[:80]}` is not a readable notebook: {exc}"
            return None
        started = [each for number, line in source.shell for each in self._of_recipe(state, line, path, number)]
        launch = self._chosen(state, started) if started else None
        if launch is None or not launch.trains or (launch.kind == "python" and _TRAINS in source.source):
            # `!python export.py` beside cells that train themselves is what comes afterwards
            python = understand(["python", path], state.folder)
            launch = replace(python, read_from=(Place(path),), wrappers=tuple(state.wrappers))
            if name in _NOTEBOOKS:  # whose first line names the interpreter; the kernel's may be another
                launch = replace(launch, argv=tuple(words), program=words[0])
        return launch

    # --- what a text starts ---

    def _variables(self, state: Unwrapped) -> dict[str, str]:
        inherited = {} if state.ignores_environment else {k: v for k, v in self.environ.items() if k not in state.unset}
        return {**inherited, **state.environment}

    def _read(
        self,
        state: Unwrapped,
        text: str,
        path: str,
        words: list[str],
        *,
        set_elsewhere: tuple[str, ...] = (),
        told: Mapping[str, str] | None = None,
    ) -> Launch | None:
        """The command of a script; `told`: variables that a scheduler sets, `set_elsewhere`: beginnings of others."""
        inherited = {**self._variables(state), **(told or {})}
        scope = _with_given(ShellScope(inherited, list(words), state.folder, set_elsewhere), state)
        if "sbatch" not in state.wrappers:
            state.wrappers.append("bash")
        try:
            started = commands(text, path, scope, _text)
        except NoGrammar as exc:
            state.not_understood = f"`{os.path.basename(path)}` was not read: {exc}"  # noqa: PTH119
            return None
        return self._chosen(state, started, path)

    def _chosen(self, state: Unwrapped, started: list[Started], path: str = "") -> Launch | None:
        """The command that is judged: what trains before what serves, what is certain before what is not."""
        active: tuple[str, ...] = ()
        launches = []
        for each in started:
            active = _activated(each.words, active)
            if (launch := self._one(state, each)) is not None:
                launches.append(replace(launch, argv=(*active, *launch.argv)))
        if not launches and started and started[-1].words[0] == "exit":
            return _stopped(state, started[-1])
        if not launches:
            file = os.path.basename(path or (started[0].file if started else ""))  # noqa: PTH119
            state.not_understood = (
                f"`{redact_text(file)}` was read and starts no training and no server that doctor knows"
            )
            return None
        best = min(launches, key=_rank)
        others = [each for each in launches if each is not best and each.kind != "unknown" and each.argv != best.argv]
        unclear = [*best.unclear, *(_other(each) for each in others[:4])]
        beside = tuple(map(_beside, others[:_MOST_BESIDE]))
        made = (*best.made, *_quoted_by(launches[: launches.index(best)]))
        return replace(best, unclear=tuple(dict.fromkeys(unclear)), beside=(*beside, *best.beside), made=made)

    def _one(self, state: Unwrapped, started: Started) -> Launch | None:
        if not started.words or started.stdin is not None:
            return None
        inner = Unwrapped(list(started.words), started.folder)
        launch = self._again(inner, list(started.words), None, dict(started.environment))
        starts = launch.kind != "unknown" or launch.missing or launch.misspelt or _of_framework(launch)
        if not starts:
            return None
        place = Place(started.file, started.line)
        return replace(
            launch,
            environment={**_shown(dict(started.environment)), **launch.environment},
            unset=launch.unset | frozenset(state.unset),
            wrappers=(*state.wrappers, *launch.wrappers),
            wrapper_options={**state.options, **launch.wrapper_options},
            ignores_environment=launch.ignores_environment or state.ignores_environment,
            read_from=(place, *launch.read_from),
            unclear=(*launch.unclear, *_unclear(started)),
            cut=started.cut or launch.cut,
            made=(*started.made, *launch.made),
        )

    def _again(
        self, inner: Unwrapped, words: list[str], folder: str | None, exported: Mapping[str, str] | None = None
    ) -> Launch:
        environ = {**self._variables(inner), **(exported or {})}
        return understand(words, folder or inner.folder, Opener(environ, self.depth + 1))


def _with_given(scope: ShellScope, state: Unwrapped) -> ShellScope:
    """The scope, which hands on what the command before it set (`env X=1 bash run.sh`), as long as it keeps it."""
    scope.values.update(state.environment)
    return scope


def _activated(words: tuple[str, ...], before: tuple[str, ...]) -> tuple[str, ...]:
    """`conda activate NAME`, as the words that would start a command in that environment; else what was active."""
    if len(words) < 2 or words[0] not in {"conda", "mamba", "micromamba"} or words[1] not in {"activate", "deactivate"}:
        return before
    names = [each for each in words[2:] if not each.startswith("-")]
    if words[1] == "deactivate" or not names:
        return ()
    return (words[0], "run", "-p" if "/" in names[0] else "-n", names[0])


def _rank(launch: Launch) -> tuple[int, int]:
    kind = 0 if _is_training(launch) else 1 if launch.trains else 2 if launch.serves else 3
    return (1 if any("may not" in each for each in launch.unclear) else 0, kind)


def _is_training(launch: Launch) -> bool:
    """Whether a command trains for certain: `python prepare.py` before it only prepares rows."""
    if launch.kind != "python":
        return launch.trains or _of_framework(launch)
    text = _text(launch.script) if launch.script and launch.module is None else None
    return text is None or _TRAINING.search(text) is not None


def _of_framework(launch: Launch) -> bool:
    """`llamafactory-cli train` and its kin, which are known by the names of their settings alone."""
    words = [os.path.basename(each) for each in launch.argv[:2]]  # noqa: PTH119 - a word
    return len(words) == 2 and words[0] in _FRAMEWORKS and words[1] == "train"


def _quoted_by(launches: list[Launch]) -> Iterator[str]:
    """Files of data and settings that Python scripts which run before name in their code."""
    for launch in launches:
        text = _text(launch.script) if launch.script and launch.script.endswith(".py") else None
        for name in dict.fromkeys(_OF_DATA.findall(text or "")):
            yield os.path.normpath(os.path.join(launch.folder, name))  # noqa: PTH118


def _beside(launch: Launch) -> Beside:
    from doctor.facts.launch import Beside

    return Beside(
        launch.argv, launch.kind, launch.subcommand, launch.options, launch.arguments, launch.environment,
        launch.wrappers, launch.read_from[0] if launch.read_from else None,
        not any("may not" in clause for clause in launch.unclear),
    )  # fmt: skip


def _other(launch: Launch) -> str:
    place = launch.read_from[0] if launch.read_from else None
    shown = " ".join(launch.argv[:3])[:60]
    return f"line {place.line if place else '?'} starts `{redact_text(shown)}` as well, which was not judged"


def _unclear(started: Started) -> Iterator[str]:
    """Words whose values only running the script would tell."""
    for word in started.words:
        if unknown(word):
            yield f"`{redact_text(word)[:60]}` in line {started.line} is not known before it runs"
    if not started.certain:
        yield f"line {started.line} may not be reached: it hangs on a condition"


def _shown(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: hide(name, value) for name, value in variables.items()}


def _of_container(found: Contained) -> dict[str, Observed]:
    """Options of the container, all that was given to one in one setting; variables are told elsewhere."""
    names = dict.fromkeys(name for name, _ in found.options if name not in {"env", "env-file"})
    texts = {f"docker.{name.replace('-', '_')}": " ".join(found.values(name)) for name in names}
    return {name: secured(Observed.written(name, guess(text), True, text)) for name, text in texts.items()}


def _missing(state: Unwrapped, word: str) -> Launch:
    from doctor.facts.launch import Launch

    shown = word.removeprefix("./")
    argv = (*state.wrappers, word)
    return Launch(
        argv, "unknown", word, not_understood=f"`{hide('', shown)}` does not exist", folder=state.folder, missing=shown
    )


def _stopped(state: Unwrapped, end: Started) -> Launch:
    from doctor.facts.launch import Launch, Stop

    place = Place(end.file, end.line)
    name = os.path.basename(end.file)  # noqa: PTH119
    why = f"`{redact_text(name)}` ends in line {end.line} with exit code {end.words[1]} before it starts anything"
    stop = Stop(place, end.words[1], redact_text(end.said))
    return Launch((*state.wrappers, name), "unknown", name, not_understood=why, folder=state.folder, stop=stop)


def _names_file(state: Unwrapped, word: str) -> bool:
    """Whether a word can only be a file: behind `bash`, with a folder in it or a script's ending."""
    return not state.words or "/" in word or word.endswith((".sh", ".bash", ".slurm", ".sbatch", ".job"))


def _on_path(word: str, environ: Mapping[str, str]) -> str | None:
    folders = environ.get("PATH", "").split(os.pathsep)
    return next((path for each in folders if os.path.isfile(path := os.path.join(each, word))), None)  # noqa: PTH113, PTH118


def _is_shell_script(path: str, text: str) -> bool:
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        return os.path.basename(first.split()[-1] if first.split() else "") in _SHEBANGS  # noqa: PTH119
    return path.endswith((".sh", ".bash", ".slurm", ".sbatch", ".job"))


def _text(path: str, limit: int = _LIMIT_BYTES) -> str | None:
    try:
        content = read_regular(path, limit)
    except SourceNotReadable:
        return None
    return None if b"\0" in content[:1024] else content.decode("utf-8", "replace").replace("\r\n", "\n")


def _in_image(path: str) -> str:
    return f"`{path}` is in the image and was not read"


def _outside(inside: str, volumes: list[str], folder: str) -> str | None:
    """The path of this machine behind a path of the container; None where no volume leads to it."""
    for volume in volumes:
        source, _, rest = volume.partition(":")
        target = rest.partition(":")[0].rstrip("/")
        if target and (inside == target or inside.startswith(f"{target}/")):
            return os.path.normpath(os.path.join(folder, source + inside[len(target) :]))  # noqa: PTH118
    return None
