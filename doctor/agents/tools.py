"""The tools of the MCP server: each is one command of the doctor, with its paths confined and its answer bounded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import Field
from typing_extensions import TypedDict

from doctor.agents import answers, child, runs
from doctor.agents.roots import OutsideError, Roots
from doctor.base.redact import redact_text

#: what an id or a name of a problem looks like; it never begins like an option
PROBLEM = r"^[A-Za-z][A-Za-z0-9_/-]{1,79}$"
#: exit codes of a command that came to its end: nothing found, found
_ANSWERED = (0, 1)
#: longest time of one command, where the server was started without another
TIME_LIMIT_S = 600.0


class Answer(TypedDict):
    """What every tool answers with, beside its text."""

    schema: str
    tool: str
    exit: int
    complete: bool
    data: Any


Result = Annotated[CallToolResult, Answer]
Command = Annotated[str, Field(description="The launch command as typed in a shell, such as `accelerate launch x.py`.")]
Problem = Annotated[str, Field(pattern=PROBLEM, description="Id (TRL2205) or name of a problem.")]
Paths = Annotated[list[str], Field(min_length=1, max_length=50)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]


@dataclass(frozen=True)
class Tools:
    """The tools, over the folders that they may read.

    Args:
        roots: folders that paths are confined to; commands run in the first.
        limit_s: longest time of one command.

    """

    roots: Roots
    limit_s: float = TIME_LIMIT_S
    #: commands at a time: the machine may be training
    at_once: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(2))

    async def check(
        self,
        context: Context[Any, Any],
        command: Command = "",
        python: Annotated[str, Field(description="Interpreter or virtual environment that will train.")] = "",
    ) -> Result:
        """Find what will go wrong before a training is launched: machine, packages, and the command's settings.

        The command is read, never run; the interpreter is asked for its packages in isolation.
        """
        options = ["--python", self._program(python)] if python else []
        words = self._words(command)
        return await self._report(context, "check", ["check", *options], words)

    async def postmortem(
        self,
        context: Context[Any, Any],
        paths: Annotated[Paths, Field(description="Logs, folders of logs, or a run folder of `doctor run`.")],
        surroundings: Annotated[
            list[str], Field(max_length=20, description="Configurations or saved facts of the run, if at hand.")
        ] = [],  # noqa: B006 - never changed; a default of None would make the schema say null
    ) -> Result:
        """Say why a run failed or went wrong, from its logs: first cause, rank, evidence, what to change."""
        found = [self._tree(each) for each in paths]
        options = [word for each in surroundings for word in ("--context", str(self._path(each)))]
        if len(found) == 1 and (found[0] / "run.json").is_file():
            options += ["--run", str(found.pop())]
        return await self._report(context, "postmortem", ["postmortem", *options], [str(each) for each in found])

    async def report(
        self, context: Context[Any, Any], path: Annotated[str, Field(description="A run folder, or a CSV of GPU use.")]
    ) -> Result:
        """Say where the GPU hours of a run went: phases, idle time, stragglers."""
        return await self._report(context, "report", ["report"], [str(self._tree(path))])

    async def explain(self, context: Context[Any, Any], problem: Problem) -> Result:
        """Give the manual of a problem: what it means, what it does to a run, what to do, how it is found."""
        done = await self._run(context, ["explain", "--lang", "en", "--format", "json", problem])
        data = _json(done)
        sections = "".join(f"\n## {name}\n\n{text}\n" for name, text in data["sections"].items())
        head = f"# {data['id']} {data['name']}\n\n{data['title']}. Severity: {data['severity']}.\n"
        return _told(head + sections, answers.answer("explain", done.code, data))

    async def plan(  # noqa: PLR0917 - each is an option of the command, given by name
        self,
        context: Context[Any, Any],
        model: Annotated[str, Field(description="A size such as 7B, a folder with config.json, or a hub name.")] = "",
        command: Command = "",
        gpus: Annotated[str, Field(pattern=r"^[A-Za-z0-9._ -]*$", description="GPUs of a node: 8xH100, 4x80GiB.")] = "",
        nodes: Count = 1,
        batch: Count | None = None,
        generations: Count | None = None,
        prompt_length: Count | None = None,
        completion_length: Count | None = None,
        lora: Annotated[Count | None, Field(description="Rank of a LoRA adapter.")] = None,
    ) -> Result:
        """Size a GRPO run before a GPU is used: memory of each GPU, whether it fits, what to change first."""
        if bool(model) == bool(command):
            msg = "give either `model` or `command`"
            raise ToolError(msg)
        numbers = {
            "nodes": nodes, "batch": batch, "generations": generations, "prompt-length": prompt_length,
            "completion-length": completion_length, "lora": lora,
        }  # fmt: skip
        options = [f"--{name}={value}" for name, value in numbers.items() if value is not None]
        options += [f"--gpus={gpus}"] if gpus else []
        words = ["--", *self._words(command)] if command else [self._model(model)]
        asked = ["plan", "--lang", "en", *options]
        data = await self._run(context, [*asked, "--format", "json", *words])
        drawn = await self._run(context, [*asked, *words])
        return _told(drawn.out, answers.answer("plan", data.code, _json(data)))

    async def diff(
        self,
        context: Context[Any, Any],
        before: Annotated[str, Field(description="A facts file (`doctor check --save-facts`) or a pasted report.")],
        after: Annotated[str, Field(description="The other one; this machine now where it is not given.")] = "",
    ) -> Result:
        """Say what changed between two environments, or between a saved one and this machine."""
        files = [str(self._path(each)) for each in (before, after) if each]
        done = await self._run(context, ["diff", "--lang", "en", "--format", "json", *files])
        data = answers.answer("diff", done.code, _json(done))
        lines = [f"{each['fact']} {each['path']}: {each['before']} -> {each['after']}" for each in _json(done)]
        return _told("\n".join(lines) or "No differences.", data)

    async def runs(self) -> Result:
        """List the newest runs below the working directory: command, state, exit code, duration, what stopped them."""
        found = list(runs.folders(self.roots))
        states = [runs.state_of(each, self.roots) for each in found[: runs.MOST]]
        lines = [f"{each['path']}: {each['state']}, exit {each['exit']}" for each in states]
        text = "\n".join(lines) or "There are no runs of `doctor run` below the working directory."
        return _told(text, answers.answer("runs", 0, {"runs": states, "in_all": len(found)}))

    async def fix_plan(self, context: Context[Any, Any], problem: Problem, command: Command = "") -> Result:
        """Show how a problem would be fixed here, as a diff and a safety grade. Nothing is changed."""
        return await self._fix(context, "fix_plan", [problem], command)

    async def fix_apply(self, context: Context[Any, Any], problem: Problem, command: Command = "") -> Result:
        """Carry out the plan of a problem where it is graded safe, then check again. It can be undone.

        Plans that install something or change what is computed are refused: a person carries them out.
        """
        return await self._fix(context, "fix_apply", ["--apply", problem], command)

    async def _fix(self, context: Context[Any, Any], tool: str, arguments: Sequence[str], command: str) -> Result:
        words = self._words(command)
        inside = [word for each in self.roots.folders for word in ("--within", str(each))]
        asked = ["fix", "--lang", "en", *inside, *arguments]
        done = await self._run(context, [*asked, *(["--", *words] if words else [])])
        return _told(done.out, answers.answer(tool, done.code, {"text": answers.bounded_text(done.out)}))

    async def _report(
        self, context: Context[Any, Any], tool: str, arguments: Sequence[str], words: Sequence[str]
    ) -> CallToolResult:
        """A command that answers with a brief report."""
        form = ["--lang", "en", "--format", "json", "--brief"]
        done = await self._run(context, [*arguments, *form, *(["--", *words] if words else [])])
        text, data = answers.of_report(tool, done.code, _json(done), self.roots)
        return _told(text, data)

    async def _run(self, context: Context[Any, Any], arguments: Sequence[str]) -> child.Done:
        """Run a command, and give its output.

        Raises:
            ToolError: it was refused, failed, or was not done in time.

        """

        async def tell(seconds: float, word: str) -> None:
            said = answers.bounded_text(word)[:200] or f"`doctor {arguments[0]}` is at work"
            await context.report_progress(round(seconds, 1), None, said)

        try:
            async with self.at_once:
                done = await child.run(arguments, self.roots.first, self.limit_s, tell)
        except child.ChildError as exc:
            raise ToolError(str(exc)) from None
        if done.code not in _ANSWERED:
            raise ToolError(answers.bounded_text(done.err or done.out)[:2000] or f"it ended with code {done.code}")
        return done

    def _path(self, named: str) -> Path:
        try:
            return self.roots.path(named)
        except OutsideError as exc:
            raise ToolError(str(exc)) from None

    def _tree(self, named: str) -> Path:
        try:
            return self.roots.tree(named)
        except OutsideError as exc:
            raise ToolError(str(exc)) from None

    def _program(self, named: str) -> str:
        try:
            return self.roots.program(named)
        except OutsideError as exc:
            raise ToolError(str(exc)) from None

    def _words(self, command: str) -> tuple[str, ...]:
        try:
            return self.roots.words(command)
        except OutsideError as exc:
            raise ToolError(str(exc)) from None

    def _model(self, named: str) -> str:
        """A model's folder, inside; or a size or a name, which is no path here."""
        here = self.roots.first / named
        if named.startswith("-"):
            msg = f"`{redact_text(named)}` is no model"
            raise ToolError(msg)
        return str(self._path(named)) if here.exists() or named.startswith(("/", ".", "~")) else named


def _json(done: child.Done) -> Any:
    try:
        return json.loads(done.out)
    except ValueError:
        raise ToolError(answers.bounded_text(done.err)[:2000] or "the doctor returned no JSON") from None


def _told(text: str, data: dict[str, Any]) -> CallToolResult:
    shown = answers.bounded_text(text)
    return CallToolResult(content=[TextContent(type="text", text=shown)], structured_content=data)
