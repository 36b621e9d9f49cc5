"""Start-up hook that `doctor run` puts first on PYTHONPATH; every Python of the command runs it.

It waits for the modules below to be imported and hands them to `doctor.monitors.inject.attach`; until then it imports
nothing. What goes wrong here is written beside it and changes nothing for the program. It stands in the way of another
sitecustomize, which it therefore runs last, as if it were not there itself.

Programs of any age run it: syntax of Python 2.7, and older ones than 3.9 get no guard.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)

#: modules that tell a training process
_AWAITED = (
    "transformers.trainer", "deepspeed", "verl.trainer.ppo.ray_trainer", "verl.trainer.ppo.v1.trainer_base",
    "openrlhf.trainer.ppo_utils.experience_maker", "openrlhf.trainer.ppo_utils.samples_generator",
    "openrlhf.trainer.ppo_trainer", "torch.optim.optimizer", "vllm.v1.worker.gpu_model_runner",
    "vllm.v1.worker.cpu_model_runner", "sglang.srt.model_executor.model_runner",
)  # fmt: skip
#: modules in which the capsule sees exceptions; threads and workers, Ray's tasks
_OF_CAPSULE = (
    "threading", "logging", "multiprocessing.util", "multiprocessing.pool", "concurrent.futures.process", "torch",
    "torch._utils", "ray.exceptions", "http.server", "uvicorn.server",
)  # fmt: skip


class _Awaiting(object):
    """A finder that finds nothing itself: it lets the others find an awaited module and looks on as it is loaded."""

    def __init__(self):
        self.names = set(_AWAITED + _OF_CAPSULE)

    def find_spec(self, name, path=None, target=None):
        if name not in self.names:
            return None
        self.names.discard(name)
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self._look_on(spec.loader, name)
                return spec
        self.names.add(name)
        return None

    def _look_on(self, loader, name):
        """Be told when the loader has run the module; a loader that takes no attribute is left alone."""

        def run_and_tell(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            try:
                original(module)
            except BaseException:
                self.names.add(name)  # the program may try again
                raise
            _attach(name, module)

        if isinstance(loader, type):  # of what is frozen into Python: shared by all such modules
            return
        try:
            original = loader.exec_module
            loader.exec_module = run_and_tell
        except (AttributeError, TypeError):
            if name not in _OF_CAPSULE:
                _note("the loader of `%s` allows no hook" % name)


class _OwnFolder(object):
    """Finds our package where nobody else has one of that name: behind all others, also those of editable installs.

    It is not on the path: nobody else's import waits for its disk, or fails over it.
    """

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "doctor" or path is not None:
            return None
        from importlib.machinery import PathFinder

        try:
            return PathFinder.find_spec(name, [self.folder], target)
        except OSError:
            return None


class _Nothing(object):
    """Stands for the archive of this hook, of which Python has read all that it asks for."""

    def find_spec(self, name, target=None):  # noqa: ARG002 - as finders have it
        return None

    def invalidate_caches(self):
        """The archive is not read again: its disk may hang."""


def _name_taken():
    """Where the program has a `doctor` of its own; None where it has none. It is not run for our sake.

    A folder of that name without code is none; ours is then taken from beside this file, for the path hides it.
    """
    loaded = sys.modules.get("doctor")
    if loaded is not None:
        return None if _is_ours(getattr(loaded, "__path__", ())) else getattr(loaded, "__file__", None) or "doctor"
    for finder in list(sys.meta_path):
        find = None if isinstance(finder, (_OwnFolder, _Awaiting)) else getattr(finder, "find_spec", None)
        spec = None if find is None else find("doctor", None)
        if spec is None:
            continue
        folders = spec.submodule_search_locations
        if folders is not None and _is_ours(folders):
            return None
        if folders is None or spec.has_location or any(map(_holds_code, folders)):
            return spec.origin or next(iter(folders))
        _take_own()
    return None


def _is_ours(folders):
    return any(os.path.isfile(os.path.join(each, "monitors", "inject", "attach.py")) for each in folders)


def _holds_code(folder):
    """Whether modules lie in a folder, or one below it."""
    names = os.listdir(folder)[:200]
    below = [os.path.join(folder, each) for each in names if "." not in each]
    inner = [name for each in below if os.path.isdir(each) for name in os.listdir(each)[:200]]
    return any(each.endswith((".py", ".so")) for each in names + inner)


def _take_own():
    from importlib.util import module_from_spec

    spec = _OwnFolder(os.path.join(_ROOT, "lib")).find_spec("doctor")
    if spec is not None and spec.loader is not None:
        module = sys.modules["doctor"] = module_from_spec(spec)
        spec.loader.exec_module(module)


def _may_import():
    """Whether our package can be imported here; where its name is the program's, that is told once a process."""
    try:
        place = _name_taken()
    except Exception:
        return True
    marker = os.path.join(_ROOT, "taken-%d" % os.getpid())
    if place is not None and not os.path.exists(marker):
        try:
            with open(marker, "w") as file:
                file.write(str(place))
        except Exception:
            pass
    return place is None


def _attach(name, module):
    try:
        if not _may_import():
            return
        if name in _OF_CAPSULE:
            hooks = sys.modules.get("doctor.monitors.capsule.hooks")
            if hooks is not None:
                hooks.attach(name, module)
        rehearsal = sys.modules.get("doctor.monitors.rehearse.attach")
        if rehearsal is not None:
            rehearsal.attach(name, module)
        if name not in _AWAITED:
            return
        from doctor.monitors.inject import attach

        attach.attach(name, module)
    except Exception:
        import traceback

        _note(traceback.format_exc())


def _note(text):
    """Say what went wrong in a file of this process; the launcher reads it when the command has ended."""
    try:
        with open(os.path.join(_ROOT, "failed-%d" % os.getpid()), "a") as file:
            file.write(text)
    except Exception:
        pass


def _start():
    if sys.version_info < (3, 9):
        return
    sys.meta_path.append(_OwnFolder(os.path.join(_ROOT, "lib")))
    sys.path_importer_cache[_HERE] = _Nothing()
    os.environ.setdefault("DOCTOR_RUN_DIR", os.path.dirname(_ROOT))
    awaiting = _Awaiting()
    sys.meta_path.insert(0, awaiting)
    _watch_failures()
    if os.environ.get("DOCTOR_REHEARSAL"):
        from doctor.monitors.rehearse import attach

        awaiting.names.update(attach.AWAITED)
        attach.begin()
    marker = os.path.join(_ROOT, "loaded")
    if not os.path.exists(marker):
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY, 0o644))


def _watch_failures():
    """Read that one module by its file: the packages around it cost every Python of the command more than it does."""
    name = "doctor.monitors.capsule.hooks"
    path = os.path.join(_ROOT, "lib", *name.split(".")) + ".py"
    if not os.path.exists(path):
        return
    try:
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            return
        hooks = module_from_spec(spec)
        sys.modules[name] = hooks
        spec.loader.exec_module(hooks)
        vars(hooks)["may_import"] = _may_import
        hooks.install()
    except Exception:  # without a capsule the guard does as before
        pass


def _shadowed():
    """Folders of the path in which another sitecustomize may lie."""
    return [each for each in sys.path if os.path.abspath(each or os.curdir) != _HERE]


def _run_shadowed():
    """Run the sitecustomize that Python would have run without this one; what it raises is raised, as without it."""
    if sys.version_info[0] == 2:
        import imp

        try:
            found = imp.find_module("sitecustomize", _shadowed())
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", _shadowed())
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _start()
except Exception:
    _note("the start-up hook failed")
_run_shadowed()
