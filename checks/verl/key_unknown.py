"""An override names a key that veRL's configuration does not have.

## What it means
veRL is configured by Hydra, which lets an override change only what the composed configuration holds. A new
key needs a `+` in front. This is a typing error, a key of another release, or a `+` that was forgotten.
## What it does to a run
`Could not override 'a.b.c'. Key 'c' is not in struct` before anything is loaded.
## What to do
Write the key as the installed release has it. Put `+` in front only where the key is meant to be new, below
`override_config` for instance.
## How it is found
The overrides against the keys of the installed release, made from its own YAML files.
## References
https://hydra.cc/docs/advanced/override_grammar/basic/
https://verl.readthedocs.io/en/latest/examples/config.html
"""

from __future__ import annotations

from doctor import data
from doctor.checks.launch._helpers import proof
from doctor.checks.verl._helpers import Verl, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Setting
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL001", name="verl-key-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ConfigAttributeError: Key '(?P<key>[\w.]{1,80})' is not in struct"),
    Signature(r"Could not override '(?P<override>[\w.]{1,160})'"),
    Signature(r"ConfigAttributeError: Missing key (?P<key>[\w.]{1,80})$"),
    Signature(
        r"ConfigKeyError: Key '(?P<key>[\w.]{1,80})' is not in struct",
        frame=r"omegaconf\S{1,80}:__set(?:item|attr)__$",
    ),
    Signature(r"ConfigKeyError: Key '(?P<key>[\w.]{1,80})' not in '(?P<schema>\w{1,80})'"),
)

#: place of the signature of code that writes a key
_WRITES = 3

LOG_MESSAGE = Message(
    en=Words(
        "the configuration has no key `{key}`",
        "Hydra lets an override change only what the composed configuration holds. The key is "
        "misspelt, belongs to another release, or is meant to be new and lacks the `+`.",
        "Check the key against the installed release (`python -m verl.trainer.main_ppo --cfg job`). "
        "Write `+{key}=...` only where it is meant to be new; otherwise correct it or take it out.",
    ),
    zh=Words(
        "配置中没有 `{key}` 这一项",
        "Hydra 只允许覆盖已存在的配置项。该项拼写有误、属于其他版本,或本意是新增但缺少 `+`。",
        "对照已安装版本检查(`python -m verl.trainer.main_ppo --cfg job`)。只有确实要新增时才写 "
        "`+{key}=...`;否则更正或删除。",
    ),
)

NEAR = Message(
    en=Words(
        "veRL {version} has no key `{key}`",
        "Hydra ends with `Could not override '{key}'` before anything is loaded.",
        "Write `{near}` if that is what is meant.",
    ),
    zh=Words(
        "veRL {version} 没有配置项 `{key}`",
        "Hydra 在加载任何东西之前就会以 `Could not override '{key}'` 退出。",
        "如果本意如此,请写成 `{near}`。",
    ),
)

OTHER = Message(
    en=Words(
        "veRL {version} has no key `{key}`; veRL {other} has it",
        "Hydra ends with `Could not override '{key}'` before anything is loaded.",
        "Take the override out, or look in the release notes for what took its place.",
    ),
    zh=Words(
        "veRL {version} 没有配置项 `{key}`,veRL {other} 才有",
        "Hydra 在加载任何东西之前就会以 `Could not override '{key}'` 退出。",
        "删除该覆盖项,或在发行说明中查找替代项。",
    ),
)

UNHEARD = Message(
    en=Words(
        "veRL {version} has no key `{key}`",
        "Hydra ends with `Could not override '{key}'` before anything is loaded.",
        "Correct the key. Where it is meant to be new, put `+` in front of it.",
    ),
    zh=Words(
        "veRL {version} 没有配置项 `{key}`",
        "Hydra 在加载任何东西之前就会以 `Could not override '{key}'` 退出。",
        "更正该配置项;如果它本应是新增的,在前面加上 `+`。",
    ),
)

ENGINE = Message(
    en=Words(
        "`{key}` needs `{choice}`, which the command does not choose",
        "Keys of the command that veRL {version} has for that engine only: {number}. The configuration is composed "
        "for another engine, and Hydra ends with `Could not override '{key}'` before anything is loaded. "
        "`actor.strategy` does not choose the engine.",
        "Add the choice to the command, or take these keys out.",
    ),
    zh=Words(
        "`{key}` 需要 `{choice}`,而命令没有选择它",
        "命令中有 {number} 个配置项在 veRL {version} 中只属于该引擎。当前配置是为另一引擎组成的,Hydra 在加载"
        "任何东西之前就会以 `Could not override '{key}'` 退出。`actor.strategy` 并不选择引擎。",
        "在命令中加上该选择,或删除这些配置项。",
    ),
)
#: what chooses Megatron before there was `model_engine`
MEGATRON = "--config-name=ppo_megatron_trainer"
#: of the keys of another engine
MOST_QUOTED = 5

#: how alike two keys must be (difflib's ratio) before one is offered for the other; less where the last part agrees
ALIKE, MOVED = 0.8, 0.6


def _kept(verl: Verl) -> set[str]:
    """Every key that may be overridden: the release's and what the command adds, with the groups above them."""
    names = {*verl.keys, *verl.config.added}
    return names | {name[:at] for name in names for at, letter in enumerate(name) if letter == "."}


def _open_above(key: str, verl: Verl) -> bool:
    """Whether a group above the key is a reference or null, so that what is below cannot be told."""
    parts = key.split(".")
    above = [verl.keys.get(".".join(parts[:size])) for size in range(1, len(parts))]
    return any(leaf is not None and leaf.type in {"interpolation", "null", "list"} for leaf in above)


def _nearest(key: str, verl: Verl) -> str | None:
    """The key of the same name in another group, else the one that looks most like it."""
    import difflib

    last = key.rpartition(".")[2]
    same = [name for name in verl.keys if name.rpartition(".")[2] == last]
    moved = difflib.get_close_matches(key, same, 1, MOVED)
    return next(iter(moved or difflib.get_close_matches(key, verl.keys, 1, ALIKE)), None)


def _release_with(key: str) -> str | None:
    return next((v for v in reversed(data.verl_versions()) if key in (data.verl_keys(v) or {})), None)


@check(PROBLEM)
def key_unknown(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Group choices (`actor@...=`, `hydra/...`) and keys of objects are not keys of the configuration."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_own:
        yield Skip("the configuration is a file of its own, whose defaults are not followed")
        return
    unknown = [(key, setting) for key, setting in verl.config.overrides.items() if _is_unknown(key, verl)]
    choice, elsewhere = _of_another_engine([key for key, _ in unknown], verl)
    if elsewhere:
        settings = [setting for key, setting in unknown if key in elsewhere]
        first = settings[0]
        yield found(
            PROBLEM,
            ENGINE,
            version=verl.version,
            key=first.name,
            choice=choice,
            number=len(settings),
            where=place_of(first),
            commands=(choice,),
            evidence=tuple(map(proof, settings[:MOST_QUOTED])),
        )
    yield from (_one(key, setting, verl) for key, setting in unknown if key not in elsewhere)


def _is_unknown(key: str, verl: Verl) -> bool:
    if key in verl.config.added or key in verl.config.removed or key in _kept(verl) or key.startswith("hydra"):
        return False
    return not ("@" in key or "/" in key or "_target_" in key or key == "model_engine" or _open_above(key, verl))


def _one(key: str, setting: Setting, verl: Verl) -> Finding:
    near, other = _nearest(key, verl), _release_with(key)
    message = OTHER if other else NEAR if near else UNHEARD
    return found(
        PROBLEM,
        message,
        version=verl.version,
        key=key,
        near=near,
        other=other,
        where=place_of(setting),
        commands=(f"{near}={setting.text}",) if near and message is NEAR else (),
        evidence=(proof(setting),),
    )


def _of_another_engine(unknown: list[str], verl: Verl) -> tuple[str, set[str]]:
    """The word that chooses another engine whose configuration holds most of some keys, and these keys."""
    best: tuple[str, set[str]] = ("", set())
    if not unknown:
        return best
    choices = {f"model_engine={each}": data.verl_keys(verl.version, "ppo_trainer", each)
               for each in data.verl_engines(verl.version) or ()}  # fmt: skip
    for choice, keys in (choices or {MEGATRON: data.verl_keys(verl.version, "ppo_megatron_trainer")}).items():
        held = set(unknown) & set(keys or ())
        if len(held) > len(best[1]):
            best = choice, held
    return best


READ = Message(
    en=Words(
        "code reads `{key}`, which the configuration it was given does not hold",
        "This is not about an override on the command line: the code itself asked for the key ({place}). It was "
        "given another part of the configuration than it expects (a mistake of that release), or the YAML file is "
        "of another release than the code: one of your own, one of a recipe, or a checkout beside an installed "
        "package.",
        "Look whether the whole configuration has the key somewhere (`python -m verl.trainer.main_ppo --cfg job | "
        "grep {key}`). If it has, upgrade veRL, or take recipe, configuration file and package from one release. "
        "If not, add it to your own YAML file as the release has it, or on the command line with `+` and its full "
        "path.",
    ),
    zh=Words(
        "代码读取 `{key}`,而传给它的配置中没有",
        "这与命令行覆盖无关:是代码自己要读取该项({place})。它得到的是配置的另一部分(该版本的错误),或 YAML 文件与代"
        "码版本不同:自己的文件、recipe 的文件,或与已安装包并存的源码。",
        "查看完整配置中是否有该项(`python -m verl.trainer.main_ppo --cfg job | grep {key}`)。若有,升级 veRL,或让 "
        "recipe、配置文件与安装包取自同一版本。若没有,按该版本的写法加入自己的 YAML 文件,或在命令行用 `+` 加完整路"
        "径。",
    ),
)


WRITTEN = Message(
    en=Words(
        "code adds `{key}` to a configuration that takes no new keys",
        "Hydra and OmegaConf lock a composed configuration. This is not about an override on the command line: the "
        "code itself ({place}) writes or reads a key that the YAML file of this release lacks. It is a mistake of the "
        "release, or code and configuration file are of two releases.",
        "Upgrade the framework, or take code, recipe and YAML file from one release. Until then switch off the option "
        "that leads there, or declare the key on the command line with `+` and its full path. In code of your own: "
        "`with open_dict(config):` around the assignment.",
    ),
    zh=Words(
        "代码向不接受新键的配置添加 `{key}`",
        "Hydra 与 OmegaConf 会锁定组成好的配置。这与命令行覆盖无关:是代码自己({place})写入或读取该版本 YAML 文件中没有"
        "的键。这是该版本的错误,或代码与配置文件属于两个版本。",
        "升级框架,或让代码、recipe 与 YAML 文件取自同一版本。在此之前关闭通向该处的选项,或在命令行用 `+` 加完整路径声"
        "明该键。若是自己的代码:在赋值外加 `with open_dict(config):`。",
    ),
)


SCHEMA = Message(
    en=Words(
        "`{schema}` of the installed release has no field `{key}`",
        "The class in the code says which keys there may be. A YAML file or the command brings one more: it is "
        "misspelt, or it is of another release than the code (a recipe, a checkout beside an installed package, a `+` "
        "that forces in what this release does not know).",
        "Look the field up where the class is defined: `grep -rn 'class {schema}' $(python -c 'import verl; "
        "print(verl.__path__[0])')`. Correct the key or take it out of YAML and command, or install the release that "
        "has it; take code, recipe and YAML file from one release.",
    ),
    zh=Words(
        "所装版本的 `{schema}` 没有字段 `{key}`",
        "代码中的类规定了可以有哪些键。YAML 文件或命令多给了一个:拼写有误,或它与代码属于不同版本(recipe、与已安装包并"
        "存的源码,或用 `+` 强加了该版本不认识的键)。",
        "在类的定义处查看该字段:`grep -rn 'class {schema}' $(python -c 'import verl; print(verl.__path__[0])')`。更正"
        "该键,或从 YAML 和命令中删除,或安装带有它的版本;让代码、recipe 与 YAML 文件取自同一版本。",
    ),
)


def _reader(hits: Hits) -> str:
    """File and function of the code that asked for the key; empty where it was Hydra, or no traceback tells."""
    for hit in (*hits.of(0), *hits.of(2), *hits.of(_WRITES)):
        outside = [frame for frame in hit.frames if "omegaconf" not in frame]
        if outside and "hydra" not in outside[-1]:
            return outside[-1].replace("\\", "/").rpartition("/")[2]
    return ""


def explain(hits: Hits) -> Finding:
    """The whole path where Hydra tells it, else the last part; code that reads or writes a key is no wrong override."""
    key = hits.get("override") or hits.get("key") or "?"
    where, evidence = hits.where(), hits.evidence()
    if schema := hits.first.groups.get("schema"):
        return found(PROBLEM, SCHEMA, where=where, evidence=evidence, confidence=LIKELY, key=key, schema=schema)
    if not hits.of(1) and (place := _reader(hits)):
        message = WRITTEN if hits.first.signature == _WRITES else READ
        return found(PROBLEM, message, where=where, evidence=evidence, confidence=LIKELY, key=key, place=f"`{place}`")
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, key=key)
