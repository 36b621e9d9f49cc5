"""The training script, read by `ast` and never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.opened import NotSeen, partly
from doctor.base.record import record
from doctor.facts.rows import Rows


@record
class Link:
    """Where the value of an argument comes from, followed through names, attributes and functions.

    Args:
        place: of the call that makes it: a `Call` of the same script, or the parser's `parse_args_...` call.
        parsed_class: the class that an arguments parser fills, when the value is one of its results.
        direct: False when it is changed on the way (`dataset.map(...)`, `get_peft_model(model)`).
        sure: False when it is one of several possibilities (two branches).
        changes: what the object was given after that call: attributes (`args.bf16 = True`), and keywords of
            `dataclasses.replace`, whose names are in `replaced`.

    """

    place: Place
    parsed_class: str | None = None
    direct: bool = True
    sure: bool = True
    changes: Settings = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()


@record
class Call:
    """A call of a class or function of the stack.

    Args:
        name: last part of the callee, `GRPOConfig`; `origin` its full dotted name after imports are followed.
        arguments: keyword arguments; positional ones by parameter name where it is known (`model`, `args`).
            Attributes set on the result later (`config.bf16 = True`) stand here too.
        has_star_kwargs: `**something` is passed whose content was not seen.
        assigned_to: variable the result is bound to.
        base: class of the stack that a class of the user's derives from; else the same as `name`.
        nested: dotted keys of dictionaries among the arguments: `model_init_kwargs.attn_implementation`.
        links: argument -> the call that its value comes from.
        trains: `.train()` is called on the result; `resumes` is what that call is given as `resume_from_checkpoint`.
        conditional: the call stands in a branch or a loop.
        set_later: those of `arguments` that are attributes set after the call, which no constructor ever checks.
        rows: of a trainer, the rows of its `train_dataset` as far as the script makes them.

    """

    name: str
    place: Place
    origin: str = ""
    arguments: Settings = field(default_factory=dict)
    has_star_kwargs: bool = False
    assigned_to: str | None = None
    base: str = ""
    nested: Settings = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)
    trains: bool = False
    conditional: bool = False
    set_later: frozenset[str] = frozenset()
    resumes: Observed | None = None
    rows: Rows | None = None


@record
class RewardFunction:
    """A function passed as `reward_funcs`, as far as its source shows.

    `returns`: kinds of what its return statements give: "list", "scalar", "none", "str", "unknown". `reads`: how it
    plainly uses each completion: its "length", as "text", or as a list of which it takes a "message". `required`: those
    of its parameters that have no default; `demanded`: keys that it takes from `**kwargs` in any case; `asked`: those
    that it takes by `kwargs.get`, if it does nothing else with `kwargs`. `of_one`: whatever it is given, it returns a
    list of one element.
    """

    name: str
    place: Place
    parameters: tuple[str, ...] = ()
    has_var_keyword: bool = False
    returns: tuple[str, ...] = ()
    return_places: tuple[Place, ...] = ()
    is_async: bool = False
    reads: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    demanded: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    of_one: bool = False


@record
class LoneCall:
    """A call that every process must make, made on the first rank alone, or on all others alone.

    Args:
        name: `torch.distributed.barrier`, `accelerator.gather`; `place` of the call.
        test: the condition on the rank, and its `test_place`.
        sharded: the others are needed only where the weights are partitioned (ZeRO-3, FSDP).

    """

    name: str
    place: Place
    test: str
    test_place: Place
    sharded: bool = False


@record
class Ignore:
    """A comment `# doctor: ignore[ID] reason`; `line` is None when it stands for the whole file."""

    id: str
    reason: str
    line: int | None


@record
class LocalClass:
    """A class of the user's that derives from a configuration class or is filled by an arguments parser.

    `base` is the class of the stack (None: a dataclass of its own), `fields` what it declares itself, with
    its defaults (known=False where there is none or it could not be read); `required` those without any.
    """

    name: str
    place: Place
    base: str | None = None
    fields: Settings = field(default_factory=dict)
    required: tuple[str, ...] = ()


@record
class Flag:
    """`parser.add_argument("--lr", type=float, default=1e-5)`; `destination` is the attribute that holds it.

    `converts_to`: "int", "float", "str", "bool", or "" when what is typed becomes something else; `constant` is what
    a flag without a value gives (`action="store_true"`). `required`: the parser ends the program without it.
    """

    destination: str
    place: Place
    names: tuple[str, ...] = ()
    default: Any = None
    has_default: bool = False
    converts_to: str = ""
    constant: Any = None
    takes_value: bool = True
    required: bool = False


@record
class OwnRefusal:
    """A condition on its arguments under which the script itself raises, as JSON (`catalogue/shared/conditions.py`)."""

    condition: str
    place: Place


@record
class Script:
    """What a training script says.

    Args:
        imports: dotted name -> place of the import.
        needs: imports that are run whenever the script is: at its top, outside any branch or `try`, and at the top of
            the modules beside it that these lead to.
        calls: calls of classes and functions of the stack, in order of appearance; those of modules beside the
            script that it imports follow (their places name the file).
        parses_arguments_into: config classes that `HfArgumentParser`/`TrlParser` fills from the command line.
        environment_set: `os.environ["X"] = "literal"` in the script.
        names: top-level and local names bound to literals (so that `num_generations=G` can be followed).
        parser: "TrlParser", "HfArgumentParser" ...; `reads_config` whether it takes `--config file.yaml`;
            `tolerates_unknown` whether it is told to let arguments pass that no class has.
        reads_command_line: a single parser fills classes, and from the command line itself.
        looks_at_words: it reads the command line or a file of arguments in another way as well.
        classes: classes of the user's that matter for the configuration.
        flags: options of a plain `argparse` parser by destination; `flags_variable` what `parse_args()` is bound to.
        lone_calls: collectives that stand in a branch on the rank.
        own_refusals: where a script that parses its own arguments raises, see there.
        opens_broken: configuration files that it opens and whose parser would stumble; `repeated_keys` those of the
            others.
        idioms: those of `doctor.data.idioms` that the script itself holds, each with the line that completes it.

    """

    path: str
    imports: Mapping[str, Place] = field(default_factory=dict)
    needs: Mapping[str, Place] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    reward_functions: tuple[RewardFunction, ...] = ()
    parses_arguments_into: tuple[str, ...] = ()
    environment_set: Settings = field(default_factory=dict)
    names: Settings = field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()
    broken: BrokenFile | None = None
    parser: str | None = None
    reads_config: bool = False
    tolerates_unknown: bool = False
    reads_command_line: bool = False
    looks_at_words: bool = False
    classes: Mapping[str, LocalClass] = field(default_factory=dict)
    flags: Mapping[str, Flag] = field(default_factory=dict)
    flags_variable: str | None = None
    idioms: Mapping[str, Observed] = field(default_factory=dict)
    lone_calls: tuple[LoneCall, ...] = ()
    own_refusals: tuple[OwnRefusal, ...] = ()
    opens_broken: tuple[BrokenFile, ...] = ()
    repeated_keys: tuple[RepeatedKey, ...] = ()

    def calls_of(self, *names: str) -> tuple[Call, ...]:
        """Calls of any of `names`: `GRPOConfig`, `from_pretrained` or `AutoTokenizer.from_pretrained`.

        Of a script that was seen in part these are the first ones, see `doctor.base.opened.partly`.
        """
        found = []
        try:
            for call in self.calls:
                dotted = any("." in each and f".{call.origin}".endswith(f".{each}") for each in names)
                if call.name in names or dotted:
                    found.append(call)
        except NotSeen:
            return partly(found, "script", "calls")
        return tuple(found)

    def call_at(self, place: Place) -> Call | None:
        """The call that stands at a place (of a `Link`)."""
        return next((call for call in self.calls if call.place == place), None)
