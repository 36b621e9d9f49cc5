"""A package registers a model with Transformers that Transformers knows already, or with another configuration.

## What it means
`AutoConfig.register` and its siblings refuse a model type that is taken, and a model whose `config_class` is not
the configuration it is registered with. Code of a model, or of a serving engine, that was written before
Transformers brought the same model meets this after an upgrade of Transformers.
## What it does to a run
Importing the package, or loading the model with `trust_remote_code`, ends with ValueError.
## What to do
Bring both to the same time: a newer package, or the Transformers that it was written for.
## How it is found
In a log: by the message of the automatic classes.
## References
https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/models/auto/configuration_auto.py
https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/models/auto/auto_factory.py
https://github.com/haotian-liu/LLaVA/issues/968
https://github.com/sgl-project/sglang/pull/3792
https://github.com/MAGICS-LAB/DNABERT_S/issues/4
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF069", name="registered-name-taken", severity=ERROR, since="0.1")

_NAMES = r"\w.\-"
_TAKEN = (
    rf"ValueError: '(?!aimv2')(?:<class ')?(?P<name>[{_NAMES}]{{1,160}})(?:'>)?' is already used by a"
    rf" Transformers \w"
)
_DIFFERS = (
    r"ValueError: The \w{1,20} class you are passing has a `config_class` attribute that is not consistent with the"
    rf" config class you passed \(model has (?:<class ')?(?P<has>[{_NAMES}]{{1,200}})(?:'>)? and you passed"
    rf" (?:<class ')?(?P<passed>[{_NAMES}]{{1,200}})"
)

CASES = (
    (
        _TAKEN,
        Message(
            en=Words(
                "a package registers `{name}` with Transformers, which has that model itself by now",
                "`AutoConfig.register` (or `AutoModel`, `AutoImageProcessor` ...) refuses a name that is taken. The "
                "package, or the model's own code, was written before the installed Transformers brought this model: "
                "Transformers is too new for it. It also comes about where the same module is imported twice.",
                "Upgrade the package whose file calls `register` in the traceback (vLLM, SGLang, LLaVA's code ...), or "
                "install the Transformers version that its requirements name (for old LLaVA code below 4.36, for "
                "SGLang 0.4.3 4.48.3): `pip install 'transformers==VERSION'`. In code of your own give another "
                "`model_type` in the configuration class and in `register`, or pass `exist_ok=True`.",
            ),
            zh=Words(
                "某个包向 Transformers 注册 `{name}`,而 Transformers 已自带该模型",
                "`AutoConfig.register`(或 `AutoModel`、`AutoImageProcessor` 等)拒绝已被占用的名称。该包或模型自带代码"
                "写于所装 Transformers 加入此模型之前:Transformers 对它来说太新。同一模块被导入两次时也会如此。",
                "升级回溯中调用 `register` 的那个包(vLLM、SGLang、LLaVA 代码等),或安装其依赖声明中的 Transformers "
                "版本(旧 LLaVA 代码低于 4.36,SGLang 0.4.3 用 4.48.3):`pip install 'transformers==VERSION'`。自己的"
                "代码:在配置类与 `register` 中改用别的 `model_type`,或传入 `exist_ok=True`。",
            ),
        ),
    ),
    (
        _DIFFERS,
        Message(
            en=Words(
                "the model's own code and its configuration come from two different modules",
                "`from_pretrained` registers the model class with the configuration that was loaded and refuses, "
                "since the class names another (`{has}`) than was passed (`{passed}`). The repository's code was "
                "written for another Transformers version, its modelling file imports the configuration of "
                "Transformers or of an installed package instead of its own, or a cached copy of the code is of "
                "another revision.",
                "Install the Transformers version that the model's page names (often an older one: "
                "`pip install 'transformers==VERSION'`), or take the repository's newest revision. Do not pass a "
                "`config=` that was loaded from another place; remove the cached code (`rm -rf "
                "~/.cache/huggingface/modules/transformers_modules`). In code of your own set the model's "
                "`config_class` to the configuration's own class.",
            ),
            zh=Words(
                "模型自带代码与其配置来自两个不同的模块",
                "`from_pretrained` 用已加载的配置注册模型类时被拒绝:该类声明的是另一个(`{has}`),而传入的是 "
                "`{passed}`。该仓库的代码是为另一版本的 Transformers 写的,其模型文件导入了 Transformers 或某个已安"
                "装包的配置而非自己的,或缓存的代码属于另一个 revision。",
                "安装模型主页给出的 Transformers 版本(往往较旧:`pip install 'transformers==VERSION'`),或使用仓库最"
                "新的 revision。不要传入从别处加载的 `config=`;删除缓存的代码(`rm -rf "
                "~/.cache/huggingface/modules/transformers_modules`)。自己的代码:把模型的 `config_class` 设为该配置"
                "类本身。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what was registered twice, or which two configurations differ."""
    return finding_of_case(PROBLEM, CASES, hits, CONFIRMED)
