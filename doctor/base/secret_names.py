"""Which names of settings, variables and options stand for secrets, and which only sound like it.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from functools import lru_cache

from doctor.base.patterns import later

#: words by which a name tells that its value is a secret, wherever in the name they stand
_SECRET = frozenset({
    "sshpass", "storepass", "keypass",
    "secret", "secrets", "password", "passwords", "passwd", "passphrase", "passcode", "passwort",
    "kennwort", "pwd", "pw",
    "credential", "credentials", "creds", "cookie", "cookies", "apikey", "accesskey", "secretkey", "authkey",
    "authtoken", "authcode", "授权码", "accesstoken", "apitoken", "privatekey", "accountkey", "jwt", "webhook",
    "密码", "口令",
    "密钥", "令牌", "密碼", "パスワード", "비밀번호", "пароль", "contraseña", "contrasena", "senha", "hasło",
})  # fmt: skip
#: such words also end longer ones: PGPASSWORD, MYSQLPWD
_ENDS = (
    "password", "passwd", "passphrase", "pwd", "secret", "apikey", "authtoken", "accesstoken", "secretkey",
    "accesskey", "privatekey", "密码", "口令", "密钥", "令牌", "密碼", "パスワード", "비밀번호",
    "授权码", "秘钥",
)  # fmt: skip
#: what makes a `key` a secret: its kind, or the service that it opens
OF_KEY = frozenset({
    "api", "access", "secret", "private", "account", "auth", "authorization", "encryption", "signing", "master",
    "shared", "preshared", "psk", "service", "subscription", "app", "aes", "hmac", "ssh", "deploy", "license",
    "write", "storage",
    "admin", "session", "client", "wandb", "swanlab", "comet", "neptune", "mlflow", "clearml", "kaggle", "openai",
    "anthropic", "azure", "aws", "gcp", "aliyun", "alibaba", "tencent", "volc", "volcengine", "baidu", "dashscope",
    "zhipu", "deepseek", "moonshot", "qianfan", "modelscope", "hf", "hub", "ngc", "nvidia", "nim", "cohere",
    "mistral", "groq", "together", "replicate", "gemini", "google", "databricks", "stripe", "twilio", "sendgrid",
    "mailgun", "serpapi", "serper", "tavily", "bing", "exa", "jina", "e2b", "daytona", "judge", "wolfram",
    "cloudflare", "heroku", "datadog", "newrelic", "sentry", "feishu", "dingtalk", "lark", "wecom", "wechat", "ak",
    "s3", "oss", "minio", "fernet", "functions", "encrypt", "ray", "vllm", "sglang", "litellm", "openrouter",
})  # fmt: skip
#: what such a name may say behind `key`
_BEHIND_KEY = frozenset({"id", "ids", "data", "value", "b64", "base64", "secret", "json", "pem"})
#: whose `pass` is a password; alone, or behind other words, it is a run over data
_OF_PASS = frozenset({
    "db", "database", "smtp", "mail", "email", "imap", "user", "admin", "root", "login", "redis", "mongo", "mysql",
    "pg", "postgres", "postgresql", "rabbitmq", "ssh", "sudo", "ftp", "http", "https", "proxy", "registry", "docker",
    "git", "svn", "ldap", "es", "elastic", "kafka", "mq", "wifi", "vpn", "cert", "keystore", "truststore",
})  # fmt: skip
#: what ends in `pass` and is none
_NO_PASS = frozenset({"bypass", "compass", "surpass", "trespass", "overpass", "underpass", "encompass"})
#: what also names a folder, a number or nothing: whether it is a secret its value has to tell
_WEAK = frozenset({"pwd", "psk", "passe", "sk", "ak", "pat", "keys", "tokens"})
#: whose `key` is a digest by which something is found again: of a cache, a compiler, a data set
_OF_DIGEST = frozenset({
    "cache", "cached", "dataset", "data", "hash", "graph", "fx", "kernel", "compile", "triton", "inductor", "artifact",
    "fingerprint", "lookup", "sort", "group", "partition", "primary", "foreign", "row", "block", "prefix", "object",
})  # fmt: skip
#: whose value a person types, so that it may be a number
_OF_PASSWORD = (
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "pwd", "密码", "口令", "密碼",
    "パスワード", "비밀번호", "пароль", "contraseña", "senha",
)  # fmt: skip
_TOKENS = frozenset({"token", "hftoken", "hubtoken", "usertoken", "bottoken", "bearertoken", "sessiontoken", "idtoken",
                     # of ~/.docker/config.json: https://docs.docker.com/reference/cli/docker/login/
                     "identitytoken", "registrytoken"})  # fmt: skip
#: a `token` of a vocabulary or a count, by the word before it; and what stands in messages of parsers
VOCABULARY = frozenset({
    "eos", "bos", "pad", "padding", "unk", "unknown", "sep", "cls", "mask", "image", "img", "video", "audio",
    "vision", "stop", "special", "max", "min", "new", "num", "n", "end", "start", "eod", "eot", "eom", "im", "prev",
    "previous", "next", "first", "last", "per", "each", "input", "output", "prompt", "completion", "total",
    "decoder", "encoder", "forced", "begin", "suppress", "bad", "unexpected", "think", "thinking", "extra", "added",
    "fake", "draft", "spec", "bonus", "of", "the", "a", "this", "sampled", "generated", "response", "tool", "turn",
    "user", "assistant", "system", "role", "sequence", "logprob", "top", "current", "by", "target", "label",
    "class", "space", "word", "sub", "control", "vocab", "placeholder", "time", "ms", "s", "seconds", "cost",
    "illegal", "cpu", "avg", "mean", "boi", "eoi", "media", "patch", "begin_of", "end_of", "message", "newline",
    "tokens", "stream", "loss", "dispatch", "expert",
})  # fmt: skip
#: what a name goes on with that is about a secret and not one
HARMLESS_TAILS = frozenset({
    "name", "names", "path", "paths", "file", "files", "dir", "folder", "type", "types", "length", "len", "limit",
    "count", "size", "ref", "env", "method", "mode", "level", "expires", "expiry", "expiration", "ttl", "header",
    "headers", "format", "sock", "socket", "provider", "manager", "policy", "error", "errors", "exception",
    "required", "enabled", "disabled", "valid", "ids", "index", "indices", "port", "host", "plugin", "scheme",
    "func", "fn", "class", "cls", "hash_seed", "check", "checks", "backend", "store", "version", "status", "prefix",
    "scope", "scopes", "mask", "service", "set", "found", "handler", "middleware", "module", "server", "endpoint",
    "rate", "usage", "id_list",
})  # fmt: skip
#: shells' working folders
_FOLDERS = frozenset({"pwd", "oldpwd", "init_cwd", "pwd_dir", "old_pwd"})
_MOST = 200

_EDGE = later(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_SEPARATOR = later(r"[\W_]+")


def words_of(name: str) -> list[str]:
    """Words of a name, in small letters: `trainer.wandbKey` is trainer, wandb and key."""
    return [each.lower() for each in _EDGE.split(name[-_MOST:]) if each]


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a variable, key or option of this name holds a secret."""
    words = words_of(name)
    if not words or name.lower() in _FOLDERS or words[-1] in HARMLESS_TAILS:
        return False
    uncased = [each for each in _SEPARATOR.split(name.lower()) if each]  # also `PaSsWoRd`
    if any(each in _SECRET or (each.endswith(_ENDS) and each not in _FOLDERS) for each in (*words, *uncased)):
        return words != ["pwd"] or name != name.upper()
    if (
        words[-1] == "auth"
        or words[-2:] == ["oauth2", "bearer"]
        or (words[-1] == "pass" and words[-2:-1] and words[-2] in _OF_PASS)
    ):
        return True
    return _is_token(words) or _is_key(words)


def _is_token(words: list[str]) -> bool:
    last = [each for each in words if each not in {"id", "value", "b64", "base64"} or each == words[0]]
    if words[-1] == "tokens":
        return len(words) > 1 and words[-2] in {"access", "auth", "api", "refresh", "secret", "bearer"}
    if not last or last[-1] not in _TOKENS or words[-1] == "id":
        return False
    before = last[-2] if len(last) > 1 and last[-1] == "token" else ""
    return before not in VOCABULARY


def _is_key(words: list[str]) -> bool:
    for place in range(1, len(words)):
        if words[place] in {"key", "keys"} and words[place - 1] in OF_KEY:
            return place == len(words) - 1 or words[place + 1] in _BEHIND_KEY
    return words[:2] == ["key", "id"] and len(words) == 2


def is_bare(name: str) -> bool:
    """Whether the name is a word of everyday language, too, so that the value has to look like a secret itself."""
    words = words_of(name)
    return (
        words[-1:] == ["token"]
        and (len(words) == 1 or words[-2] in {"invalid", "wrong", "expired", "use", "missing", "no"})
    ) or words[-1:] in (["auth"], ["webhook"], ["jwt"])


def is_short(name: str) -> bool:
    """Whether the name is two letters that also stand for a measure, a power: a number with a unit is no secret."""
    return words_of(name)[-1:] == ["pw"]


@lru_cache(maxsize=4096)
def is_weak(name: str) -> bool:
    """Whether the value decides: `pass`, `dbpass`, `pwd`, `sk` and `X_KEY` hold a secret if it looks like one."""
    words = words_of(name)
    last = words[-1:]
    if last == ["key"]:
        return len(words) > 1
    return bool(last) and (last[0] in _WEAK or (last[0].endswith("pass") and last[0] not in _NO_PASS))


def names_digest(name: str) -> bool:
    """Whether the key of this name finds something again, so that a long number of it opens nothing."""
    words = words_of(name)
    return len(words) > 1 and words[-2] in _OF_DIGEST


def is_of_password(name: str) -> bool:
    """Whether the name is of a password or a passphrase, which may consist of digits alone."""
    return words_of(name)[-1:] != [] and words_of(name)[-1].endswith(_OF_PASSWORD)
