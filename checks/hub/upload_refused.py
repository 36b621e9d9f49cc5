"""Judges upload-refused (HUB019), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


_OWNER = re.compile(r"under (?:the|this) namespace .([\w.\-]{1,96}).")


def explain(hits: Hits) -> Finding:
    """Name the repository, or the account or organisation, where a line does."""
    repo = hits.get("repo")
    owner = hits.get("owner") or next((name for hit in hits for name in _OWNER.findall(hit.text)), "")
    if repo:
        target, target_zh = f"the repository `{repo}`", f"仓库 `{repo}`"
    elif owner:
        target, target_zh = f"repositories of `{owner}`", f"属于 `{owner}` 的仓库"
    else:
        target, target_zh = "the repository that it pushes to", "所要推送的仓库"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS, target=target,
        target_zh=target_zh,
    )  # fmt: skip
