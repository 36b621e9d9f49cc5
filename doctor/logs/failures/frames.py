"""Frames of tracebacks as Python, rich and notebooks print them, and whose code they are."""

from __future__ import annotations

from functools import lru_cache

from doctor.base.entries import is_entry
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.data.libraries import package_of

_PYTHON = later(
    r'^[`\s]{0,60}File "(?P<path>[^"\n]{1,600})", line (?P<line>\d{1,7}),? in(?: (?P<function>[^\n]{1,200}?))?\s*$'
)
_RICH = later(r"^\s*[│|] (?P<path>[^\s:][^:\n]{0,400}):(?P<line>\d{1,7}) in (?P<function>[\w<>.]+)")
#: notebooks: "File ~/a/b.py:100, in f(x)", "File <string>:262, in f(x)", "Cell In[15], line 5",
#: "Input In [3], in <cell line: 5>()"
_NOTEBOOK = later(
    r"^\s{0,8}(?:File )?\[?(?P<path>[~/\w.][^\s:\n()\]]{0,400}\.pyx?|<string>):(?P<line>\d{1,7})"
    r"(?:\]\([^)\n]{1,400}\))?,? in "
    r"(?P<function>[\w<>.]{1,160})"
)
_CELL = later(
    r"^\s{0,8}(?P<path>(?:Cell|Input) In ?\[\d{1,6}\])(?:, line (?P<line>\d{1,7}))?"
    r"(?:, in (?P<function>[\w<>.: ]{1,80})?[^\n]{0,400})?\s*$"
)
#: older ones and Colab, which links the path: "/a/b.py in f(x)", "[/a/b.py](http://...) in f(x)"
_OLD_NOTEBOOK = later(
    r"^\s{0,8}\[?(?P<path>(?:<ipython-input-[\w\-]{1,60}>|[~/][^\s\]\n]{1,400}\.py|<[\w\-. ]{1,40}>))"
    r"(?:\]\([^)\n]{1,300}\))? in (?P<function>[\w.]{1,160}|<[\w: ]{1,40}>)"
)
#: the line of a notebook's frame that raised: "---> 100     raise ValueError("
_ARROW = later(r"^\s{0,12}-{2,8}> ?(?P<line>\d{1,7})(?:\s(?P<code>[^\n]{0,300}))?$")
_NUMBERED = later(r"^\s{0,12}\d{1,7}(?:\s|$)")
#: what a frame's file says about who wrote it: the standard library, and what no file holds
_STANDARD = later(
    r"(?:^|[\\/])python3?(?:\.\d+t?)?[\\/]|^<frozen |^<string>|^<stdin>|\.p(?:yx|xi)$|[\\/]bin[\\/][^\\/]+$"
    r"|[\\/]Lib[\\/](?!site-packages)|[\\/]lib[\\/](?=multiprocessing[\\/]|asyncio[\\/]|concurrent[\\/])"
)
#: files that stand where the user's own do: code of a checkpoint, generated or fetched code, packages in a checkout of
#: theirs, veRL's recipes, torch from its sources, and the standard library on Windows
_UNSURE = later(
    r"[\\/]transformers_modules[\\/]|unsloth_compiled_|torchinductor_|[\\/]\.triton[\\/]|^<(?!ipython-)"
    r"|[\\/]torch[\\/](?:_\w+|nn|optim|utils|distributed|autograd|cuda|fx|functional\.py|serialization\.py)\b"
    r"|^[A-Za-z]:[\\/][^\n]{0,200}[\\/][Ll]ib[\\/]|[\\/]\.cache[\\/]|[\\/]models--|[\\/]datasets_modules[\\/]"
    r"|[\\/]verl[\\/]recipe[\\/]|[\\/](?:flash_attn|liger_kernel|sgl_kernel|unsloth_zoo|fla)[\\/]"
    r"|[\\/](?i:(?P<package>datasets|ray|wandb|evaluate))(?:[\-_][\w.\-]{1,30})?[\\/](?:(?:src|python)[\\/])?"
    r"(?i:(?P=package))[\\/]"
    r"|[\\/]src[\\/](?:llamafactory|llmtuner|axolotl)[\\/]|[\\/]ms-swift[^\\/\n]{0,20}[\\/]swift[\\/]"
    r"|[\\/]Trinity-RFT[^\\/\n]{0,20}[\\/]trinity[\\/]"
)
#: where the part of a path begins that does not depend on the environment's name
_ENVIRONMENT = later(r"[\\/](?:lib(?:64)?[\\/]python3?[\d.]{0,5}t?|Lib|site-packages|dist-packages)[\\/]")


@record
class Frame:
    """One frame of a traceback; `line` 0 where the print does not tell it."""

    path: str
    line: int
    function: str
    code: str = ""

    @property
    def package(self) -> str:
        """Library that it belongs to, "" for the user's own code and the standard library."""
        return package_of(self.path)

    @property
    def own(self) -> bool:
        """Whether it is neither an installed library nor the standard library: the user's own code."""
        return not (self.package or self.starts or _STANDARD.search(self.path))

    @property
    def starts(self) -> bool:
        """Whether its file only starts a program: a launcher's script, `python -m`."""
        return is_entry(self.path)

    @property
    def at_top(self) -> bool:
        """Whether it runs a module or a notebook's cell itself, and no function."""
        return self.function == "<module>" or self.function.startswith("<cell line")

    @property
    def key(self) -> str:
        """What `Signature.frame` is searched in: "path:function", without the folder of the environment.

        Environments are named after what runs in them: a frame of torch in ``envs/verl/lib`` is none of veRL.
        """
        environment = _ENVIRONMENT.search(self.path)
        return f"{self.path[environment.start() :] if environment else self.path}:{self.function}"


@lru_cache(maxsize=4096)
def is_own(key: str) -> bool:
    """Whether the frame that a `Frame.key` tells of is surely the user's own code."""
    path, _, function = key.rpartition(":")
    return not _UNSURE.search(path) and Frame(path, 0, function).own


def python_frame(text: str) -> Frame | None:
    """The frame that a line names in the interpreter's own form, None for any other line."""
    match = _PYTHON.match(text)
    return Frame(match["path"], int(match["line"]), match["function"] or "<module>") if match else None


def opening_frame(text: str) -> Frame | None:
    """The frame with which a paste may begin that lost its header."""
    if text.startswith(("[/", "[~/", "[<ipython")) and (match := _OLD_NOTEBOOK.match(text)):  # Colab
        return Frame(match["path"], 0, match["function"])
    if text.startswith("Cell In[") and (match := _CELL.match(text)):
        return Frame(match["path"], int(match["line"] or 0), match["function"] or "<module>")
    if not text.lstrip("` ").startswith("File "):
        return None
    match = _NOTEBOOK.match(text)
    return Frame(match["path"], int(match["line"]), match["function"]) if match else python_frame(text)


def frame_of(text: str) -> Frame | None:
    """The frame that a line of a traceback names, in any form."""
    if '"' in text and (frame := python_frame(text)):
        return frame
    for pattern in (_RICH, _NOTEBOOK, _CELL, _OLD_NOTEBOOK):
        if match := pattern.match(text):
            groups = match.groupdict()
            return Frame(match["path"], int(groups.get("line") or 0), groups.get("function") or "<module>")
    return None


def arrow_of(text: str) -> tuple[int, str] | None:
    """(line, code) of the line at which a notebook's frame raised."""
    match = _ARROW.match(text) if "-> " in text else None
    return (int(match["line"]), (match["code"] or "").strip()) if match else None


def is_numbered(text: str) -> bool:
    """Whether a line shows numbered source, as notebooks do around the line that raised."""
    return bool(_NUMBERED.match(text))
