"""`doctor agents`: the skill that tells coding agents how to use the doctor."""

from __future__ import annotations

from pathlib import Path

import click

from doctor.cli import options


@click.command()
@click.option("--install", is_flag=True, help="Write the skill into this project: .agents/skills and .claude/skills.")
@click.option("--user", is_flag=True, help="With --install: for all projects, below the home folder.")
@click.option("--rules", is_flag=True, help="Print a section for AGENTS.md or CLAUDE.md instead.")
@click.option("--mcp", "settings", is_flag=True, help="Print the settings of the MCP server instead, as JSON.")
def command(*, install: bool, user: bool, rules: bool, settings: bool) -> int:
    """Print the skill for coding agents (Claude Code, Codex, Cursor and others), or install it.

    \b
    doctor agents --install             this project
    doctor agents --install --user      all projects of this user
    doctor agents --rules >> AGENTS.md  for agents that read neither skills nor MCP
    doctor agents --mcp > .mcp.json     the server, see `doctor mcp`
    """
    from doctor.agents import guidance

    if install + rules + settings > 1:
        raise click.UsageError("--install, --rules and --mcp exclude each other")
    if user and not install:
        raise click.UsageError("--user needs --install")
    if not install:
        click.echo(guidance.rules() if rules else guidance.settings() if settings else guidance.skill(), nl=settings)
        return 0
    top = Path.home() if user else Path.cwd()
    try:
        written = guidance.install(top)
    except guidance.NotOursError as exc:
        raise click.UsageError(f"`{exc}` is another file and is not overwritten") from None
    except OSError as exc:
        raise click.UsageError(f"cannot write `{exc.filename}`: {exc.strerror}") from None
    for each in written:
        options.notice(f"written to {each}")
    return 0
