"""Why a problem cannot be seen at a time, by the word that its TOML says: a closed list.

A reason is true of a class of problems. It forbids a detector; that nobody has written one is no reason.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "values": "it depends on rows, texts or tensors that only the run creates",
    "code": "what the code does with its objects is visible only when it runs",
    "parts": "it depends on how the parts of a library, a model or a checkpoint are built",
    "device": "only a call of the device, its driver or a compiler shows it",
    "event": "a process, a machine or a service fails during the run",
    "installing": "it happens while an environment is created, before there is a command",
    "elsewhere": "a scheduler, a container runtime or another machine decides it",
    "requests": "requests reach a server after it has started",
    "words": "it covers whatever a library or a program reports about itself",
    "witness": "the trained weights must be compared with the engine's while both exist",
    "silent": "it prints nothing and leaves no figure",
    "others_words": "its failure prints the messages of other problems and is reported under them",
    "probe": "only a probe of the machine shows it",
    "ended": "it is judged when the log has ended",
    "no_other_run": "it needs a comparison with another run",
    "other_problem": "its consequences belong to another problem",
}  # fmt: skip
#: detectors beside checks, rules and signatures, by the word that a TOML says under `seen`
DETECTORS = ("rehearsal", "witness", "capsule", "comparison", "exception", "probe")
