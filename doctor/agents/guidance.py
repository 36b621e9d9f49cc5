"""What coding agents are told of the doctor, and where they look for it.

A skill is a folder with a SKILL.md (https://agentskills.io/specification). Claude Code reads `.claude/skills`
(https://code.claude.com/docs/en/skills); Codex (https://developers.openai.com/codex/skills) and Cursor
(https://cursor.com/docs/context/skills) read `.agents/skills`; each below the project or the user's home.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

from doctor.base.whole_file import write_whole

NAME = "grpo-doctor"
#: where a skill lies, below a project or a home
PLACES = (Path(".agents", "skills", NAME, "SKILL.md"), Path(".claude", "skills", NAME, "SKILL.md"))
_OURS = f"name: {NAME}\n"


class NotOursError(Exception):
    """A file that somebody else wrote lies where the skill would; the message names it."""


def skill() -> str:
    """The skill, as SKILL.md holds it."""
    return _text("SKILL.md")


def rules() -> str:
    """A section for AGENTS.md or CLAUDE.md, for agents that read neither skills nor MCP."""
    return _text("AGENTS.md")


def settings() -> str:
    """The server as JSON for `.mcp.json`, `.cursor/mcp.json` and the like; with this program's own path."""
    program = Path(sys.argv[0])
    command = str(program.absolute()) if program.name in {"doctor", NAME} else "doctor"
    return json.dumps({"mcpServers": {"doctor": {"command": command, "args": ["mcp"]}}}, indent=2)


def install(top: Path) -> list[Path]:
    """Write the skill to its places below a project or a home; gives the files that were written.

    Raises:
        NotOursError: another file lies in one of them; nothing was written.
        OSError: a place cannot be written.

    """
    places = [top / each for each in PLACES]
    for place in places:
        if place.is_symlink() or (place.exists() and _OURS not in place.read_text(encoding="utf-8", errors="replace")):
            raise NotOursError(str(place))
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, skill())
    return places


def _text(name: str) -> str:
    return files("doctor.agents").joinpath("skill").joinpath(name).read_text(encoding="utf-8")
