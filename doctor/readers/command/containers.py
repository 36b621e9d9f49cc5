"""`docker run` and its kin: which command the container starts, and with what.

Options that take a word are those of https://docs.docker.com/reference/cli/docker/container/run/ and
https://docs.podman.io/en/latest/markdown/podman-run.1.html.
"""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.base.record import record

PROGRAMS = frozenset({"docker", "podman", "nerdctl"})
_FLAGS = frozenset({
    "-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "-itd", "--rm", "--privileged",
    "--init", "--read-only", "-P", "--publish-all", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "-q",
    "--quiet", "--disable-content-trust", "--replace", "--tls-verify", "-dt", "-td", "-di",
})  # fmt: skip
_SHORT = {"-e": "env", "-v": "volume", "-w": "workdir", "-m": "memory", "-u": "user"}


#: vLLM's own images, of which what follows the image's name are arguments of the server
#: (https://docs.vllm.ai/en/stable/deployment/docker.html)
_OF_VLLM = later(r"(?:\S+/)?vllm/vllm-openai(?:-\w+)?(?:[:@]\S*)?")


def entered(image: str, command: tuple[str, ...], entry: list[str]) -> tuple[str, ...]:
    """What a container runs: its entry point, if that is known, in front of the command.

    vLLM's was `python3 -m vllm.entrypoints.openai.api_server`, which takes the model by `--model` alone, and is
    `vllm serve`.
    """
    if entry:
        return (*entry[-1].split(), *command)
    if _OF_VLLM.fullmatch(image) is None:
        return command
    if command and not command[0].startswith("-"):
        return ("vllm", "serve", *command)
    return ("python3", "-m", "vllm.entrypoints.openai.api_server", *command)


@record
class Contained:
    """A command that runs in a container.

    Args:
        image: as written.
        command: words behind the image; empty where the image's own command runs.
        options: long names of options with what was given to them, in order; "" for flags.

    """

    image: str
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        """Everything given to an option."""
        return [value for option, value in self.options if option == name]


def contained(words: list[str]) -> Contained | str:
    """Read `docker run ...` (`words` begin with the program), or say why nothing is started by it."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):  # docker --context NAME run
        rest = rest[2:] if "=" not in rest[0] else rest[1:]
    rest = rest[1:] if rest[:1] == ["container"] else rest
    if rest[:1] not in (["run"], ["exec"]):
        return f"`{' '.join(words[:2])}` starts no training and no server"
    runs, rest = rest[0] == "run", rest[1:]
    options: list[tuple[str, str]] = []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word, rest = rest[0], rest[1:]
        name, joined, value = word.partition("=")
        if name in _FLAGS:
            options.append((name.lstrip("-"), value))
            continue
        if not word.startswith("--") and len(word) > 2 and not joined and word[:2] in _SHORT:
            name, value, joined = word[:2], word[2:], "="
        if not joined and rest:
            value, rest = rest[0], rest[1:]
        options.append((_SHORT.get(name, name.lstrip("-")), value))
    if not rest:
        return f"`{words[0]} {'run' if runs else 'exec'}` names no image"
    return Contained(rest[0], tuple(rest[1:]), tuple(options))
