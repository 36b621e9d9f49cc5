"""Runs Python programs that share what is slow to import: nursery.py, then one JSON line a program on standard input.

A line has `argv` (the script and its arguments), `cwd`, `env` (added to ours) and `log`. The program runs in a fork of
this process, in a process group of its own, with the log as its standard output and error, as `python argv` would run
it; its process id is printed at once, its exit code when it has ended.
"""

import json
import os
import sys
from pathlib import Path

import peft  # noqa: F401
import tiny  # noqa: F401
from trl import GRPOConfig, GRPOTrainer  # noqa: F401


def become(program):
    """Run the program in this process; an exception is printed as the interpreter prints it."""
    os.setsid()
    log = os.open(program["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(program["cwd"])
    os.environ.update(program["env"])
    sys.argv = program["argv"]
    path = program["argv"][0]
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    module.__file__ = path
    try:
        exec(compile(Path(path).read_text(), path, "exec"), module.__dict__)  # noqa: S102 - it is the program
    except SystemExit:
        raise
    except BaseException as error:
        # the frame of this function is none of the program's
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def main():
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


main()
