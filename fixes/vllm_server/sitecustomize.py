"""Start-up hook that `doctor serve` puts first on PYTHONPATH; every Python of the server runs it.

It waits for the modules that `doctor.fixes.vllm_server.hooks` names and tells it when one has been loaded; what goes
wrong is written beside it and changes nothing for the server. A sitecustomize that it shadows runs after it.
"""

import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)


class _Awaiting(object):
    """A finder that finds nothing itself: the others find an awaited module, and it looks on as that is loaded."""

    def __init__(self, hooks):
        self.hooks = hooks
        self.names = set(hooks.AWAITED)

    def find_spec(self, name, path=None, target=None):
        if name not in self.names:
            return None
        self.names.discard(name)
        spec = next((each for each in self._others(name, path, target) if each is not None), None)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            self.names.add(name)
            return spec
        original = spec.loader.exec_module

        def run_and_tell(module):
            original(module)
            try:
                self.hooks.loaded(name, module)
            except Exception:
                _note()

        try:
            spec.loader.exec_module = run_and_tell
        except (AttributeError, TypeError):
            _note()
        return spec

    def _others(self, name, path, target):
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                yield finder.find_spec(name, path, target)


def _note():
    """Leave the traceback in a file of this process; nothing is said to the server."""
    import traceback

    try:
        with open(os.path.join(_ROOT, "failed-%d" % os.getpid()), "a") as file:
            file.write(traceback.format_exc())
    except OSError:
        pass


def _start():
    sys.path.insert(0, os.path.join(_ROOT, "lib"))
    try:
        # at once: the folder that `python -m` puts first comes later, and may hold a `doctor` of its own
        from doctor.fixes.vllm_server import hooks
    finally:
        sys.path.pop(0)
    sys.meta_path.insert(0, _Awaiting(hooks))
    hooks.started(_ROOT)


def _run_shadowed():
    """Run the sitecustomize that Python would have run without this one."""
    from importlib.machinery import PathFinder

    folders = [each for each in sys.path if os.path.abspath(each or os.curdir) != _HERE]
    spec = PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _start()
except Exception:
    _note()
_run_shadowed()
