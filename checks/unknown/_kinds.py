"""What kind of problem an unknown exception is, by its type: what that kind usually means and what to try first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from doctor.base.patterns import later
from doctor.catalogue.finding import Phrase
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


@dataclass(frozen=True)
class Kind:
    """Whole sentences about one kind of failure: what it is, and what to do first."""

    what: Phrase
    first: Phrase


def _kind(name: str) -> Kind:
    return Kind(TOML.phrase(f"what.{name}"), TOML.phrase(f"first.{name}"))


IMPORT = _kind("import")
ARGUMENT = _kind("argument")
CONFIGURATION = _kind("configuration")
SETTINGS = _kind("settings")
OWN_CODE = _kind("own_code")
OWN_ATTRIBUTE = _kind("own_attribute")
CUDA = _kind("cuda")
HIP = _kind("hip")
MEMORY = _kind("memory")
NETWORK = _kind("network")
REFUSED = _kind("refused")
FILES = _kind("files")
ENDPOINT = _kind("endpoint")
OTHER = _kind("other")

SHAPE = _kind("shape")
DTYPE = _kind("dtype")
GRADIENT = _kind("gradient")
COLLECTIVE = _kind("collective")
STATE = _kind("state")
COMPILER = _kind("compiler")
DEFINITION = _kind("definition")

UNMADE = _kind("unmade")
NOTHING = _kind("nothing")
OTHER_TYPE = _kind("other_type")
ENTRY = _kind("entry")

SLIP = _kind("slip")
INVARIANT = _kind("invariant")
EMPTY = _kind("empty")

_BY_TYPE = (
    (later(r"ImportError|ModuleNotFound|undefined symbol|DLL"), IMPORT),
    (later(r"OutOfMemory|MemoryError|OOM"), MEMORY),
    (later(r"AcceleratorError|Cuda|CUDA|CUDNN|NVML"), CUDA),
    (later(r"Dynamo|Inductor|BackendCompiler|CompilationError|OutOfResources|PTXAS"), COMPILER),
    (later(r"DistBackend|DistNetwork|DistStore|NCCL|Rendezvous"), COLLECTIVE),
    (later(r"Connection|Timeout|HTTP|URL|SSL|Socket|Proxy|Remote|gaierror"), NETWORK),
    (later(r"FileNotFound|Permission|IsADirectory|NotADirectory|FileExists|OSError|IOError|Safetensor"), FILES),
    (later(r"NameError|UnboundLocalError"), DEFINITION),
    (later(r"^ValidationError$"), SETTINGS),
    (later(r"CheckpointError"), GRADIENT),
)
#: what a message speaks of, for types that say nothing themselves
_BY_MESSAGE = (
    (later(r"out of memory|bad_alloc|Cannot allocate memory", re.IGNORECASE), MEMORY),
    (later(r"\bCUDA (?:driver )?error\b|\bcuda\w* error\b|CUBLAS_|CUDNN_", re.IGNORECASE), CUDA),
    (later(r"NCCL|ProcessGroup|process group|Gloo|TCPStore|collective", re.IGNORECASE), COLLECTIVE),
    (
        later(r"requires?[ _](?:a )?grad|backward|in-?place operation|autograd|inference tensor", re.IGNORECASE),
        GRADIENT,
    ),
    (
        later(r"state[_ ]dict|(?<!activation )(?<!gradient )checkpoint(?!ing|[- ]engine)|safetensors", re.IGNORECASE),
        STATE,
    ),
    (later(r"scalar type|dtype|\bHalf\b|BFloat16|bfloat16|float16"), DTYPE),
    (
        later(
            r"input\.numel\(\) == 0|Expected reduction dim|tensor of 0 elements|arg is an empty sequence|"
            r"iterable argument is empty|non-empty (?:TensorList|list|sequence)|torch\.cat\(\): expected a non-empty"
        ),
        EMPTY,
    ),
    (
        later(
            r"must match the size|size of tensor|shapes? cannot be|invalid for input of size|dimension(?!s by name)|"
            r"Sizes of tensors"
        ),
        SHAPE,
    ),
)
#: what these speak of is a limit or a fault, also where a check puts it into words of its own
_ALWAYS = (MEMORY, CUDA, COLLECTIVE)
#: exceptions and words by which a check refuses what was asked for, whatever else it names
_CHECKING = ("ValueError", "AssertionError", "NotImplementedError")
_REFUSING = later(
    r"\b(?:must be one of|should be one of|not (?:currently |yet )?supported|[Uu]nsupported|[Ii]ncompatible"
    r"|not compatible|not implemented|only supports?|requires (?!grad)|mutually exclusive"
    r"|cannot be (?:used|enabled|combined) )"
)
#: an attribute that an object of some class lacks
_LACKS = later(r"' object has no attribute '|^type object '")
_HIP = later(r"\bHIP (?:runtime )?error\b|\bhipError[A-Z]|HIPBLAS_STATUS|\bMIOpen\b|miopenStatus")
#: words of requests and httpx for an answer that is an error, of the dynamic loader for a library
_ANSWERED = later(
    r"\b[45]\d\d (?:Client|Server) Error\b|^(?:Client|Server) error '[45]\d\d |too many [45]\d\d error responses"
)
_LOADED = later(
    r"undefined symbol|cannot open shared object|invalid ELF header|version `\w{1,20}_[\d.]{1,10}' not found"
)
_NAMES = ("NameError", "UnboundLocalError")
_LOOKUPS = ("KeyError", "AttributeError", "IndexError")
_NONE = later(r"\bNoneType\b|\bis None\b|\bNone is not a\b")
_TYPES = later(
    r"can only concatenate|unsupported operand|indices must be|not supported between instances|must be (?:str|a "
    r"string|Tensor)"
    r"|object is not (?:callable|iterable|subscriptable)|argument of type '\w{1,40}' is not (?:iterable|a container)"
    r"|expected string or bytes|argument '\w{1,40}' \(position "
    r"\d{1,2}\) must be"
)
_UNEQUAL = later(r"(?:\b[Ll]en(?:gth)?s?\b|\bshapes?\b|\.size\b)[^\n]{0,120}(?:!=|==| vs\.? | does not match )")
_CALL = later(r"unexpected keyword argument|required positional argument|positional arguments? but")


#: functions that check settings, in files about them
_CHECKS = later(
    r"/(?:config|configs|schemas?|arguments|hparams|parser|validation)\b[\w/]*(?:\.py:\d{1,6}) "
    r"\((?:_?(?:valid|verify|check)\w{0,60}|__post_init__)\)$"
)
#: files of torch that fit saved states to a model
_STATES = later(r"^torch/distributed/(?:fsdp/_optim_utils|checkpoint/\w{1,40}|_state_dict_utils)\.py")
#: folders of torch and Triton in which code is compiled
_COMPILERS = later(r"^(?:torch/_(?:inductor|dynamo|functorch|higher_order_ops)|triton/(?:compiler|backends))/")


def kind_of(exception: str, *, own_code: bool, message: str = "", worded: str = "", place: str = "") -> Kind:
    """The kind of an exception; `own_code`: whether its innermost frame, `place`, is the user's own.

    `worded`: what a library said of it on the way out, which tells the subject where a failed look-up does not.
    """
    told = message[:2000]
    typed = _of_type(exception, told, own_code=own_code)
    if typed is not None:
        return typed
    placed = _of_place(exception, place)
    if placed is not None:
        return placed
    if exception in ("RuntimeError", "ValueError", "AssertionError", "Exception", "NotImplementedError"):
        refusing = exception in _CHECKING and _REFUSING.search(told)
        for pattern, kind in _BY_MESSAGE:
            if (not refusing or kind in _ALWAYS) and pattern.search(told):
                return kind
    if exception in _LOOKUPS and worded:
        for pattern, kind in _BY_MESSAGE:
            if pattern.search(worded[:2000]):
                return kind
    if exception == "TypeError" and _CALL.search(told):
        return ARGUMENT  # also where own code calls a library's function that has changed
    if exception in ("TypeError", "AttributeError") and _NONE.search(told):
        return NOTHING  # own code hits it too, where a setting of a library was left out
    if own_code and exception == "AttributeError" and _LACKS.search(told):
        return OWN_ATTRIBUTE
    return OWN_CODE if own_code else _of_library(exception, told)


def _of_type(exception: str, told: str, *, own_code: bool) -> Optional[Kind]:
    """The kind that a type tells; torch names the errors of HIP after CUDA, or after no maker."""
    if _HIP.search(told):
        return HIP
    if _ANSWERED.search(told):
        return REFUSED
    if exception == "OSError" and _LOADED.search(told):
        return IMPORT
    if exception == "OSError" and "Transport endpoint" in told:
        return ENDPOINT
    if own_code and exception in _NAMES:
        return UNMADE
    return next((kind for pattern, kind in _BY_TYPE if pattern.search(exception)), None)


def _of_place(exception: str, place: str) -> Optional[Kind]:
    """The kind that the place tells, whatever the message speaks of."""
    if _COMPILERS.search(place):
        return COMPILER
    if exception == "KeyError" and _STATES.search(place):
        return STATE
    return SETTINGS if exception in ("ValueError", "AssertionError") and _CHECKS.search(place) else None


def _of_library(exception: str, message: str) -> Kind:
    """The kind of what a library raised, where neither type nor subject told."""
    if exception == "TypeError" and _TYPES.search(message):
        return OTHER_TYPE
    if exception in ("TypeError", "AttributeError"):
        return ARGUMENT
    if exception == "KeyError":
        return ENTRY
    if exception == "AssertionError" and _UNEQUAL.search(message):
        return INVARIANT
    if exception in ("ValueError", "AssertionError", "NotImplementedError") or "Config" in exception:
        return CONFIGURATION
    return OTHER
