"""An agent's fix on a real GRPO run: only where the server was started for it, only what is safe, only inside."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run
from .environments import run_doctor

anyio = pytest.importorskip("anyio")
pytest.importorskip("mcp.server.mcpserver", reason="the package mcp is not installed")

from mcp import StdioServerParameters  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

pytestmark = pytest.mark.process

SampleRun = Callable[[str], Run]
COMMAND = ("accelerate", "launch", "--config_file", "zero2.yaml", "train_grpo.py")
SAFE, UNSAFE = "TRL2205/transformers_removed", "TRL3814/groups"


def called(run: Run, calls: dict[str, tuple[str, dict[str, Any]]], *arguments: str) -> dict[str, Any]:
    """What the server answers to several calls, by their names here."""
    program = str(Path(sys.executable).with_name("doctor"))
    variables = {"PATH": os.environ["PATH"], **(run.env or {})}

    async def main() -> dict[str, Any]:
        server = StdioServerParameters(command=program, args=["mcp", *arguments], cwd=run.folder, env=variables)
        with anyio.fail_after(200):
            async with Client(stdio_client(server), mode="legacy") as client:
                return {name: await client.call_tool(tool, given) for name, (tool, given) in calls.items()}

    told: dict[str, Any] = anyio.run(main)
    return told


def test_a_safe_plan_is_shown_and_carried_out_and_no_other(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    script = run.folder / "train_grpo.py"
    before = script.read_text()
    given = {"problem": SAFE, "command": " ".join(COMMAND)}
    answers = called(run, {"shown": ("fix_plan", given)})
    assert not answers["shown"].is_error, answers["shown"].content[0].text
    assert "evaluation_strategy=" in answers["shown"].content[0].text
    assert script.read_text() == before
    calls = {"unsafe": ("fix_apply", {**given, "problem": UNSAFE}), "safe": ("fix_apply", given)}
    answers = called(run, calls, "--allow-apply")
    assert answers["unsafe"].is_error
    assert not answers["safe"].is_error, answers["safe"].content[0].text
    after = script.read_text()
    assert after == before.replace("evaluation_strategy=", "eval_strategy=")


def test_a_plan_that_leads_out_is_refused(sample_run: SampleRun, tmp_path: Path) -> None:
    run = sample_run("faulty")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = (run.folder / "train_grpo.py").read_bytes()
    options = ("--apply", "--within", str(elsewhere))
    done = run_doctor("fix", SAFE, *options, "--", *COMMAND, cwd=run.folder, env=run.env)
    assert done.returncode == 2, done.stdout
    assert "outside --within" in done.stderr
    assert (run.folder / "train_grpo.py").read_bytes() == before
