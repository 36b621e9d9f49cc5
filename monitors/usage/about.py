"""What a run was, beside its findings: command, environment, what trained, what changed since it went well.

The facts that a reader of its page asks for, and that an agent would go and collect otherwise; redacted and bounded.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from doctor.base.entries import is_entry
from doctor.base.redact import redact, redact_text
from doctor.logs.capsules import read as capsules
from doctor.logs.capsules.held import shown
from doctor.logs.history.compared import compare
from doctor.logs.history.runs import clock, last_good, read
from doctor.run import kept
from doctor.run.folder import RunDir

#: packages whose versions are told, in this order; others by name in the saved facts
STACK = (
    "torch", "trl", "transformers", "accelerate", "deepspeed", "vllm", "peft", "datasets", "verl", "ray", "flash-attn",
    "bitsandbytes", "numpy",
)  # fmt: skip
_VARIABLES = ("CUDA_", "NCCL_", "TORCH", "PYTORCH_", "VLLM_", "HF_", "TRANSFORMERS_", "ACCELERATE_", "WANDB_", "OMP_",
              "WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_", "DEEPSPEED_", "RAY_", "TOKENIZERS_")  # fmt: skip
_FRAME = re.compile(r'File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7}), in (?P<function>[\w<>.]{1,100})')
_FOREIGN = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python3)[\\/]|^<")
#: lines above an error in which its traceback is looked for
_MOST_BEFORE = 400
_MOST_CAPSULES, _MOST_FRAMES, _MOST_CHANGES, _MOST_ROUNDS, _MOST_TEXT = 16, 6, 40, 50, 400
_LONGEST_VALUE = 120


def about(path: Path, *, past: bool = True) -> dict[str, Any]:
    """What the folder of a run tells of it; a part that it does not hold is missing.

    Args:
        path: the run folder.
        past: look for the last good run of the same script and compare with it.

    """
    run, one = RunDir(path), read(path)
    events = run.read_events()
    made = kept.read(run)
    told: dict[str, Any] = {
        **one.as_data(),
        "cwd": run.read_run().get("cwd"), "host": run.read_run().get("host"),
        "environment": _environment(path), "code": made.get("code") or {},
        "files": [{name: each.get(name) for name in ("word", "kind", "bytes", "files", "print")}
                  for each in made.get("files", ())],
        "inventory": _inventory(path), "witness": _witness(events), "capsules": list(_capsules(path)),
        "guard": _guard(events),
    }  # fmt: skip
    if past:
        told["since"] = since_good(path)
    return {name: redact(value) for name, value in told.items() if value not in (None, {}, [], "")}


def frame_of(path: Path, finding: Mapping[str, Any]) -> dict[str, Any] | None:
    """The innermost frame of the user's own code above the line of a log that a finding names; None without one."""
    where = finding.get("where", {})
    log, line = Path(str(where.get("file", ""))), where.get("line")
    if not log.is_file() or not isinstance(line, int) or not log.is_relative_to(path):
        return None
    with log.open(encoding="utf-8", errors="replace") as file:
        before = deque(islice(file, line + 1), maxlen=_MOST_BEFORE)
    lines = list(before)
    frames = [(match, lines[at + 1].strip() if at + 1 < len(lines) else "")
              for at, text in enumerate(lines)
              if (match := _FRAME.search(text)) and not is_entry(match["file"])]  # fmt: skip
    own = [each for each in frames if not _FOREIGN.search(each[0]["file"])] or frames
    if not own:
        return None
    match, code = own[-1]
    place = f"{match['file']}:{match['line']} ({match['function']})"
    return {"place": redact_text(place), "code": redact_text(code[:_MOST_TEXT])}


def own_files(run: Mapping[str, Any]) -> list[str]:
    """Files that the command names, and those of the user's own frames in what failed."""
    frames = [frame for capsule in run.get("capsules", ()) for frame in capsule.get("frames", ())]
    places = [
        *(frame["file"] for frame in frames),
        *([run["frame"]["place"].rpartition(":")[0]] if "frame" in run else []),
    ]
    named = [each["word"] for each in run.get("files", ()) if each.get("kind") == "file"]
    return list(dict.fromkeys([*named, *places]))


def since_good(path: Path) -> dict[str, Any]:
    """What changed since the last run of the same script that went well; empty where there is none."""
    good = last_good(path)
    if good is None:
        return {}
    found = compare(good, path)
    return {
        "good": found.old.name, "started": clock(found.old.started_s),
        "changes": [each.as_data() for each in found.changes[:_MOST_CHANGES]], "unknown": dict(found.unknown),
        "departed": [each.as_data() for each in found.departed[:_MOST_CHANGES]],
    }  # fmt: skip


def _environment(path: Path) -> dict[str, Any]:
    """Interpreter, versions, variables, cards, as they were found before the launch."""
    from doctor.readers.saved import NotFacts
    from doctor.readers.saved import read as read_facts

    files = sorted((path / "facts").glob("*.json"))
    try:
        states = read_facts(files[0])[0].states if files else {}
    except (NotFacts, OSError):
        return {}
    seen = {name: each.value for name, each in states.items() if each.status == "ok"}
    told: dict[str, Any] = {}
    if interpreter := seen.get("interpreter"):
        told["python"] = f"{interpreter.version} ({interpreter.executable})"
    if packages := seen.get("packages"):
        versions = {name: each.version for name, each in packages.distributions.items()}
        told["packages"] = {name: versions[name] for name in STACK if name in versions}
    if host := seen.get("host"):
        told["host"] = f"{host.hostname}, {host.os}, {host.cpus} CPUs"
    if gpus := seen.get("gpus"):
        told["gpus"] = [f"{each.index}: {each.name}" for each in gpus.gpus]
        told["driver"] = gpus.driver_version
    if variables := seen.get("environment"):
        told["variables"] = {
            name: str(value)[:_MOST_TEXT] for name, value in sorted(variables.variables.items())
            if name.startswith(_VARIABLES)
        }  # fmt: skip
    return {name: value for name, value in told.items() if value}


def _inventory(path: Path) -> dict[str, Any]:
    """What really trained, as the guard saw it in the first step; without texts of the data."""
    try:
        data = json.loads((path / "inventory.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    batch = data.get("batch")
    if isinstance(batch, dict):
        data["batch"] = {name: value for name, value in batch.items() if name != "seen"}
    return data


def _witness(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Rounds of the witness, and why it was off."""
    found: dict[str, Any] = {}
    for event in events:
        data = event["data"]
        what = data.get("witness")
        if what in ("round", "questions"):
            rounds = found.setdefault("rounds", [])
            if len(rounds) < _MOST_ROUNDS:
                rounds.append({"step": event["step"], "verdicts": data.get("verdicts"), "version": data.get("version")})
        elif what == "off":
            found["off"] = data.get("reason")
        elif what in ("end", "questions-end"):
            found["seconds"] = (found.get("seconds") or 0.0) + (data.get("spent_s") or 0.0)
    return found


def _guard(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Processes that the guard watched, and steps that they made."""
    watched = {(each["host"], each["pid"]): each["rank"] for each in events if each["kind"] == "start"}
    steps = [each["step"] for each in events if each["kind"] in {"step", "end"} and each["step"] is not None]
    return {"processes": len(watched), "last_step": max(steps, default=None)} if watched else {}


def _capsules(path: Path) -> Iterator[dict[str, Any]]:
    """What each process held when it failed: who, what was raised, and the frames of the user's own code.

    Those with such frames come first, in order of time: a launcher holds only what it says of those that it started.
    """
    for each in sorted(capsules.read([str(path)]).capsules, key=_of_capsule)[:_MOST_CAPSULES]:
        told: dict[str, Any] = {"file": str(Path(each.path).relative_to(path)), "who": each.who, "step": each.step}
        with suppress(IndexError):
            link = each.failures[-1].chain[-1]
            ran = [frame for frame in link.frames if not is_entry(frame.file)]
            mine = [frame for frame in ran if frame.own]
            # code that a library made (`<string>` of a dataclass) is no line that anybody can change
            own = [frame for frame in mine if not frame.file.startswith("<")] or mine or ran
            told |= {
                "type": link.name, "message": link.message[:_MOST_TEXT],
                "frames": [{"place": frame.place, "file": frame.file, "line": frame.line,
                            "code": frame.lines[0].strip() if frame.lines else "",
                            "values": {name: shown(fact)[:_LONGEST_VALUE]
                                       for name, fact in list(frame.values.items())[:8]}}
                           for frame in own[:_MOST_FRAMES]],
            }  # fmt: skip
        yield told


def _of_capsule(capsule: capsules.Capsule) -> tuple[bool, int]:
    """Their order: the user's own code, then the time of the failure."""
    if not capsule.failures:
        return True, 0
    last = capsule.failures[-1]
    frames = (frame for link in last.chain[-1:] for frame in link.frames)
    return not any(frame.own and not is_entry(frame.file) for frame in frames), last.t_ns
