"""Training as a command says it: `trl grpo ...`, or a script with what its parser reads."""

from __future__ import annotations

from collections.abc import Mapping

from doctor import data
from doctor.base.evidence import UNKNOWN, Observed, Place
from doctor.base.fact import DoesNotApply, Settings
from doctor.base.patterns import later
from doctor.base.record import distinct, replace
from doctor.data.launchers import names_of, table
from doctor.facts.launch import Launch
from doctor.facts.script import Call, Flag, Script
from doctor.facts.training import Training
from doctor.readers.command import hf_arguments
from doctor.readers.command.hf_arguments import Given
from doctor.readers.command.training_owners import (
    TRL_COMMANDS,
    Owners,
    accepted_by,
    config_of,
    is_library_origin,
    lora_of,
    model_arguments_of,
    owners_of_script,
    owners_of_trl,
)
from doctor.readers.command.training_picks import Picks, pick
from doctor.readers.command.training_required import asked_of, given_by
from doctor.readers.script.typed_options import Typed, converted

_ATTRIBUTE = later(r"(\w+)\.(\w+)")
#: of a class of models, by its name
_LOADS_MODEL = later(r"\.(?:Auto\w*Model\w*|\w+For\w+|\w+Model)\.from_pretrained$")
_FILE_LOADERS = frozenset({"json", "csv", "parquet", "arrow", "text"})
#: keywords that mean the same in every adapter's configuration of PEFT, RandLoraConfig's or IA3Config's too
_EVERY_ADAPTER = frozenset({"target_modules", "modules_to_save", "task_type", "inference_mode"})


# --- trl grpo ---


def of_trl(launch: Launch, folder: str) -> Training:
    """`trl grpo --config x.yaml --learning_rate 1e-5`: TRL's own script, no code of the user's but reward functions."""
    command = launch.subcommand or ""
    if command not in TRL_COMMANDS:
        raise DoesNotApply("the command starts no training of TRL's")
    given = hf_arguments.given(launch.script_args, folder, None, table("trl"), reads_config=True)
    owners = owners_of_trl(command)
    launcher = names_of("accelerate") | {"accelerate_config"}
    mine = {name: each for name, each in given.settings.items() if name not in launcher or accepted_by("", name)}
    arguments = owners.training_settings(mine)
    return Training(
        trainer=TRL_COMMANDS[command],
        config_class=owners.config_class,
        arguments=arguments,
        complete=given.broken is None,
        lora=lora_of(given.settings),
        model=given.settings.get("model_name_or_path"),
        dataset=_named_dataset(given.settings),
        model_arguments={**model_arguments_of(given.settings), **_init_kwargs(given, arguments)},
        broken=given.broken,
        repeated_keys=given.repeated_keys,
        config_origin=f"trl.{owners.config_class}",
        shared=owners.shared(arguments),
        dataset_processed=False,
        environment_set=given.environment,
        nested={**hf_arguments.nested_of(arguments), **given.nested},
    )


def _init_kwargs(given: Given, arguments: Settings) -> dict[str, Observed]:
    prefix = "model_init_kwargs."
    nested = {**hf_arguments.nested_of(arguments), **given.nested}
    return {name.removeprefix(prefix): each for name, each in nested.items() if name.startswith(prefix)}


def _named_dataset(settings: Settings) -> Observed | None:
    """`datasets:` (a mixture) goes before `dataset_name`, as in TRL's scripts."""
    mixture = settings.get("datasets")
    first = mixture.value[0] if mixture is not None and isinstance(mixture.value, list) and mixture.value else None
    if mixture is not None and isinstance(first, Mapping):
        value = first.get("data_files") or first.get("path")
        return Observed.written("datasets", value, value is not None, str(value), mixture.place)
    return settings.get("dataset_name")


# --- a script ---


@distinct
class _Sources:
    """Where values that a script takes from its command line come from."""

    script: Script
    given: Given
    typed: Typed

    def resolved(self, setting: Observed) -> Observed:
        """A setting written as `args.lr` with the value that the command line or the flag's default gives it."""
        match = _ATTRIBUTE.fullmatch(setting.text) if not setting.known else None
        if match is None:
            return setting
        variable, attribute = match.groups()
        flag = self.script.flags.get(attribute) if variable == self.script.flags_variable else None
        if flag is not None:
            return self._from_flag(setting, flag)
        if not self.script.parses_arguments_into:
            return setting
        parsed = self.given.settings.get(attribute) or self._class_default(attribute)
        return replace(parsed, name=setting.name) if parsed is not None and parsed.known else setting

    def _class_default(self, attribute: str) -> Observed | None:
        """Default of a field of the only class of the user's that has it."""
        filled = [self.script.classes.get(name) for name in self.script.parses_arguments_into]
        found = [each.fields[attribute] for each in filled if each is not None and attribute in each.fields]
        return found[0] if len(found) == 1 else None

    def _from_flag(self, setting: Observed, flag: Flag) -> Observed:
        typed = self.typed.word(flag, self.script.flags)
        if typed is not None:
            known = flag.converts_to != ""
            return Observed.written(setting.name, converted(typed, flag) if known else None, known, setting.text)
        if not flag.has_default or (isinstance(flag.default, str) and flag.converts_to == ""):
            return setting
        default = converted(flag.default, flag) if isinstance(flag.default, str) else flag.default
        return replace(setting, value=default)

    def all(self, settings: Settings) -> dict[str, Observed]:
        """Every setting, resolved."""
        return {name: self.resolved(each) for name, each in settings.items()}


def of_script(launch: Launch, script: Script, folder: str) -> Training:
    """A script of the user's: its trainer, the configuration that it hands over, and what the command line adds."""
    words = launch.script_args
    given = Given()
    if script.parser is not None:
        known = hf_arguments.options(script.classes.values(), closed=owners_of_script(script, "").closed)
        given = hf_arguments.given(words, folder, script.path, known, reads_config=script.reads_config)
    sources = _Sources(script, given, Typed.of(words))
    chosen = pick(script)
    config = _config(chosen, script, given, sources)
    trainer = chosen.trainer
    model = _model(trainer, script, sources)
    dataset, processed = _dataset(trainer, script, sources)
    nested = {**(chosen.config.nested if chosen.config else {}), **given.nested}
    init = _below("model_init_kwargs.", nested)
    return Training(
        trainer=trainer.base if trainer else None,
        trainer_place=trainer.place if trainer else None,
        trainer_origin=trainer.origin if trainer else "",
        config_class=config.name,
        config_place=chosen.config.place if chosen.config else None,
        arguments=config.arguments,
        complete=config.complete,
        trainer_arguments=sources.all(trainer.arguments) if trainer else {},
        lora=_lora(trainer, script, sources),
        model=model.name,
        dataset=dataset,
        model_arguments={**model.arguments, **sources.all(init)},
        reward_functions=script.reward_functions,
        broken=given.broken,
        repeated_keys=given.repeated_keys,
        config_origin=config.origin,
        set_later=config.set_later,
        shared=config.shared,
        dataset_processed=processed,
        environment_set={**script.environment_set, **given.environment},
        nested=sources.all(nested),
        rows=trainer.rows if trainer else None,
        asked_of_command=asked_of(script),
        given_by_command=given_by(script, given, words),
    )


def _below(prefix: str, settings: Settings) -> dict[str, Observed]:
    return {name.removeprefix(prefix): each for name, each in settings.items() if name.startswith(prefix)}


@distinct
class _Config:
    """The configuration object, as far as it is seen."""

    name: str | None
    arguments: dict[str, Observed]
    complete: bool
    origin: str = ""
    set_later: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()


def _config(chosen: Picks, script: Script, given: Given, sources: _Sources) -> _Config:
    link = chosen.config_link
    changes = sources.all(link.changes) if link is not None else {}
    if chosen.parsed_class is not None:
        return _parsed_config(chosen, script, given, changes)
    if chosen.config is None:
        name = config_of(chosen.trainer.base) if chosen.trainer and chosen.no_config else None
        origin = "" if chosen.trainer is None else chosen.trainer.origin.rpartition(".")[0]
        return _Config(name, {}, chosen.no_config and chosen.sure, f"{origin}.{name}" if name else "")
    call = chosen.config
    arguments = {**_subclass_defaults(script, call.name), **sources.all(call.arguments), **changes}
    local = script.classes.get(call.name)
    if local is not None or not is_library_origin(call.origin):
        arguments = {name: each for name, each in arguments.items() if accepted_by(call.base, name)}
    later = (call.set_later | frozenset(changes)) - (link.replaced if link is not None else frozenset())
    complete = chosen.sure and not call.has_star_kwargs
    later = frozenset(each for each in later if each in arguments)
    return _Config(call.base, arguments, complete, call.origin, later, _declared(script, call.name))


def _parsed_config(chosen: Picks, script: Script, given: Given, changes: dict[str, Observed]) -> _Config:
    written, link = chosen.parsed_class or "", chosen.config_link
    local = script.classes.get(written)
    name = local.base if local is not None and local.base is not None else written
    owners: Owners = owners_of_script(script, name)
    imported = next((each for each in script.imports if each.endswith(f".{written}")), written)
    arguments = {**_subclass_defaults(script, written), **owners.training_settings(given.settings), **changes}
    if local is not None or not is_library_origin(imported):
        arguments = {key: each for key, each in arguments.items() if accepted_by(name, key)}
    complete = chosen.sure and given.broken is None
    checked = link.replaced if link is not None else frozenset()
    later = frozenset(each for each in changes if each in arguments and each not in checked)
    shared = owners.shared(arguments) | _declared(script, written)
    return _Config(name, arguments, complete, written if local is not None else imported, later, shared)


def _declared(script: Script, name: str) -> frozenset[str]:
    """Fields that a subclass of the user's declares itself, so that every release of its base has them."""
    local = script.classes.get(name)
    return frozenset(local.fields) if local is not None else frozenset()


def _subclass_defaults(script: Script, name: str) -> dict[str, Observed]:
    """Defaults that a subclass of the user's gives to arguments of the class it derives from."""
    local = script.classes.get(name)
    if local is None or local.base is None:
        return {}
    return {key: each for key, each in local.fields.items() if each.known and accepted_by(local.base, key)}


# --- model, LoRA, dataset --------------------------------------------------------------------------------------------


@distinct
class _Model:
    name: Observed | None
    arguments: dict[str, Observed]


def _model(trainer: Call | None, script: Script, sources: _Sources) -> _Model:
    if trainer is None:
        loads = [each for each in script.calls_of("from_pretrained") if _LOADS_MODEL.search(each.origin)]
        alone = loads[0] if len(loads) == 1 and not loads[0].conditional else None
        return _Model(_given_model(script, sources), {}) if alone is None else _loaded_model(alone, sources)
    written = trainer.arguments.get("model")
    resolved = sources.resolved(written) if written is not None else None
    if resolved is not None and isinstance(resolved.value, str):
        return _Model(_unless_made(resolved, script), model_arguments_of(sources.given.settings))
    call: Call | None = trainer
    for _ in range(4):  # get_peft_model(prepare_model_for_kbit_training(AutoModel.from_pretrained(...)))
        link = call.links.get("model") if call is not None else None
        call = script.call_at(link.place) if link is not None else None
        if call is not None and call.name == "from_pretrained":
            return _loaded_model(call, sources)
    return _Model(_given_model(script, sources), model_arguments_of(sources.given.settings))


def _loaded_model(call: Call, sources: _Sources) -> _Model:
    arguments = sources.all({**call.nested, **call.arguments})
    first = arguments.pop("pretrained_model_name_or_path", None) or arguments.pop("model_name", None)
    return _Model(_unless_made(replace(first, name="model"), sources.script) if first is not None else None, arguments)


def _unless_made(name: Observed, script: Script) -> Observed:
    """A model's name, unknown where the script saves a model to that folder before it loads it from there."""
    for call in script.calls_of("save_pretrained"):
        folder = call.arguments.get("save_directory")
        if folder is None or not folder.known or name.place is None or call.place.file != name.place.file:
            continue
        if str(folder.value).rstrip("/") == str(name.value).rstrip("/") and _is_before(call.place, name.place):
            return replace(name, value=UNKNOWN)
    return name


def _is_before(one: Place, other: Place) -> bool:
    return one.line is not None and other.line is not None and one.line < other.line


def _given_model(script: Script, sources: _Sources) -> Observed | None:
    return sources.given.settings.get("model_name_or_path") if script.parses_arguments_into else None


def _lora(trainer: Call | None, script: Script, sources: _Sources) -> dict[str, Observed] | None:
    """Keywords of the adapter's configuration; their values are unknown where a branch decides whether there is one."""
    call: Call | None = trainer
    sure = True
    for _ in range(4):
        if call is None:
            break
        for name in ("peft_config", "lora_config"):
            if name in call.links:
                link = call.links[name]
                found = script.call_at(link.place)
                if found is not None:
                    return _lora_of_call(found, sources, sure=sure and link.sure)
        if call.name == "get_peft_model" and "peft_config" not in call.arguments:
            return _lora_of_call(call, sources, sure=sure)  # unsloth: keywords of the call itself
        next_link = call.links.get("model")
        sure = sure and (next_link is None or next_link.sure)
        call = script.call_at(next_link.place) if next_link is not None else None
    given = trainer.arguments.get("peft_config") if trainer is not None else None
    return lora_of(sources.given.settings) if given is not None and "get_peft_config" in given.text else None


def _lora_of_call(call: Call, sources: _Sources, *, sure: bool) -> dict[str, Observed] | None:
    found = sources.all({name: each for name, each in call.arguments.items() if _is_of_lora(call, name)})
    return found if sure else {name: replace(each, value=UNKNOWN) for name, each in found.items()}


def _is_of_lora(call: Call, name: str) -> bool:
    """Whether a keyword is `LoraConfig`'s: not another adapter's, nor one of unsloth's `get_peft_model`."""
    if call.name == "get_peft_model":
        return data.lora_argument(name) is not None
    return call.base == "LoraConfig" or name in _EVERY_ADAPTER


def _dataset(trainer: Call | None, script: Script, sources: _Sources) -> tuple[Observed | None, bool]:
    """What `load_dataset` is asked for, and whether the rows are changed before the trainer gets them."""
    link = trainer.links.get("train_dataset") if trainer is not None else None
    call = script.call_at(link.place) if link is not None else None
    direct = link is not None and link.direct and link.sure
    if call is None:
        loads = script.calls_of("load_dataset", "load_from_disk")
        if len(loads) != 1:
            return _named_dataset(sources.given.settings) if script.parses_arguments_into else None, True
        call, direct = loads[0], False
    arguments = sources.all(call.arguments)
    path = arguments.get("path") or arguments.get("dataset_path") or arguments.get("path_or_paths")
    files = arguments.get("data_files")
    if files is not None and path is not None and path.value in _FILE_LOADERS:
        return files, not direct
    return path, not direct
