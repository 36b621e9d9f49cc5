"""What the patient's interpreter says about itself and its packages, as one line of JSON.

This file is given to other interpreters on standard input (``PY -I -S -B - REQUEST``), so it keeps to the
standard library and to syntax that 3.6 (and 2.7) reads, imports none of the user's packages and opens regular
files only. Without `site` no `.pth` file, `sitecustomize` or `usercustomize` of that environment runs: prefix and
folders are worked out here as `site` does, paths in `.pth` files are followed, and their `import` lines are read,
never run. The doctor's own interpreter runs it in-process. REQUEST is a JSON object: `first` (what a normal
start puts first on the path: the script's folder, or the working folder for `-m`), `cwd`, `environ`
(PYTHONPATH, PYTHONNOUSERSITE, PYTHONUSERBASE, HOME), `own` (in-process).
"""

import errno
import json
import os
import re
import stat
import sys

MYPY = False
if MYPY:
    from typing import Any  # noqa: F401 - in type comments, for Python 2 has no annotations

MARK = "doctor-probe:"  # begins the line of JSON, for .pth files may print before it
HEADER_BYTES = 256 * 1024  # no honest METADATA header is longer
SMALL_FILE_BYTES = 64 * 1024
NAMES_PER_FOLDER = 50000  # a data folder used as script folder must not cost seconds

MODULES = (
    "trl", "vllm", "torch", "deepspeed", "accelerate", "transformers", "peft", "datasets", "flash_attn",
    "bitsandbytes", "ray", "verl", "trinity", "xformers", "flashinfer", "wandb", "tensorboard", "tensorboardX",
    "mlflow", "trackio", "swanlab", "doctor", "pynvml", "triton", "tokenizers", "huggingface_hub", "safetensors",
    "numpy", "liger_kernel", "unsloth", "sglang", "apex", "hydra", "omegaconf", "packaging", "yaml",
    "math_verify", "latex2sympy2_extended", "swift", "llamafactory", "openrlhf", "axolotl", "oumi", "skyrl_train",
    "areal",
)  # fmt: skip

#: first line of `monitors/inject/sitecustomize.py` and `fixes/vllm_server/sitecustomize.py`
OWN_HOOK = re.compile(
    r'"""Start-up hook that `doctor (?:run|serve)` puts first on PYTHONPATH;'
    r" every Python of the (?:command|server) runs it\.$"
)

_FIELDS = {b"name": "name", b"version": "version", b"requires-dist": "requires", b"requires-python": "requires_python"}
_INITIALS = (b"N", b"V", b"R", b"n", b"v", b"r")
_VERSION_FILE = re.compile(r"(?m)^(__version__|cuda|hip)\b[^=\n]*=[ \t]*(None|'[^'\n]*'|\"[^\"\n]*\")")
_MAPPING = re.compile(r"(?m)^MAPPING\b[^=\n]*=[ \t]*(\{.*\})[ \t]*$")


def read_file(path, limit, header=False):
    # type: (str, int, bool) -> bytes | None
    """First `limit` bytes of a regular file (else None), with `header` up to the first blank line."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a FIFO must not block
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = b""
        while len(data) < limit:
            chunk = os.read(handle, min(16384, limit - len(data)))
            data += chunk
            if not chunk or (header and blank_line(data) >= 0):
                break
        return data
    finally:
        os.close(handle)


def blank_line(data):
    # type: (bytes) -> int
    """Place of the first blank line, -1 when there is none."""
    unix = data.find(b"\n\n")
    windows = data.find(b"\r\n\r\n", 0, unix if unix >= 0 else len(data))
    return unix if windows < 0 else windows


def read_text(path):
    # type: (str) -> str
    """Text of a small file, empty when it cannot be read."""
    try:
        data = read_file(path, SMALL_FILE_BYTES)
    except EnvironmentError:
        return ""
    return (data or b"").decode("utf-8", "replace")


def list_folder(path):
    # type: (str) -> list[str]
    """Names in a folder, sorted; empty when it cannot be read."""
    try:
        if hasattr(os, "scandir"):
            names = []
            with os.scandir(path) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) >= NAMES_PER_FOLDER:
                        break
        else:
            names = os.listdir(path)[:NAMES_PER_FOLDER]
    except EnvironmentError:
        return []
    return sorted(names)


def is_site(path):
    # type: (str) -> bool
    """Whether installers put packages there."""
    return os.path.basename(path) in ("site-packages", "dist-packages")


# The path ------------------------------------------------------------------------------------------------


def adopt_prefix():
    # type: () -> None
    """Set the prefix that `site` would set; with -S it is the base's, in every environment before Python 3.14."""
    folder = os.path.dirname(os.path.abspath(sys.executable or ""))
    for home in (folder, os.path.dirname(folder)):
        if os.path.isfile(os.path.join(home, "pyvenv.cfg")):
            sys.prefix = sys.exec_prefix = os.path.dirname(folder)
            return
    base = os.path.join(os.path.dirname(os.__file__), "orig-prefix.txt")  # of virtualenv before 20
    if os.path.isfile(base) and not hasattr(sys, "real_prefix"):
        setattr(sys, "real_prefix", read_text(base).strip())  # noqa: B010 - no such attribute is known


def own_site_folders(prefix):
    # type: (str) -> list[str]
    """Site folders of a prefix by CPython's rule, with those of Debian's Python 2."""
    version = "python%d.%d" % sys.version_info[:2]
    if sys.platform == "win32":
        return [prefix, os.path.join(prefix, "Lib", "site-packages")]
    folders = [os.path.join(prefix, lib, version, "site-packages") for lib in ("lib64", "lib")]
    debian = os.path.join("lib", version, "dist-packages")
    folders.extend([os.path.join(prefix, "local", debian), os.path.join(prefix, debian)])
    return folders


def site_folders():
    # type: () -> list[str]
    """Folders that `site` searches for packages and .pth files, in its order; as this interpreter's own `site` says."""
    prefixes = [sys.prefix]
    if not in_venv() or with_system_site():
        prefixes.append(getattr(sys, "real_prefix", getattr(sys, "base_prefix", sys.prefix)))
        prefixes.append(getattr(sys, "base_exec_prefix", sys.exec_prefix))
    found = []  # type: list[str]
    for prefix in prefixes:
        if sys.version_info[0] == 2 or hasattr(sys, "real_prefix"):  # there importing `site` runs it
            folders = own_site_folders(prefix)
        else:
            folders = told_site_folders(prefix)
        found.extend(each for each in folders if each not in found)
    return [each for each in found if os.path.isdir(each)]


def told_site_folders(prefix):
    # type: (str) -> list[str]
    """Site folders of a prefix as `site` tells them: distributions patch that function, Debian for one."""
    import site

    kept = sys.prefix, sys.exec_prefix
    try:
        if prefix != sys.prefix:  # Debian's tells folders of a system by whether the prefix is the base
            sys.prefix = sys.exec_prefix = prefix
        return list(site.getsitepackages([prefix]))
    finally:
        sys.prefix, sys.exec_prefix = kept


def with_system_site():
    # type: () -> bool
    """Whether a virtual environment sees the packages of the system; so it does unless told otherwise."""
    if hasattr(sys, "real_prefix"):
        return not os.path.isfile(os.path.join(os.path.dirname(os.__file__), "no-global-site-packages.txt"))
    text = read_text(os.path.join(sys.prefix, "pyvenv.cfg"))
    told = re.search(r"(?im)^[ \t]*include-system-site-packages[ \t]*=[ \t]*(\S+)", text)
    return told is None or told.group(1).lower() == "true"


def in_venv():
    # type: () -> bool
    """Whether this interpreter runs in a virtual environment."""
    return hasattr(sys, "real_prefix") or getattr(sys, "base_prefix", sys.prefix) != sys.prefix


def user_site(environ):
    # type: (dict[str, str]) -> str | None
    """Folder of `pip install --user` when a normal start would search it."""
    if environ.get("PYTHONNOUSERSITE"):
        return None
    if in_venv() and not with_system_site():
        return None
    if sys.platform in ("win32", "darwin"):
        import site

        path = site.getusersitepackages()
    else:
        home = environ.get("HOME") or os.path.expanduser("~")
        base = environ.get("PYTHONUSERBASE") or os.path.join(home, ".local")
        threads = "t" if "t" in getattr(sys, "abiflags", "") else ""
        version = "python%d.%d%s" % (sys.version_info[0], sys.version_info[1], threads)
        path = os.path.join(base, "lib", version, "site-packages")
    return path if os.path.isdir(path) else None


def pth_folders(folder):
    # type: (str) -> list[str]
    """Folders that the .pth files of a site folder add; their `import` lines are not run."""
    found = []
    for name in list_folder(folder):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        for raw in read_text(os.path.join(folder, name)).splitlines():
            line = raw.strip()
            if line and not line.startswith(("#", "import ", "import\t")):
                path = os.path.normpath(os.path.join(folder, line))
                if "\0" not in path and os.path.exists(path):
                    found.append(path)
    return found


#: `import` lines that give no module beyond what the path and the finders of editable installs give: setuptools' own
#: (namespace packages, distutils), virtualenv's patch, tools that measure or trace
_HARMLESS_LINE = re.compile(
    r"importlib\.machinery|has_mfs|_distutils_hack|SETUPTOOLS_USE_DISTUTILS|^import _virtualenv\b"
    r"|coverage\.process_startup|pytest_cov|^import sys; sys\.__plen = len\(sys\.path\)$"
)
_EDITABLE_LINE = re.compile(r"^import[ \t]+(_{0,2}[A-Za-z0-9_]*editable[A-Za-z0-9_]*)\b")


def import_lines(folder):
    # type: (str) -> list[tuple[str, str]]
    """(file, line) of the `import` lines in the .pth files of a site folder, which a normal start would run."""
    found = []  # type: list[tuple[str, str]]
    for name in list_folder(folder):
        if name.endswith(".pth") and not name.startswith("."):
            lines = read_text(os.path.join(folder, name)).splitlines()
            found.extend((name, each.strip()) for each in lines if each.startswith(("import ", "import\t")))
    return found


def start_hooks(sites, listing, archives):
    # type: (list[str], list[tuple[str, list[str]]], list[str]) -> tuple[dict[str, str], list[str]]
    """(modules that the hooks of editable installs give, what a normal start runs and nobody here can read)."""
    given = {}  # type: dict[str, str]
    unread = [each for each in archives if not is_doctors(each)]
    for folder in sites:
        for name, line in import_lines(folder):
            hook = _EDITABLE_LINE.match(line)
            modules = editable_modules(os.path.join(folder, hook.group(1) + ".py")) if hook else None
            if modules is None and not _HARMLESS_LINE.search(line):
                unread.append(os.path.join(folder, name))
            for module, path in (modules or {}).items():
                given.setdefault(module, path)
    library = os.path.dirname(os.__file__)
    for folder, names in listing:
        for name in ("sitecustomize", "usercustomize"):
            if name not in names and name + ".py" not in names:
                continue
            if os.path.realpath(folder) != os.path.realpath(library):
                unread.append(os.path.join(folder, name))
    return given, unread


def archives(searched):
    # type: (list[str]) -> list[str]
    """Files on the path, which may hold any module; the library of an embedded Python is one too."""
    own = "python%d%d.zip" % sys.version_info[:2]
    return [each for each in searched if os.path.isfile(each) and os.path.basename(each) != own]


def is_doctors(archive):
    # type: (str) -> bool
    """Whether a hook is one that the doctor lays for a run: its text, in a run's folder, beside what it brings in."""
    import zipfile

    patient, name = os.path.split(os.path.normpath(archive))
    if name not in ("hook", "site") or os.path.basename(patient) != "patient":
        return False
    try:
        held = zipfile.ZipFile(archive)
        try:
            names = sorted(held.namelist())
            own = held.read("sitecustomize.py")[:SMALL_FILE_BYTES].decode("utf-8").split("\n", 1)[0]
        finally:
            held.close()
    except (OSError, IOError, KeyError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipfile):
        return False
    return (
        names == ["sitecustomize.py", "sitecustomize.pyc"]
        and OWN_HOOK.match(own) is not None
        and os.path.isfile(os.path.join(patient, "lib", "doctor", "_carried.json"))
    )


def editable_modules(path):
    # type: (str) -> dict[str, str] | None
    """Modules of an editable install's hook -> where they lie; None where the hook is of no known kind.

    setuptools: `MAPPING` of a finder, https://github.com/pypa/setuptools/blob/main/setuptools/command/editable_wheel.py
    scikit-build-core: `install({module: file}, ...)`, https://scikit-build-core.readthedocs.io/en/latest/configuration/index.html#editable-installs
    meson-python: `install({names}, folder, ...)`, https://mesonbuild.com/meson-python/how-to-guides/editable-installs.html
    """
    import ast

    text = read_text(path)
    try:
        tree = ast.parse(text) if text else None
    except (SyntaxError, ValueError, RuntimeError, MemoryError):
        tree = None
    found = None  # type: dict[str, str] | None
    for node in tree.body if tree is not None else ():
        value = getattr(node, "value", None)
        try:
            if isinstance(node, (ast.Assign, getattr(ast, "AnnAssign", ast.Assign))):
                target = getattr(node, "target", None) or getattr(node, "targets", [None])[0]
                if getattr(target, "id", "") in ("MAPPING", "NAMESPACES") and value is not None:
                    found = found or {}
                    for module, place in ast.literal_eval(value).items():
                        found.setdefault(module, place if isinstance(place, str) else (list(place) or [path])[0])
            elif isinstance(value, ast.Call) and getattr(value.func, "id", "") == "install" and value.args:
                names = ast.literal_eval(value.args[0])
                found = found or {}
                for module in names:
                    place = names[module] if isinstance(names, dict) else path
                    is_package = os.path.basename(str(place)).startswith("__init__.")
                    found[module] = os.path.dirname(place) if is_package else str(place)
        except (ValueError, TypeError, AttributeError, IndexError, KeyError):
            return None
    return found


def isolated_path(request):
    # type: (dict[str, Any]) -> list[str]
    """List the path that -I gives; in-process, what a normal start added is taken out again."""
    path = []  # type: list[str]
    for each in sys.path:
        if each and each not in path:  # as `site` does
            path.append(each)
    if not request.get("own"):
        for folder in site_folders():
            found = [folder]
            found.extend(pth_folders(folder))
            path.extend(each for each in found if each not in path)
        return path
    added = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    added.add(os.path.abspath(os.path.dirname(sys.argv[0] if sys.argv else "")))
    added.add(os.getcwd())
    try:
        import site

        added.update(pth_folders(site.getusersitepackages()))
        added.add(site.getusersitepackages())
    except (AttributeError, ImportError):
        pass
    return [each for each in path if os.path.abspath(each) not in added]


def python_path(request):
    # type: (dict[str, Any]) -> list[str]
    """Entries of PYTHONPATH, absolute; an empty entry is the working folder."""
    text = request["environ"].get("PYTHONPATH") or ""
    entries = text.split(os.pathsep) if text else []
    return [os.path.normpath(os.path.join(request["cwd"], each)) for each in entries]


def with_user_site(path, folder):
    # type: (list[str], str) -> list[str]
    """`path` with the user's folder where `site` puts it: after a venv's packages, before the system's."""
    own = sys.prefix + os.sep if in_venv() else None
    place = len(path)
    for index, each in enumerate(path):
        if is_site(each) and not (own and each.startswith(own)):
            place = index
            break
    added = [folder]
    added.extend(pth_folders(folder))
    return path[:place] + added + path[place:]


def search_path(request, isolated, folder):
    # type: (dict[str, Any], list[str], str | None) -> list[str]
    """Folders in the order in which a normal start searches them, each once."""
    path = with_user_site(isolated, folder) if folder else isolated
    first = [request["first"]] if request.get("first") else []
    seen = set()  # type: set[str]
    unique = []
    for each in first + python_path(request) + path:
        real = os.path.realpath(each)
        if real not in seen and os.path.exists(real):
            seen.add(real)
            unique.append(each)
    return unique


# Distributions -------------------------------------------------------------------------------------------


def parse_header(data):
    # type: (bytes) -> dict[str, Any]
    """Name, version and requirements of a METADATA or PKG-INFO header."""
    end = blank_line(data)
    found = {"name": None, "version": None, "requires_python": None, "requires": []}  # type: dict[str, Any]
    for line in (data if end < 0 else data[:end]).split(b"\n"):
        if line[:1] not in _INITIALS:
            continue
        field, _, raw = line.partition(b":")
        key = _FIELDS.get(field.strip().lower())
        if key is None:
            continue
        value = raw.strip().decode("utf-8", "replace")
        if key == "requires":
            found[key].append(value)
        elif value and found[key] is None:
            found[key] = value
    return found


def egg_requires(text):
    # type: (str) -> list[str]
    """`requires.txt` of an egg-info folder as Requires-Dist lines."""
    found = []
    marker = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            extra, _, condition = line[1:-1].partition(":")
            parts = ["(%s)" % condition] if condition and extra else [condition] if condition else []
            parts += ['extra == "%s"' % extra] if extra else []
            marker = " and ".join(parts)
        elif line and not line.startswith("#"):
            found.append("%s; %s" % (line, marker) if marker else line)
    return found


def editable_source(folder, files):
    # type: (str, list[str]) -> str | None
    """Source folder of a development install, from PEP 610's direct_url.json."""
    if "direct_url.json" not in files:
        return None
    try:
        state = json.loads(read_text(os.path.join(folder, "direct_url.json")))
        if not state["dir_info"]["editable"]:
            return None
        url = state["url"]
    except (ValueError, KeyError, TypeError):
        return None
    try:
        from urllib.parse import unquote
    except ImportError:  # Python 2
        from urllib import unquote  # type: ignore[attr-defined, no-redef]
    if not hasattr(url, "startswith") or not url.startswith("file://"):
        return None
    return unquote(url[len("file://") :])


def describe(folder, name, metadata):
    # type: (str, str, str) -> dict[str, Any]
    """Contents of one metadata file; `broken` says why they cannot be trusted."""
    stem = re.sub(r"(\.dist-info|\.egg-info|-nspkg\.pth|\.egg)$", "", name)
    guess = re.split(r"-(?=\d)", stem)[0]
    what = os.path.basename(metadata)
    data = broken = None  # type: Any
    try:
        data = read_file(metadata, HEADER_BYTES, header=True)
    except EnvironmentError as exc:
        broken = "%s is missing" % what
        if exc.errno not in (errno.ENOENT, errno.ENOTDIR):
            broken = "%s cannot be read (%s)" % (what, os.strerror(exc.errno or 0))
    else:
        if data is None:
            broken = "%s is not a regular file" % what
        elif not data.strip(b"\0 \t\r\n"):
            broken = "%s is empty" % what
    found = parse_header(data or b"")
    if broken is None and found["name"] is None:
        broken = "%s names no distribution" % what
    if broken is None and found["version"] is None:
        broken = "%s states no version" % what
    if broken is not None:
        found["version"] = None
    found.update(name=found["name"] or guess, folder=folder, file=name, broken=broken, editable=None)
    return found


def dist_info(folder, name):
    # type: (str, str) -> dict[str, Any]
    """One .dist-info folder."""
    path = os.path.join(folder, name)
    found = describe(folder, name, os.path.join(path, "METADATA"))
    files = list_folder(path)
    found["editable"] = editable_source(path, files)
    if found["broken"] is None and "RECORD" not in files and "INSTALLER" in files:
        # pip and uv write RECORD last; Debian and conda may leave it out on purpose
        by_pip = read_text(os.path.join(path, "INSTALLER")).strip() in ("pip", "uv")
        found["broken"] = "RECORD is missing: the installation was cut short" if by_pip else None
    return found


def egg_info(folder, name):
    # type: (str, str) -> dict[str, Any]
    """One .egg-info file or folder, or the EGG-INFO folder of an egg."""
    path = os.path.join(folder, name)
    if not os.path.isdir(path):
        return describe(folder, name, path)
    found = describe(folder, name, os.path.join(path, "PKG-INFO"))
    if name == "EGG-INFO":
        found["file"] = os.path.basename(folder)
        if found["broken"]:
            found["name"] = os.path.basename(folder).split("-")[0]
    found["requires"] = found["requires"] or egg_requires(read_text(os.path.join(path, "requires.txt")))
    return found


def follow_links(links, found):
    # type: (list[tuple[str, str]], list[dict[str, Any]]) -> None
    """Mark what .egg-link files (setup.py develop) point to as editable, or broken when it is gone."""
    eggs = [each for each in found if each["file"].endswith(".egg-info")]
    sources = {os.path.realpath(each["folder"]): each for each in eggs}
    for folder, name in links:
        source = read_text(os.path.join(folder, name)).split("\n")[0].strip()
        target = sources.get(os.path.realpath(source)) if source else None
        if target is not None:
            target["editable"] = source
        elif not os.path.isdir(source):
            why = "%s points to `%s`, which does not exist" % (name, source)
            lost = {"name": name[: -len(".egg-link")], "folder": folder, "file": name}  # type: dict[str, Any]
            found.append(dict(parse_header(b""), **lost))
            found[-1].update(editable=source, broken=why)


def distributions(listing):
    # type: (list[tuple[str, list[str]]]) -> list[dict[str, Any]]
    """Every distribution on the path, in path order, duplicates included."""
    found = []
    links = []
    for folder, names in listing:
        for name in names:
            if name.startswith("~"):
                continue
            if name.endswith(".dist-info"):
                found.append(dist_info(folder, name))
            elif name.endswith(".egg-info") or (name == "EGG-INFO" and folder.endswith(".egg")):
                found.append(egg_info(folder, name))
            elif name.endswith(".egg-link"):
                links.append((folder, name))
    follow_links(links, found)
    return found


def leftovers(listing):
    # type: (list[tuple[str, list[str]]]) -> list[str]
    """`~name` folders: what an interrupted pip set aside."""
    sites = [(folder, names) for folder, names in listing if is_site(folder)]
    return [os.path.join(folder, name) for folder, names in sites for name in names if name.startswith("~")]


# Modules -------------------------------------------------------------------------------------------------


def module_suffixes():
    # type: () -> list[str]
    """Endings of importable files, in the order in which Python tries them."""
    try:
        import _imp

        extensions = _imp.extension_suffixes()
    except ImportError:  # Python 2
        extensions = [".so", "module.so"]
    suffixes = list(extensions)
    suffixes.extend([".py", ".pyc"])
    return suffixes


def in_folder(folder, names, module, suffixes):
    # type: (str, set[str], str, list[str]) -> tuple[str | None, str | None]
    """(file or package folder, bare folder) that a path entry offers for a module."""
    bare = None
    if module in names:
        path = os.path.join(folder, module)
        for suffix in suffixes:
            if os.path.isfile(os.path.join(path, "__init__" + suffix)):
                return path, None
        bare = path if os.path.isdir(path) else None
    for suffix in suffixes:
        if module + suffix in names and os.path.isfile(os.path.join(folder, module + suffix)):
            return os.path.join(folder, module + suffix), None
    return None, bare


def finder_mapping(listing):
    # type: (list[tuple[str, list[str]]]) -> dict[str, str]
    """Modules that setuptools' editable finders provide; Python asks them after the path."""
    found = {}  # type: dict[str, str]
    for folder, names in listing:
        for name in names:
            if not (name.startswith("__editable__") and name.endswith("_finder.py")):
                continue
            match = _MAPPING.search(read_text(os.path.join(folder, name)))
            if match:
                import ast

                try:
                    mapping = ast.literal_eval(match.group(1))
                except (ValueError, SyntaxError):
                    continue
                for module, path in mapping.items():
                    found.setdefault(module, path)
    return found


def modules(listing, hooks):
    # type: (list[tuple[str, list[str]]], dict[str, str]) -> tuple[dict[str, str | None], list[str]]
    """Find what `import` of each stack package would take, and which are only folders without __init__."""
    sets = [(folder, set(names)) for folder, names in listing]
    finders = dict(finder_mapping(listing), **hooks)
    origins = {}  # type: dict[str, str | None]
    namespaces = []
    suffixes = module_suffixes()
    for module in MODULES:
        regular = bare = None
        for folder, names in sets:
            regular, here = in_folder(folder, names, module, suffixes)
            bare = bare or here
            if regular:
                break
        origins[module] = regular or bare or finders.get(module)
        if not regular and bare:
            namespaces.append(module)
    return origins, namespaces


def torch_build(origin):
    # type: (str | None) -> dict[str, str | None] | None
    """torch/version.py, read as text."""
    if not origin or not os.path.isdir(origin):
        return None
    values = {}  # type: dict[str, str | None]
    for name, value in _VERSION_FILE.findall(read_text(os.path.join(origin, "version.py"))):
        values.setdefault(name, None if value == "None" else value[1:-1])
    if not values.get("__version__"):
        return None
    return {"version": values["__version__"], "cuda": values.get("cuda"), "hip": values.get("hip")}


def missing_files(origins, namespaces, found):
    # type: (dict[str, str | None], list[str], list[dict[str, Any]]) -> list[str]
    """Files that an importable stack package needs and lacks."""
    missing = []
    vllm = origins.get("vllm")
    if vllm and os.path.isdir(vllm) and "vllm" not in namespaces:
        names = list_folder(vllm)
        if "_version.py" not in names and "_version import" in read_text(os.path.join(vllm, "version.py")):
            missing.append("vllm/_version.py")
        version = [each["version"] or "" for each in found if each["name"].lower() == "vllm"]
        pure = any(mark in text for text in version[:1] for mark in ("+empty", "tpu"))
        if not pure and not any(name.startswith("_C") and name.endswith((".so", ".pyd")) for name in names):
            missing.append("vllm/_C*.so")
    return missing


def repaired(origins):
    # type: (dict[str, str | None]) -> list[str]
    """Files of stack packages that set what releases with a known defect leave out."""
    server = os.path.join(origins.get("vllm") or "", "entrypoints", "api_server.py")
    return ["vllm/entrypoints/api_server.py"] if "state.engine_client" in read_text(server) else []


def wheel_libraries(listing):
    # type: (list[tuple[str, list[str]]]) -> dict[str, str]
    """CUDA libraries of the nvidia-* wheels: stem -> path."""
    found = {}  # type: dict[str, str]
    for folder, names in listing:
        if "nvidia" not in names:
            continue
        base = os.path.join(folder, "nvidia")
        for part in list_folder(base):
            library = os.path.join(base, part, "lib")
            for name in list_folder(library) if os.path.isdir(library) else ():
                if ".so" in name:
                    found.setdefault(name.split(".so")[0], os.path.join(library, name))
    return found


def conda_packages():
    # type: () -> dict[str, str]
    """List what conda says it installed: name -> version."""
    found = {}
    for name in list_folder(os.path.join(sys.prefix, "conda-meta")):
        parts = name[: -len(".json")].rsplit("-", 2)
        if name.endswith(".json") and len(parts) == 3:
            found[parts[0]] = parts[1]
    return found


def glibc():
    # type: () -> str | None
    """Version of the GNU C library that this process runs on."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        return None
    return version if name == "glibc" else None


def report(request):
    # type: (dict[str, Any]) -> dict[str, Any]
    """Everything, as JSON-like values."""
    isolated = isolated_path(request)
    folder = user_site(request["environ"])
    searched = search_path(request, isolated, folder)
    listing = [(each, list_folder(each)) for each in searched if os.path.isdir(each)]
    found = distributions(listing)
    sites = [each for each, _ in listing if is_site(each)]
    hooks, unread = start_hooks(sites, listing, archives(searched))
    origins, namespaces = modules(listing, hooks)
    info = sys.version_info
    implementation = getattr(sys, "implementation", None)
    return {
        "version": "%d.%d.%d" % info[:3] + ("" if info[3] == "final" else "%s%d" % (info[3][:1], info[4])),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": getattr(sys, "real_prefix", getattr(sys, "base_prefix", sys.prefix)),
        "implementation": implementation.name if implementation else "cpython",
        "platform": sys.platform,
        "machine": os.uname()[4] if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", ""),
        "glibc": glibc(),
        "path": isolated,
        "searched": [each for each, _ in listing],
        "pythonpath": python_path(request),
        "user_site": folder,
        "distributions": found,
        "leftovers": leftovers(listing),
        "modules": origins,
        "namespaces": namespaces,
        "torch": torch_build(origins.get("torch")),
        "missing": missing_files(origins, namespaces, found),
        "repaired": repaired(origins),
        "libraries": wheel_libraries(listing),
        "conda": conda_packages(),
        "unread": unread,
    }


if __name__ == "__main__":
    adopt_prefix()
    sys.stdout.write("\n" + MARK + json.dumps(report(json.loads(sys.argv[1]))) + "\n")
