"""What a command says to a training framework that the doctor knows by the names of its settings alone."""

from __future__ import annotations

from dataclasses import field

from doctor.base.fact import BrokenFile, Settings
from doctor.base.record import record

#: framework -> distributions that carry it
DISTRIBUTIONS = {
    "llamafactory": ("llamafactory",), "axolotl": ("axolotl",), "openrlhf": ("openrlhf",), "oumi": ("oumi",),
    "skyrl": ("skyrl", "skyrl-train"), "areal": ("areal",), "nemo_rl": ("nemo-rl",), "prime_rl": ("prime-rl",),
    "slime": ("slime",), "ms-swift": ("ms-swift",),
}  # fmt: skip


@record
class FrameworkConfig:
    """Keys dotted, each with its place: of the files that the command names, and of its options and overrides.

    `framework` is one of `DISTRIBUTIONS`; `absent` are files that it names and that do not exist.
    """

    framework: str
    settings: Settings = field(default_factory=dict)
    files: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    broken: BrokenFile | None = None

    def value(self, *keys: str) -> object:
        """The value of the first of several keys that is set, by its last part or in full; None where none is."""
        for key in keys:
            for name, setting in self.settings.items():
                if setting.known and (name == key or ("." not in key and name.rpartition(".")[2] == key)):
                    return setting.value
        return None
