"""`doctor mcp`: the doctor as a server for coding agents."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import click


@click.command()
@click.option(
    "--root", "folders", multiple=True, metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that paths may be in; commands run in the first one.  [default: the working directory]",
)  # fmt: skip
@click.option("--allow-apply", is_flag=True, help="Offer a tool that carries out plans graded safe.")
@click.option(
    "--time-limit", metavar="SECONDS", type=click.FloatRange(min=1), default=600.0, show_default=True,
    help="Time limit of one call.",
)  # fmt: skip
def command(folders: tuple[Path, ...], *, allow_apply: bool, time_limit: float) -> int:
    """Serve checks, post-mortems, manuals, plans and runs to a coding agent, by MCP over standard input and output.

    Paths outside the roots are refused, answers are bounded and redacted, and nothing is changed without
    --allow-apply. `doctor agents --mcp` prints what to put into a client's settings.

    \b
    claude mcp add doctor -- doctor mcp
    codex mcp add doctor -- doctor mcp --root /data/runs --root .
    """
    if find_spec("mcp") is None or find_spec("mcp.server.mcpserver") is None:
        pip = f"{shlex.quote(sys.executable)} -m pip install 'mcp>=2'"
        msg = f"`doctor mcp` needs the package mcp, version 2 or newer: {pip}"
        raise click.UsageError(msg)
    from doctor.agents.server import build

    build(list(folders) or [Path.cwd()], allow_apply=allow_apply, limit_s=time_limit).run("stdio")
    return 0
