"""What a value under the name of a secret looks like: a secret, or a switch, a number, a place, code, a plain word.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.base.secret_names import (
    is_bare,
    is_of_password,
    is_secret_name,
    is_short,
    is_weak,
    names_digest,
    words_of,
)  # fmt: skip

#: values that say only whether something is there, hold its place in an example, or name where it is taken from
_HARMLESS = later(
    r"(?i)(?:\*.*|[|>][+\-\d]{0,2}|\.\.\..*|x{3,}|empty|none|null|nil|nan|(?:un)?set|true|false|yes|no|on|off|auto|default|optional|required|"
    r"redacted|hidden|missing|invalid|not|[\w.\-]{1,80}:|\[?redacted\]?|-?\d{1,6}(?:\.\d{0,6})?|[<\[({].*|\$.*|%.*|os\.environ.*|os\.getenv.*|getenv.*|"
    r"(?:self|args|cfg|config|opts?|settings|cls|kwargs|env)[.\[].*|(?:Optional|Union|Annotated|Literal|List|Dict)\[.*|"
    r"str|bool|int|bytes|Any|SecretStr.*|\w{1,40}\.(?:py|pyi|cc?|cpp|cu|h):?\d*|oc\.env.*|@.*|file:.*|env:.*|value|await|lambda|new)\Z"
)
#: a word behind `token:` that is a piece of a vocabulary or of a sentence, not a credential
_LOOKS_MADE = later(
    r"(?=[A-Za-z_\-+/=.]{0,400}[0-9])[\w\-+/=.:~]{8,}\)?\Z|(?![A-Za-z_]{1,60}(?:\.[A-Za-z_]{1,60}){1,6}\Z)[\w\-+/=.]{16,}\)?\Z|"
    r"[A-Za-z][\w.@\-]{0,63}:(?=[^\s\d]{0,60}[0-9])[^\s/:]{6,200}\Z"  # who, and the password
)
#: a number with its unit, or a shape
_MEASURE = later(r"[-+]?[0-9.,]{1,20}(?:e[-+]?[0-9]{1,3})?\s?(?:[A-Za-z%\u00b5\u03bc]{1,3}|x[0-9]{1,6})?\Z")
#: a path in the place of a secret: of a file that holds it
_PATH = later(r"(?:~|\.{1,2}|/[a-z]{2,20})(?:/[\w.\-]+)+/?\Z|[A-Za-z]:\\[\w.\\\-]+\Z")
#: a call or an attribute in a line of code
_CODE = later(
    r"(?!(?=[A-Za-z]{0,20}[0-9])(?=[^A-Z(]{0,20}[A-Z])(?=[^a-z(]{0,20}[a-z])\w{2,20}\()[A-Za-z_][\w.]{0,80}\(.*\Z"
)
#: a number that is long enough to be typed as a password
_DIGITS = later(r"[0-9]{4,}\Z")
#: a password that begins like a placeholder; `${`, `$(`, `%(`, `@/` and `***` do not begin one
_BEGINS_ODDLY = later(
    r"[*%@$#](?![{(*/.])(?=[^0-9]{0,80}[0-9])(?=[^A-Z]{0,80}[A-Z])(?=[^a-z]{0,80}[a-z])[^\s/{}()<>]{6,}\Z"
)
#: what people type as a password: letters and digits, and nothing that paths, lists or calls need
_TYPED = later(r"(?=[^0-9]{0,80}[0-9])(?=[^A-Za-z]{0,80}[A-Za-z])[^\s/\\(){}\[\]<>,;:|]{6,200}\Z")
#: the same of what has a name or a unit: `step100`, `first_pass_2`, `FuseConv2d`, `1.5e-05`, `0x1f`, `sha256`
_ORDINARY = later(
    r"(?:(?i:step|epoch|pass|phase|stage|layer|run|rank|node|gpu|cuda|cpu|host|worker|group|team|block|batch|iter|round|"
    r"trial|test|part|shard|chunk|level|version|model|train|bench|rack|team|user|room|sha|md|oauth|auth|aes|tls|ssl|"
    r"http|base|utf|ed|rs|hs|es|ps|fp|bf|int|uint|float|qwen|llama)[a-z]{0,3}[_\-.]?[0-9][0-9.\-_]{0,12}[a-z]{0,3}|"
    r"[A-Za-z]?[a-z]{0,30}(?:[_\-.][a-z0-9]{1,30}){1,12}|(?:[A-Z][a-z]{2,20}[0-9]?[a-z]?){2,8}|[A-Z]{2,6}[a-z]{3,20}[0-9]?|"
    r"[vV]?[0-9][0-9.,]{0,20}(?:e[-+]?[0-9]{1,3})?[A-Za-z%]{0,12}[0-9]{0,4}|0x[0-9a-fA-F]{1,40}|"
    r"\$.*|%.*|@.*|\*.*|\w{1,60}\.[a-z]{1,6}[0-9]?)\Z"
)
#: letters and digits as nobody types them, but a generator makes
_GENERATED = later(r"(?=[^0-9]{0,80}[0-9])(?=[^A-Za-z]{0,80}[A-Za-z])[\w\-+/=.]{20,400}\Z")
#: what is neither the name of a layer nor a word
_RANDOM = later(
    r"(?=[^0-9]{0,80}[0-9])(?:(?=[^a-z]{0,80}[a-z])(?=[^A-Z]{0,80}[A-Z])[A-Za-z0-9\-+/=]{20,400}|[0-9a-f]{32,128})\Z"
)
_BOTH_SIZES = later(r"(?=[^a-z]{0,80}[a-z])(?=[^A-Z]{0,80}[A-Z])")
_LONGEST_NAME = 40


def is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret by its name and its looks.

    Args:
        name: of the setting, option or variable, as it is written.
        value: without its quotes.

    """
    if is_secret_name(name):
        return bool(value) and not is_harmless(name, value)
    if not is_weak(name):
        return False
    last = words_of(name)[-1]
    if last in {"ak", "sk", "pat"}:
        return bool(_GENERATED.match(value)) and not _PATH.match(value)
    if last in {"key", "keys", "tokens"}:
        return bool(_RANDOM.match(value)) and not names_digest(name)
    return looks_typed(value) and (last != "pwd" or bool(_BOTH_SIZES.match(value)))


def looks_typed(value: str) -> bool:
    """Whether a value looks like a password of letters and digits rather than a word, a number or a name."""
    return bool(_TYPED.match(value)) and not _ORDINARY.match(value)


def is_harmless(name: str, value: str) -> bool:
    """Whether the value under a secret's name is a switch, a number, a place to look at, or code."""
    if is_of_password(name) and (_DIGITS.match(value) or _BEGINS_ODDLY.match(value)):
        return False
    if _HARMLESS.match(value) or _PATH.match(value) or _CODE.match(value):
        return True
    if is_bare(name) and not _LOOKS_MADE.match(value):
        return True
    if is_short(name) and _MEASURE.match(value):
        return True
    own = words_of(value) if len(value) < _LONGEST_NAME else []
    return bool(own) and set(own) <= set(words_of(name))
