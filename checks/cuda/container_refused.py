"""Judges container-refused-the-gpu (CUD015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_NEWER = TOML["log_newer"]
LOG_MESSAGE_SILENT = TOML["log_silent"]
LOG_MESSAGE_TOOLKIT = TOML["log_toolkit"]
LOG_MESSAGE_CGROUP = TOML["log_cgroup"]
LOG_MESSAGE_CDI = TOML["log_cdi"]
LOG_MESSAGE_DEVICE = TOML["log_device"]
LOG_MESSAGE_FILE = TOML["log_file"]
LOG_MESSAGE_TOOL = TOML["log_tool"]


#: by the position of the signature: what is said, and the command that shows or mends it
WORDS = (
    (LOG_MESSAGE_NEWER, "nvidia-smi"),
    (LOG_MESSAGE_SILENT, "nvidia-smi"),
    (LOG_MESSAGE_CGROUP, "nvidia-smi"),
    (LOG_MESSAGE_TOOLKIT, "sudo nvidia-ctk runtime configure --runtime=docker"),
    (LOG_MESSAGE_TOOLKIT, "sudo nvidia-ctk runtime configure --runtime=docker"),
    (LOG_MESSAGE_CDI, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
    (LOG_MESSAGE_DEVICE, "nvidia-smi -L"),
    (LOG_MESSAGE_FILE, "docker build --no-cache ."),
    (LOG_MESSAGE_TOOL, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
)


def explain(hits: Hits) -> Finding:
    """What the toolkit asked for in vain tells which side is at fault."""
    first = hits.first
    message, command = WORDS[first.signature]
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if first.groups.get("tool") else CONFIRMED,
        commands=(command,),
        wanted=first.groups.get("wanted") or "",
        cdi=first.groups.get("cdi") or "",
        device=first.groups.get("device") or "",
        file=first.groups.get("file") or "",
    )
