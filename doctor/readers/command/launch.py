"""Collects the fact `launch`."""

from __future__ import annotations

from doctor.base.fact import NO_COMMAND, Context, Unavailable, fact
from doctor.facts.launch import Launch


@fact(about="command")
def collect(context: Context) -> Launch:
    """Understand the launch command; nothing of it is run. A script, Makefile or notebook that it names is read.

    Raises:
        Unavailable: there is no launch command.

    """
    if not context.argv:
        raise Unavailable(NO_COMMAND)
    from doctor.readers.command.launchers import understand
    from doctor.readers.command.wrappers import Unwrapped

    def opener(state: Unwrapped) -> Launch | None:
        from doctor.readers.command.started import Opener  # the grammar of bash is loaded where a script is given

        return Opener(context.environ)(state)

    return understand(context.argv, str(context.cwd), opener)
