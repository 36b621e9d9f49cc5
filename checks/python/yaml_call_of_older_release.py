"""A YAML file is read by a call that the installed YAML library no longer takes.

## What it means
PyYAML 6 wants a `Loader` for `yaml.load`; ruamel.yaml 0.18 has no `load`, `safe_load` and `dump` of its own any more;
safe loaders refuse the tags of Python objects that older ones made.
## What it does to a run
The configuration is not read, and the script ends before it loads anything.
## What to do
Write the call of today, or install the release that the code was written for.
## How it is found
In a log: by the exception of the library.
## References
https://github.com/yaml/pyyaml/blob/6.0.2/CHANGES
https://pyyaml.org/wiki/PyYAMLDocumentation
https://yaml.dev/doc/ruamel.yaml/api/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="PYT047", name="yaml-call-of-older-release", severity=ERROR, since="0.1")

LOADER = Message(
    en=Words(
        "`yaml.load` is called without a `Loader`, and PyYAML 6 wants one",
        "Up to release 5.4 the loader had a default, with which a file could run code; release 6 took it away, and "
        "code of before that fails at its first configuration file.",
        "In the line that the traceback names: `yaml.safe_load(file)`, or `yaml.load(file, Loader=yaml.FullLoader)`. "
        'If it is not your code: upgrade that package, or `pip install "pyyaml<6"` (Python 3.11 or older).',
    ),
    zh=Words(
        "调用 `yaml.load` 时没有给出 `Loader`,而 PyYAML 6 要求必须给出",
        "5.4 及更早版本的 loader 有默认值,但文件可借此执行代码;6 版取消了默认值,旧代码在读取第一个配置文件时就会失败。",
        "在 traceback 指出的那一行改为 `yaml.safe_load(file)` 或 `yaml.load(file, Loader=yaml.FullLoader)`。"
        '若不是自己的代码:升级该包,或执行 `pip install "pyyaml<6"`(Python 3.11 及更早)。',
    ),
)
RUAMEL = Message(
    en=Words(
        "`ruamel.yaml.{call}` was removed in ruamel.yaml 0.18",
        "The package, or the script, was written for an older ruamel.yaml; only the methods of a `YAML()` object are "
        "left.",
        "In the line named there: `yaml = ruamel.yaml.YAML(typ='safe', pure=True)`, then `yaml.load(file)` or "
        '`yaml.dump(data, file)`. If it is not your code: `pip install "ruamel.yaml<0.18"`.',
    ),
    zh=Words(
        "`ruamel.yaml.{call}` 已在 ruamel.yaml 0.18 中删除",
        "该包或脚本是为更早的 ruamel.yaml 写的;现在只保留了 `YAML()` 对象的方法。",
        "在其指出的那一行改为 `yaml = ruamel.yaml.YAML(typ='safe', pure=True)`,然后用 `yaml.load(file)` 或 "
        '`yaml.dump(data, file)`。若不是自己的代码:`pip install "ruamel.yaml<0.18"`。',
    ),
)
TAG = Message(
    en=Words(
        "a YAML file holds the Python object `{tag}`, which a safe loader refuses",
        "The file was written by `yaml.dump` of a program whose values were no plain ones (a tuple, an enum, a path, "
        "a class); the loader in use makes plain values only.",
        "Open the file at the line named under the exception and write plain YAML there (a list for a tuple, the text "
        "of an enum or path); only for a file you trust, `yaml.load(file, Loader=yaml.UnsafeLoader)`.",
    ),
    zh=Words(
        "YAML 文件含有 Python 对象 `{tag}`,安全的 loader 拒绝读取",
        "该文件由某个程序用 `yaml.dump` 写出,其中的值不是普通类型(tuple、枚举、路径、类);当前的 loader 只生成普通值。",
        "打开异常下方指出的那一行,改写为普通 YAML(tuple 写成列表,枚举或路径写成文本);"
        "只有对可信的文件才用 `yaml.load(file, Loader=yaml.UnsafeLoader)`。",
    ),
)

CASES = (
    (Signature(r"TypeError: load\(\) missing 1 required positional argument: 'Loader'"), LOADER, CONFIRMED),
    (Signature(r"^\"(?P<call>[a-z_]{4,24})\(\)\" has been removed, use$"), RUAMEL, CONFIRMED),
    (
        Signature(
            r"ConstructorError: could not determine a constructor for the tag"
            r" 'tag:yaml\.org,2002:(?P<tag>python/[\w/.:]{2,120})'"
        ),
        TAG,
        CONFIRMED,
    ),
)
SIGNATURES = tuple(signature for signature, *_ in CASES)


def explain(hits: Hits) -> Finding:
    """Tell a missing loader from a call and from a tag."""
    return finding_of_signature(PROBLEM, CASES, hits)
