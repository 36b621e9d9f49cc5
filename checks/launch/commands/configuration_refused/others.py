"""Judges LCH6560/others, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.shared.refusals import about_data, refused
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SHAPE = TOML["shape"]
TOO_LONG = TOML["too_long"]
MODE = TOML["mode"]
REPLAY = TOML["replay"]
TABLE = TOML["table"]
NO_ENGINE = TOML["no_engine"]
SHARES = TOML["shares"]


#: folder of the framework's package -> its name
_NAMES = {
    "slime": "slime", "miles": "miles", "areal": "AReaL", "nemo_rl": "NeMo-RL", "skyrl_train": "SkyRL",
    "skyrl": "SkyRL", "roll": "ROLL", "rllm": "rLLM", "rlinf": "RLinf", "prime_rl": "PRIME-RL",
    "open_instruct": "open-instruct", "mbridge": "mbridge",
}  # fmt: skip
FRAME = (
    r"[\\/](?P<folder>slime|miles|areal|nemo_rl|skyrl_train|skyrl|roll(?=[\\/](?:pipeline|configs|distributed|utils"
    r"|agentic|models|datasets))|rllm|rlinf|prime_rl|open_instruct|mbridge)[\\/](?![^\n]{0,200}-packages[\\/])"
    r"[^\n]{1,200}\.py:"
)
#: places of the entries that have words of their own
MODEL_ARGS, PARTITION, ALLOCATION, ROUTING, CONVERTER, UNEVEN, ENGINELESS = range(7)


_PLAIN = {PARTITION: TOO_LONG, ROUTING: REPLAY, CONVERTER: TABLE, UNEVEN: SHARES, ENGINELESS: NO_ENGINE}


def explain(hits: Hits) -> Finding | None:
    """The ones that have words of their own, else what the message or the assertion names."""
    own = hits.first.signature
    if own == MODEL_ARGS:
        return _model_args(hits)
    if own in _PLAIN:
        return found(
            PROBLEM, _PLAIN[own], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            weight=hits.get("weight") or "", samples=hits.get("samples") or "", parts=hits.get("parts") or "",
        )  # fmt: skip
    if own == ALLOCATION:
        mode = hits.get("mode") or ""
        mode = mode if re.fullmatch(r"[\w.:+()\[\]|-]{2,60}", mode) else ""  # newer ones explain in whole sentences
        return found(
            PROBLEM, MODE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            mode=f": `{mode}`" if mode else "",
        )  # fmt: skip
    if about_data(hits.get("message") or ""):
        return None
    frames = hits.first.frames
    named = re.search(FRAME, frames[-1]) if frames else None
    return refused(PROBLEM, _NAMES[named["folder"]], hits, FRAME) if named else None


def _model_args(hits: Hits) -> Finding:
    """A dimension that launch command and checkpoint tell differently."""
    ours, wanted = hits.get("ours") or "", hits.get("wanted") or ""
    number = re.sub(r"\.0$", "", wanted)
    return found(
        PROBLEM, SHAPE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        ours=ours, got=hits.get("got"), theirs=hits.get("theirs"), wanted=number,
        option=_option(ours, number),
    )  # fmt: skip


def _option(name: str, value: str) -> str:
    """The option of the command line for an argument of Megatron; untying is a switch without a value."""
    if name == "untie_embeddings_and_output_weights":
        return (
            "no --untie-embeddings-and-output-weights" if value == "True" else "--untie-embeddings-and-output-weights"
        )
    return f"--{'norm-epsilon' if name == 'layernorm_epsilon' else name.replace('_', '-')} {value}"
