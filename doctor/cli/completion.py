"""`doctor completion`: what a shell needs to complete the doctor's commands and options."""

from __future__ import annotations

import click

#: names under which the doctor is installed; both read click's variable of the first
_NAMES, _VARIABLE = ("doctor", "grpo-doctor"), "_DOCTOR_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> int:
    """Print completions for a shell; its start-up file evaluates them.

    \b
    bash   eval "$(doctor completion bash)" in ~/.bashrc
    zsh    eval "$(doctor completion zsh)" in ~/.zshrc, after compinit
    fish   doctor completion fish > ~/.config/fish/completions/doctor.fish
    """
    from click.shell_completion import get_completion_class

    from doctor.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click's own three, for the type checker
    for name in _NAMES:
        # filled in here: click's `source` would first ask bash for its version, in a process of its own
        completion = kind(app, {}, name, _VARIABLE)
        click.echo(completion.source_template % completion.source_vars())
    return 0
