"""Why a problem cannot be seen at a time, by the word that its TOML says: a closed list.

A reason is true of a class of problems. It forbids a detector; that nobody has written one is no reason.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "values": "it depends on rows, texts or tensors that only the run makes",
    "code": "what the code does with its objects shows only when it runs",
    "parts": "it lies in how the parts of a library, a model or a checkpoint are built",
    "device": "only the device, its driver or a compiler can tell, when it is called",
    "event": "a process, a machine or a service fails while the run goes on",
    "installing": "it happens while an environment is made, before there is a command",
    "elsewhere": "a scheduler, a container runtime or another machine decides it",
    "requests": "requests reach a server after it has started",
    "words": "it stands for whatever a library or a program says of itself",
    "witness": "the trained weights have to be compared with the engine's, while both are there",
    "silent": "it prints nothing and leaves no figure",
    "others_words": "its failure prints the words of other problems, under which it is told",
    "probe": "only a probe of the machine shows it",
    "ended": "it is judged when the log has ended",
    "no_other_run": "another run has to be laid beside it",
    "other_problem": "what follows from it belongs to another problem",
}  # fmt: skip
#: detectors beside checks, rules and signatures, by the word that a TOML says under `seen`
DETECTORS = ("rehearsal", "witness", "capsule", "comparison", "exception", "probe")
