"""Secrets of many kinds, made when a test runs: nothing in this file looks like one to a scanner of repositories."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits
BASE64 = WORD + "+/"


@dataclass(frozen=True)
class Planted:
    """A secret as it stands in text; `needles` are pieces of it that nobody may read."""

    name: str
    text: str
    needles: tuple[str, ...]

    def leaks(self, shown: str) -> list[str]:
        """Needles that a shown text still holds, however it is broken into lines or escaped."""
        joined = _joined(shown)
        return [each for each in self.needles if each in shown or each in joined]


@lru_cache(maxsize=2)
def _joined(shown: str) -> str:
    """A text without its spaces and line ends; all that is planted is looked for in the same one."""
    return "".join(shown.split())


def random_text(seed: str, alphabet: str, length: int) -> str:
    """Text of at least one digit, one capital and one small letter, where the alphabet has them."""
    chance = random.Random(seed)  # noqa: S311 - made up, and the same in every run
    text = "".join(chance.choice(alphabet) for _ in range(length - 3))
    kinds = (string.digits, string.ascii_uppercase, string.ascii_lowercase)
    return text + "".join(chance.choice([each for each in kind if each in alphabet] or alphabet) for kind in kinds)


#: name, what stands before the secret, alphabet, length, what stands behind it
Row = tuple[str, str, str, int, str]

_UUID = "{}-{}-{}-{}-{}"

_TOKENS: tuple[Row, ...] = (
    ("Hugging Face", "hf" + "_", string.ascii_letters, 34, ""),
    ("Hugging Face organisation", "api" + "_org_", string.ascii_letters, 34, ""),
    ("OpenAI", "sk" + "-", WORD, 48, ""),
    ("OpenAI project", "sk" + "-proj-", WORD + "_-", 100, ""),
    ("OpenAI service account", "sk" + "-svcacct-", WORD + "_-", 100, ""),
    ("Anthropic", "sk" + "-ant-api03-", WORD + "_-", 93, "AA"),
    ("DeepSeek", "sk" + "-", HEX, 32, ""),
    ("OpenRouter", "sk" + "-or-v1-", HEX, 64, ""),
    ("Groq", "gsk" + "_", WORD, 52, ""),
    ("xAI", "xai" + "-", WORD, 80, ""),
    ("Perplexity", "pplx" + "-", WORD, 48, ""),
    ("Replicate", "r8" + "_", WORD, 37, ""),
    ("NVIDIA NGC", "nvapi" + "-", WORD + "_-", 64, ""),
    ("wandb of today", "wandb" + "_v1_", WORD, 40, ""),
    ("Neptune", "eyJhcGlfYWRk" + "cmVzcyI6", WORD, 120, "=="),
    ("GitHub personal", "gh" + "p_", WORD, 36, ""),
    ("GitHub OAuth", "gh" + "o_", WORD, 36, ""),
    ("GitHub user to server", "gh" + "u_", WORD, 36, ""),
    ("GitHub server to server", "gh" + "s_", WORD, 36, ""),
    ("GitHub refresh", "gh" + "r_", WORD, 36, ""),
    ("GitHub fine-grained", "github" + "_pat_", WORD + "_", 82, ""),
    ("GitLab personal", "gl" + "pat-", WORD + "_-", 20, ""),
    ("GitLab deploy", "gl" + "dt-", WORD + "_-", 20, ""),
    ("GitLab runner", "gl" + "rt-", WORD + "_-", 20, ""),
    ("GitLab trigger", "gl" + "ptt-", HEX, 40, ""),
    ("npm", "npm" + "_", WORD, 36, ""),
    ("PyPI", "pypi" + "-AgEIcHlwaS5vcmc", WORD + "_-", 80, ""),
    ("Docker", "dckr" + "_pat_", WORD + "_-", 27, ""),
    ("AWS key id", "AK" + "IA", string.ascii_uppercase + "234567", 16, ""),
    ("AWS temporary key id", "AS" + "IA", string.ascii_uppercase + "234567", 16, ""),
    ("Amazon Bedrock", "AB" + "SK", BASE64, 110, "="),
    ("Alibaba Cloud key id", "LT" + "AI", WORD, 20, ""),
    ("Tencent Cloud", "AK" + "ID", WORD, 32, ""),
    ("Volcengine", "AK" + "LT", WORD, 44, ""),
    ("Baidu AI Cloud", "bce-v3/AL" + "TAK-", WORD, 21, ""),
    ("Google API", "AI" + "za", WORD + "_-", 35, ""),
    ("Google OAuth", "ya29" + ".", WORD + "_-", 120, ""),
    ("Google client", "GOC" + "SPX-", WORD + "_-", 28, ""),
    ("DigitalOcean", "dop" + "_v1_", HEX, 64, ""),
    ("Cloudflare origin", "v1" + ".0-" + "ab" * 12 + "-", HEX, 146, ""),
    ("Heroku", "HRKU" + "-AA", WORD + "_-", 58, ""),
    ("Databricks", "da" + "pi", HEX, 32, ""),
    ("Vault", "hv" + "s.", WORD + "_-", 95, ""),
    ("age", "AGE-SECRET" + "-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, ""),
    ("Slack bot", "xox" + "b-123456789012-123456789012-", WORD, 24, ""),
    ("Slack user", "xox" + "p-123456789012-123456789012-123456789012-", WORD, 32, ""),
    ("Slack app", "xa" + "pp-1-A0123456789-1234567890123-", HEX, 64, ""),
    ("Stripe", "sk" + "_live_", WORD, 24, ""),
    ("Stripe restricted", "rk" + "_test_", WORD, 40, ""),
    ("Twilio", "S" + "K", HEX, 32, ""),
    ("Mailgun", "ke" + "y-", HEX, 32, ""),
    ("Grafana", "gl" + "sa_", WORD, 32, "_0a1b2c3d"),
    ("Supabase", "sb" + "p_", HEX, 40, ""),
    ("Terraform", "Ab1" * 4 + "Zz" + ".atlas" + "v1.", WORD + "_-", 64, ""),
    ("Pulumi", "pu" + "l-", HEX, 40, ""),
    ("Linear", "lin" + "_api_", WORD, 40, ""),
    ("Sentry", "sntr" + "yu_", HEX, 64, ""),
    ("Shopify", "shp" + "at_", HEX, 32, ""),
    ("Postman", "PM" + "AK-" + "0a" * 12 + "-", HEX, 34, ""),
    ("1Password", "ops" + "_eyJ", WORD, 260, "="),
    ("Prefect", "pn" + "u_", WORD, 36, ""),
    ("OpenShift", "sha256" + "~", WORD + "_-", 43, ""),
)

_AROUND: tuple[Row, ...] = (
    ("a password in an address", "https://alice:", WORD, 14, "@proxy.example:8080/simple"),
    ("a password in an address without a scheme", "http_proxy=alice:", WORD, 14, "@10.0.0.1:8080"),
    ("a password of a mirror without a scheme", "`alice:", WORD, 14, "@mirror.example`"),
    ("a token in an address", "git+https://", WORD, 30, "@git.example/x.git"),
    ("a database's address", "postgresql://trainer:", WORD, 12, "@db.example:5432/optuna"),
    ("Redis without user", "rediss://:", WORD, 18, "@cache.example:6379/0"),
    ("a signed address of S3", "https://b.s3.example/x?X-Amz-Date=20260101T000000Z&X-Amz-Signature=", HEX, 64, ""),
    ("a signed address of OSS", "https://b.oss.example/x?Expires=1760000000&Signature=", WORD, 28, ""),
    ("Azure's shared access", "https://a.blob.core.example/c?sv=2024-11-04&se=2027-01-01&sig=", WORD, 44, ""),
    ("Azure's account key", "DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key=", BASE64, 86, "=="),
    ("Aliyun's secret", "AccessKey" + "Secret: ", WORD, 30, ""),
    ("AWS secret", "aws_secret_access" + "_key = ", BASE64, 40, ""),
    ("wandb on a command line", "wandb lo" + "gin ", HEX, 40, ""),
    ("wandb relogin", "wandb lo" + "gin --relogin ", HEX, 40, ""),
    ("wandb in a configuration", "trainer.wandb" + "_key=", HEX, 40, ""),
    ("wandb in JSON", '{"wandb": {"enabled": true, "ke' + 'y": "', HEX, 40, '"}}'),
    ("wandb's call", "wandb.login(ke" + 'y="', HEX, 40, '")'),
    ("SwanLab", "swanlab lo" + "gin -k ", WORD, 21, ""),
    ("comet", "COMET_API" + "_KEY=", WORD, 25, ""),
    ("ClearML", "api.credentials.secret" + '_key: "', WORD, 48, '"'),
    ("MLflow", "MLFLOW_TRACKING" + "_PASSWORD=", WORD, 12, ""),
    ("Kaggle", '{"username":"alice","ke' + 'y":"', HEX, 32, '"}'),
    ("ModelScope", "modelscope lo" + "gin --token ", HEX + "-", 36, ""),
    ("PGPASSWORD", "PG" + "PASSWORD=", WORD, 9, " psql -h db"),
    ("MYSQL_PWD", "MYSQL" + "_PWD=", WORD, 9, ""),
    ("a passphrase", "SSH_KEY_PASS" + "PHRASE='", WORD + " ", 24, "'"),
    ("mysql -p", "mysql -h db -u root -" + "p", WORD, 10, " runs"),
    ("sshpass", "sshpass -" + "p ", WORD, 10, " ssh host"),
    ("ngrok", "ngrok config add-auth" + "token ", WORD + "_", 49, ""),
    ("item of the environment", 'os.environ["DB_PASS' + 'WORD"] = "', WORD, 24, '"'),
    ("item, single quotes", "settings['wandb']['api_" + "key'] = '", WORD, 24, "'"),
    ("curl -u", "curl -s -" + "u alice:", WORD, 14, " https://x.example"),
    ("docker login", "docker lo" + "gin -u alice -p ", WORD, 16, " reg.example"),
    ("redis-cli", "redis-cli -h r -" + "a ", WORD, 16, " ping"),
    ("an option", "--hub" + "-token ", WORD, 20, " --max_steps 3"),
    ("an option with =", "--wandb_api" + "_key=", HEX, 40, ""),
    ("a header", "Author" + "ization: Bearer ", WORD, 40, ""),
    ("a header of basic", "author" + "ization: Basic ", WORD, 32, "=="),
    ("a header of its own", "X-Api" + "-Key: ", WORD, 24, ""),
    ("a header as a tuple", "('x-api" + "-key', '", WORD, 24, "')"),
    ("a cookie", "Coo" + "kie: _ga=GA1; session=", WORD, 40, "; theme=dark"),
    ("a set cookie", "Set-Coo" + "kie: csrftoken=", WORD, 32, "; Path=/"),
    ("netrc", "machine api.example login user pass" + "word ", WORD, 40, ""),
    (".pgpass", "db.example:5432:optuna:trainer:", WORD, 14, ""),
    ("docker's config", '{"auths": {"reg.example": {"au' + 'th": "', WORD, 40, '"}}}'),
    ("kubeconfig's token", "    tok" + "en: ", WORD, 48, ""),
    ("kubeconfig's key", "    client-key" + "-data: ", WORD, 120, "=="),
    ("a variable of a container", '{"name": "HF' + '_TOKEN", "value": "', WORD, 20, '"}'),
    ("escaped JSON", '{\\"pass' + 'word\\": \\"', WORD, 12, '\\"}'),
    ("XML", "<pass" + "word>", WORD, 12, "</password>"),
    ("a Namespace", "Namespace(lr=1e-06, hub" + "_token='", WORD, 24, "', seed=1)"),
    ("OpenAI's refusal", "Incorrect API key pro" + "vided: ", WORD, 24, ". You can find"),
    ("Chinese words", "登录密" + "码:", WORD, 12, ""),
    ("Slack's hook", "https://hooks.slack.com/ser" + "vices/T0123ABCD/B0123ABCD/", WORD, 24, ""),
    ("Discord's hook", "https://discord.com/api/web" + "hooks/123456789012345678/", WORD + "_-", 68, ""),
    ("Feishu's hook", "https://open.feishu.cn/open-apis/bot/v2/ho" + "ok/", HEX + "-", 36, ""),
    ("WeCom's hook", "https://qyapi.weixin.qq.com/cgi-bin/webhook/se" + "nd?key=", HEX + "-", 36, ""),
    ("DingTalk's hook", "https://oapi.dingtalk.com/robot/send?access_to" + "ken=", HEX, 64, ""),
    ("Telegram", "https://api.telegram.org/bot123456789:" + "A", WORD + "_-", 34, "/getMe"),
    ("SendGrid", "SG" + "." + "Ab3dEf6hIj9lMn2pQr5tUv" + ".", WORD + "_-", 43, ""),
    ("Discord", "M" + "Tk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ.", WORD + "_-", 27, ""),
    ("Entra ID", "ab" + "18Q~", WORD, 34, ""),
    ("Mailchimp", "mail: ", HEX, 32, "-us12"),
    ("openssl", "openssl rsa -passin pa" + "ss:", WORD, 14, " -in k.pem"),
)


#: added later, and not looked at by whoever had written the expressions
_LATER: tuple[Row, ...] = (
    ("Airtable", "pa" + "tAb3dEf6hIj9lM2." + "", HEX, 64, ""),
    ("Figma", "fig" + "d_", WORD + "_-", 40, ""),
    ("Dropbox", "s" + "l.B", WORD + "_-", 136, ""),
    ("Fireworks", "f" + "w_", WORD, 24, ""),
    ("Tavily", "tv" + "ly-dev-", WORD, 32, ""),
    ("LangSmith", "lsv2" + "_pt_", HEX, 32, "_0a1b2c3d4e"),
    ("Langfuse", "sk" + "-lf-", HEX + "-", 36, ""),
    ("Contentful", "CF" + "PAT-", WORD + "_-", 43, ""),
    ("Cerebras", "cs" + "k-", WORD, 48, ""),
    ("wandb's own server", "local" + "-", HEX, 40, ""),
    ("RunPod", "rp" + "a_", UPPER, 43, ""),
    ("Modal", "a" + "s-", WORD, 22, ""),
    ("Together", "tg" + "p_v1_", WORD + "_-", 43, ""),
    ("Voyage", "p" + "a-", WORD + "_-", 43, ""),
    ("Jina", "ji" + "na_", WORD, 60, ""),
    ("Pinecone", "pc" + "sk_", WORD + "_", 70, ""),
    ("Buildkite", "bk" + "ua_", HEX, 40, ""),
    ("CircleCI", "CCI" + "PAT_", WORD, 22, "_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"),
    ("Netlify", "nf" + "p_", WORD, 36, ""),
    ("Azure's storage alone", "", BASE64, 76, "+A" + "StAb3dEf=="),
    ("Notion of old", "sec" + "ret_", WORD, 43, ""),
    ("Vault of old", "s" + ".", WORD, 24, ""),
    ("Adafruit", "ai" + "o_", WORD, 28, ""),
    ("a variable called pass", "DB" + "_PASS=", WORD, 11, ""),
    ("a mail server's", "smtp_pass" + ': "', WORD, 13, '"'),
    ("a preshared key", "Preshared" + "Key = ", BASE64, 43, "="),
    ("requests' pair", "requests.get(u, au" + 'th=("alice", "', WORD, 13, '"))'),
    ("aiohttp's pair", "Basic" + "Auth('alice', '", WORD, 13, "')"),
    ("YAML's block", "pass" + "word: |\n    ", WORD, 16, ""),
    ("YAML's folded block", "api_" + "key: >-\n  ", WORD, 24, ""),
    ("TOML's three quotes", "pass" + 'word = """', WORD, 16, '"""'),
    ("Dockerfile's ENV", "ENV HF" + "_TOKEN ", WORD, 24, ""),
    ("csh", "setenv WANDB_API" + "_KEY ", HEX, 40, ""),
    ("fish", "set -x OPENAI_API" + "_KEY ", WORD, 24, ""),
    ("aws configure", "aws configure set aws_secret_access" + "_key ", BASE64, 40, ""),
    ("ldapsearch", "ldapsearch -x -D cn=a -" + "w ", WORD, 12, " -b dc=x"),
    ("plink", "plink -ssh -" + "pw ", WORD, 12, " host"),
    ("7z", "7z x a.7z -" + "p", WORD, 12, ""),
    ("twine", "twine upload -u alice -" + "p ", WORD, 16, " dist/x.whl"),
    ("htpasswd", "htpasswd -" + "b f alice ", WORD, 12, ""),
    ("a shadow entry", "alice:$6$Ab3dEf6h$", WORD + "./", 86, ":19000:0"),
    ("ServerChan", "https://sctapi.ftqq.com/SC" + "T123T", WORD, 28, ".send"),
    ("Zapier's hook", "https://hooks.zapier.com/hooks/ca" + "tch/1234567/", WORD, 7, "/"),
    ("Azure function", "https://x.azurewebsites.example/api/f?co" + "de=", WORD, 54, "=="),
    ("percent-encoded JSON", "%7B%22pass" + "word%22%3A%22", WORD, 14, "%22%7D"),
    ("npm's configuration", "//registry.example/:_auth" + "Token=", HEX + "-", 36, ""),
    ("a JSON web key", '{"kty": "RSA", "n": "AQAB", "' + 'd": "', WORD + "_-", 86, '"}'),
    ("kubectl", "kubectl create sec" + "ret generic x --from-literal=a=", WORD, 16, ""),
    ("git's helper", "protocol=https\nhost=x.example\nusername=a\npass" + "word=", WORD, 16, ""),
    ("a header of GitLab", "PRIVATE" + "-TOKEN: ", WORD, 20, ""),
)


#: later still, in the same way: what people type, say and paste
_SAID: tuple[Row, ...] = (
    ("a sentence", "my pass" + "word is ", WORD, 12, ""),
    ("a sentence of the past", "the database pass" + "word was ", WORD, 12, " yesterday"),
    ("a sentence of a user", "the pass" + "word for alice is now ", WORD, 12, ", tell nobody"),
    ("a sentence of a token", "my HF to" + "ken is ", WORD, 30, ", please help"),
    ("a sentence of a key", "I set the api k" + "ey to ", WORD, 32, " and it works"),
    ("a sentence, Chinese", "我的密" + "码是", WORD, 12, ""),
    ("a token, Chinese", "访问令" + "牌为 ", WORD, 30, "。"),
    ("an unknown program's -p", "mytool -h db -" + "p", WORD, 18, " run"),
    ("an unknown program's -p and a blank", "mytool -u root -" + "p ", WORD, 18, " run"),
    ("a here string", "docker lo" + "gin -u a --password-stdin <<< ", WORD, 16, ""),
    ("a pipe to a login", "echo '", WORD, 18, "' | huggingface-cli lo" + "gin"),
    ("a pipe to stdin", "printf ", WORD, 18, " | gpg --batch --passphrase-" + "fd 0 -d x"),
    ("rclone", "rclone config create r s3 secret_access" + "_key ", WORD, 40, ""),
    ("az", "az lo" + "gin --service-principal -u 0a1b -p ", WORD + "~", 34, " --tenant t"),
    ("cifs", "mount -t cifs //h/s /mnt -o username=a,pass" + "word=", WORD, 12, ",vers=3.0"),
    ("sqlplus", "sqlplus scott/", WORD, 12, "@" + "orcl"),
    ("openssl enc", "openssl enc -aes-256-cbc -d -" + "k ", WORD, 16, " -in x"),
    ("expect", 'expect "ass' + 'word:" { send "', WORD, 14, '\\r" }'),
    ("a YAML anchor", "pass" + "word: &pw ", WORD, 14, ""),
    ("a YAML tag", "api_" + "key: !!str ", WORD, 32, ""),
    ("a login's argument", "huggingface_hub.lo" + 'gin("', WORD, 34, '")'),
    ("a secure string", "ConvertTo-Secure" + 'String "', WORD, 14, '" -AsPlainText -Force'),
    ("oauth2", "curl --oauth2-be" + "arer ", WORD, 40, " https://x.example"),
    ("httpie", "http -" + "a alice:", WORD, 14, " GET x.example"),
    ("sshpass's variable", "SSH" + "PASS=", WORD, 12, " sshpass -e ssh h"),
    ("HubSpot", "pa" + "t-na1-", HEX, 8, "-0a1b-2c3d-4e5f-0123456789ab"),
    ("Tailscale", "ts" + "key-auth-k1A2b3C4CNTRL-", WORD, 32, ""),
    ("LlamaCloud", "ll" + "x-", WORD, 48, ""),
    ("Firebase", "AAAA1b2C3d4:APA" + "91b", WORD + "_-", 134, ""),
    ("Okta", "SS" + "WS 00", WORD + "_-", 40, ""),
    ("net use", "net use x: /us" + "er:a ", WORD, 12, ""),
    ("words of a command in a list", "['--api-" + "key', '", WORD, 30, "', '--x']"),
    ("a list in a Namespace", "Namespace(api_" + "key=['", WORD, 24, "'], port=8000)"),
    ("a wrapped string", "Config(pass" + "word=SecretStr('", WORD, 14, "'))"),
    ("ODBC", "Driver=x;Server=h;Uid=a;P" + "wd=", WORD, 12, ";"),
    ("an inline table", 'auth = { user = "a", pa' + 'ss = "', WORD, 12, '" }'),
    ("wandb's prompt", "wandb: Paste an API k" + "ey from your profile and hit enter: ", HEX, 40, ""),
    ("a prompt of the hub", "Enter your to" + "ken (input will not be visible): ", WORD, 34, ""),
    ("Slurm's export", "sbatch --export=ALL,HF" + "_TOKEN=", WORD, 34, ",N=1 job.sh"),
    ("a build's argument", "docker build --build-arg GH" + "_TOKEN=", WORD, 30, " ."),
    ("helm", "helm install x --set auth.pass" + "word=", WORD, 14, ",b=1"),
    ("a cluster's secret", "data:\n  pass" + "word: ", BASE64, 23, "="),
    ("PowerShell", "$env:HF" + '_TOKEN = "', WORD, 34, '"'),
    ("JDBC", "jdbc:postgresql://h/db?user=a&pass" + "word=", WORD, 12, "&ssl=true"),
    ("a server's key", "vllm serve m --api" + "-key ", WORD, 24, " --port 1"),
    ("setdefault", 'os.environ.setdefault("MY' + '_TOKEN", "', WORD, 30, '")'),
    ("a pass phrase", "Enter pass ph" + "rase for key.pem: ", WORD, 14, ""),
    ("ssh-keygen", "ssh-key" + "gen -t rsa -N ", WORD, 14, " -f k"),
    ("keytool", "keytool -store" + "pass ", WORD, 12, " -list"),
    ("a header in an address", "Authorization%3A%20Bea" + "rer%20", WORD, 40, ""),
    ("a token that was", "KeyError: 'hf'; token w" + "as ", WORD, 34, ""),
    ("a sentence, German", "Mein Pass" + "wort ist ", WORD, 12, ""),
    ("a list in YAML", "api_" + "keys:\n  - ", WORD, 40, ""),
    ("PuTTY's key", "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n", BASE64, 64, "\nPrivate-MAC: 0a1b"),
)


#: and again: programs, tables, other languages and short names
_TYPED_IN: tuple[Row, ...] = (
    ("sqlcmd", "sqlcmd -S h -U sa -" + "P ", WORD, 12, " -Q x"),
    ("mosquitto", "mosquitto_pub -u a -" + "P ", WORD, 12, " -t x"),
    ("ipmitool", "ipmitool -I lanplus -H h -U root -" + "P ", WORD, 12, " power status"),
    ("snmp, twice", "snmpwalk -v3 -u a -A Ab3dEf6h -" + "X ", WORD, 12, " h"),
    ("obsutil", "obsutil config -i=AB12 -" + "k=", WORD, 40, " -e=x"),
    ("coscmd", "coscmd config -a AB12 -" + "s ", WORD, 32, " -b b"),
    ("xfreerdp", "xfreerdp /u:a /" + "p:", WORD, 12, " /v:h"),
    ("nmcli", "nmcli dev wifi connect x pass" + "word ", WORD, 12, ""),
    ("lftp", "lftp -" + "u alice,", WORD, 12, " sftp://h"),
    ("mc alias", "mc alias set m http://h:9000 minio ", WORD, 24, ""),
    ("poetry's token", "poetry config pypi-tok" + "en.x ", WORD, 40, ""),
    ("poetry's password", "poetry config http-basic.x alice ", WORD, 14, ""),
    ("vault's last value", "vault kv put kv/x ttl=3 api=Ab3dEf6h b=", WORD, 14, ""),
    (
        "kubectl's second literal",
        "kubectl create sec" + "ret generic x --from-literal=a=Ab3dEf6h --from-literal=b=",
        WORD,
        16,
        "",
    ),
    ("-u of an unknown program", "ntfy pub -" + "u alice:", WORD, 14, " topic"),
    ("a curl's cookie", "curl -" + "b 'sid=", WORD, 24, "' h"),
    ("chpasswd", "echo 'alice:", WORD, 12, "' | chpass" + "wd"),
    ("kinit", "echo ", WORD, 12, " | kin" + "it alice"),
    ("a mail server's login", "smtp.log" + "in('alice@x.example', '", WORD, 12, "')"),
    ("FTP", "FT" + "P('h', 'alice', '", WORD, 12, "')"),
    ("object storage", "oss2.Au" + "th('x', '", WORD, 30, "')"),
    ("Fernet", "Fer" + "net(b'", WORD + "-_", 43, "=')"),
    ("a channel of conda", "https://conda.example/t/", WORD, 30, "/me"),
    ("Jupyter's hash", "sha" + "1:0a1b2c3d4e5f:", HEX, 40, ""),
    ("a hook's address", "https://x.example/ho" + "ok/", WORD, 24, ""),
    ("a short option", "openxlab log" + "in --s" + "k ", WORD, 30, ""),
    ("two letters", "VOLC_S" + "K=", WORD, 40, ""),
    ("two letters in JSON", '{"s' + 'k": "', WORD, 32, '"}'),
    ("pass alone", "pa" + "ss: ", WORD, 10, ""),
    ("pass in JSON", '{"user": "a", "pa' + 'ss": "', WORD, 10, '"}'),
    ("pass at the end of a word", "ansible_become_pa" + "ss=", WORD, 10, ""),
    ("PASS in an environment", "NEXUS_PA" + "SS=", WORD, 10, ""),
    ("pwd", '{"p' + 'wd": "', WORD, 10, '"}'),
    ("capitals in between", "PaSs" + "WoRd=", WORD, 10, ""),
    ("a service's key", "MINIMAX_K" + "EY=", WORD, 32, ""),
    ("psk", "ps" + 'k="', WORD, 12, '"'),
    ("members of auth", "au" + "th: {bob: ", WORD, 10, "}"),
    ("a list of auth", "au" + "th: [bob, ", WORD, 10, "]"),
    ("auth's pair in one", "basic_au" + "th: bob:", WORD, 10, ""),
    ("cookies of a session", "cook" + "ies={'session': '", WORD, 30, "'}"),
    ("a name and a value in XML", "<name>fs.s3a.secret.k" + "ey</name>\n<value>", WORD, 30, "</value>"),
    ("attributes of XML", "<add k" + 'ey="Password" value="', WORD, 12, '"/>'),
    ("a row of a table", "| pass" + "word | ", WORD, 12, " |"),
    ("a row of a drawn table", "│ wandb_k" + "ey │ ", HEX, 40, " │"),
    ("a row with dots", "hub_tok" + "en ........... ", WORD, 30, ""),
    ("an arrow", "pass" + "word -> ", WORD, 12, ""),
    ("a comparison", "environ['X_TOK" + "EN'] == '", WORD, 24, "'"),
    ("an annotated default", "hub_tok" + "en: Optional[str] = '", WORD, 24, "'"),
    ("an escaped sign", "pass" + "word%3D", WORD, 12, ""),
    ("a password that begins oddly", "pass" + "word: @", WORD, 12, ""),
    ("an instruction", "use pass" + "word ", WORD, 12, " to get in"),
    ("an account", "account bob / ", WORD, 12, ""),
    ("a word of German", "Das Pass" + "wort lautet: ", WORD, 12, ""),
    ("a word of French", "mot de pas" + "se : ", WORD, 12, ""),
    ("a word of Spanish", "la contra" + "seña es ", WORD, 12, ""),
    ("a word of Russian", "пар" + "оль: ", WORD, 12, ""),
    ("a word of Japanese", "パスワ" + "ードは ", WORD, 12, ""),
    ("a word of Korean", "비밀" + "번호: ", WORD, 12, ""),
    ("a key, Chinese", "我的 API k" + "ey 是 ", WORD, 30, ""),
)


#: defaults, pieces and second items, what stands in a cluster's Secret, and keys that are arguments of a call
_GIVEN: tuple[Row, ...] = (
    ("a default of the shell", "DB_PASS" + 'WORD="${DB_PASS' + "WORD:-", WORD, 14, '}"'),
    ("a default of OmegaConf", "wandb_k" + "ey: ${oc.env:WANDB_API_K" + "EY,", HEX, 40, "}"),
    ("a default behind or", "environ.get('OPENAI_API_K" + "EY') or '", WORD, 40, "'"),
    ("argparse's default", "add_argument('--api_k" + "ey', type=str, default='", WORD, 30, "', help='x')"),
    ("Terraform's default", 'variable "db_pass' + 'word" {\n  default = "', WORD, 14, '"\n}'),
    ("a value below its name", '"api_k' + 'ey":\n    "', WORD, 40, '"'),
    ("a value in brackets below", "API_K" + "EY = (\n    '", WORD, 40, "'\n)"),
    ("the second piece", "api_k" + "ey = 'sk-' + '", WORD, 40, "'"),
    ("the second of a list", "OPENAI_API_K" + "EYS=" + "Ab3d" * 8 + ",", WORD, 40, ""),
    ("tokens in a line", "tok" + "ens: ", WORD, 40, ""),
    ("a value before its name", "- value: ", WORD, 40, "\n  name: WANDB_API_K" + "EY"),
    ("a Secret's string", "stringData:\n  wandb: ", HEX, 40, ""),
    ("a Secret's data", "kind: Secret\nmetadata:\n  name: x\ndata:\n  conn: ", WORD, 40, "=="),
    ("a Secret's data, kind last", '{"data": {"conn": "', WORD, 40, '"}, "kind": "Secret"}'),
    ("a personal access token", "ARG GIT_P" + "AT=", WORD, 40, ""),
    ("both halves of a key", "Session('AK" + "IA" + "QRSTUVWXYZ234567" + "', '", BASE64, 40, "')"),
    ("PuTTY's key on a curve", "Private" + "-Lines: 1\n", BASE64, 48, "\nPrivate-MAC: 0a1b"),
    ("a service's key in a call", "main(MINIMAX_K" + "EY=", HEX, 32, ")"),
    ("a pair in a list", "launch(au" + "th=[('admin', '", WORD, 12, "')])"),
    ("curl with a key for a user", "curl -" + "u ", WORD, 40, ": https://x.example"),
    ("a pipe to a disk", "echo -n '", WORD, 14, "' | crypt" + "setup luksOpen /dev/sdb d -"),
    ("a masked word of a workflow", "::add" + "-mask::", WORD, 30, ""),
    ("Bark", "https://api.day" + ".app/", WORD, 22, "/done"),
    ("a mailbox's code", "{'auth" + "code': '", WORD, 16, "'}"),
    ("a field of a form", '<input name="p' + 'w" value="', WORD, 12, '">'),
    ("escaped single quotes", "KeyError: '{\\'api_k" + "ey\\': \\'", WORD, 32, "\\'}'"),
    ("Hadoop's credential", "hadoop credential create x -val" + "ue ", WORD, 40, ""),
    ("YAML's block in one line", "api_" + "key: >-     ", WORD, 32, ""),
    ("hmac", "hma" + "c.new(b'", WORD, 24, "', m, 'sha256')"),
    ("a signer of JWT", "jw" + "t.encode(payload, '", WORD, 32, "', algorithm='HS256')"),
    ("what is decoded", "ec" + "ho ", WORD, 60, "== | base64 -d > ~/.kube/config"),
    ("a quoted cookie", "Cook" + 'ie: _xsrf=2; user="2|1:0|', WORD, 40, '"'),
    ("expect in lines", 'expect "pass' + 'word:"\nsend "', WORD, 10, '\\r"'),
    ("a password that looks like a call", "pass" + 'word = "aB3(', WORD, 8, ')"'),
)


#: what sandboxes, clusters, tools of data and dumps of variables show
_CLUSTERS: tuple[Row, ...] = (
    ("E2B", "e2b" + "_", HEX, 40, ""),
    ("Daytona", "dt" + "n_", HEX, 64, ""),
    ("Firecrawl", "f" + "c-", HEX, 32, ""),
    ("Brave", "BS" + "A", WORD + "_-", 28, ""),
    ("ElevenLabs", "s" + "k_", HEX, 48, ""),
    ("OpenAI session", "se" + "ss-", WORD, 40, ""),
    ("SiliconFlow, small letters", "s" + "k-", string.ascii_lowercase, 48, ""),
    ("Zhipu", "", HEX, 32, "." + "Ab3dEf6hIj9lMn2p"),
    ("Kaggle of today", "KGA" + "T_", HEX, 32, ""),
    ("the hub's OAuth", "hf_oa" + "uth_ey", WORD + "_-", 90, ""),
    ("Azure DevOps", "", WORD, 76, "AZ" + "DOx1Yz"),
    ("Azure's bus", "Endpoint=sb://x.example/;SharedAccessKeyName=a;SharedAccess" + "Key=", BASE64, 43, "="),
    ("Azure's header", "ap" + "i-key: ", HEX, 32, ""),
    ("a subscription's header", "Ocp-Apim-Subscription" + "-Key: ", HEX, 32, ""),
    ("Baseten's header", "Authorization: Api" + "-Key ab3dEf6h.", WORD, 32, ""),
    ("headers in bytes", "[(b'Authori" + "zation', b'Bearer ", WORD, 36, "')]"),
    ("Gotify", "X-Gotify" + "-Key: ", WORD, 15, ""),
    ("ntfy", "t" + "k_", string.ascii_lowercase + string.digits, 29, ""),
    ("Matrix", "sy" + "t_YWxpY2U_", WORD, 20, "_0a1b2c"),
    ("crates", "ci" + "o", WORD, 32, ""),
    ("NuGet", "oy" + "2", string.ascii_lowercase + string.digits, 43, ""),
    ("a swarm", "docker swarm join --to" + "ken SWMTKN-1-", string.ascii_lowercase + string.digits, 50, "-0ab1cd"),
    ("k3s", "K1" + "0", HEX, 64, "::server:" + "0a1b2c3d" * 4),
    ("kubeadm", "kubeadm join 10.0.0.1:6443 --to" + "ken abcdef.", HEX, 16, ""),
    ("Rancher", "token-" + "x1y2z:", string.ascii_lowercase + string.digits, 54, ""),
    ("Vault's unseal", "Unseal K" + "ey 1: ", BASE64, 44, ""),
    ("etcd", "etcdctl --us" + "er root:", WORD, 14, " get x"),
    ("RabbitMQ", "rabbitmqctl add" + "_user alice ", WORD, 14, ""),
    ("smbclient", "smbclient //h/s -" + "U alice%", WORD, 12, " -c ls"),
    ("unzip", "unzip -" + "P ", WORD, 12, " a.zip"),
    ("unrar", "unrar x -" + "p", WORD, 12, " a.rar"),
    ("sudo's stdin", "echo ", WORD, 12, " | su" + "do -S nvidia-smi -r"),
    ("passwd's stdin", "echo ", WORD, 12, " | pass" + "wd --stdin alice"),
    ("setx", "setx WANDB_API" + "_KEY ", HEX, 40, ""),
    ("declare", "declare -x HF_TO" + 'KEN="', WORD, 34, '"'),
    ("a traced shell", "++ export WANDB_API" + "_KEY=", HEX, 40, ""),
    ("variables in bytes", "environ({b'HOME': b'/root', b'WANDB_API" + "_KEY': b'", HEX, 40, "'})"),
    ("a kernel's environ", "HOME=/root\0HF_TO" + "KEN=", WORD, 34, "\0PWD=/x"),
    ("a drawn local", "│ hub_to" + "ken = '", WORD, 34, "'  │"),
    (
        "a refused value",
        "1 validation error for Hub\ntok" + "en\n  Input should be a valid integer [type=int_type, input_value='",
        WORD,
        34,
        "', input_type=str]",
    ),
    ("a refused option", "error: argument --wandb_k" + "ey: invalid int value: '", HEX, 40, "'"),
    ("wandb's config.yaml", "hub_to" + "ken:\n    desc: null\n    value: ", WORD, 34, ""),
    ("a narrow table", "|hub_to" + "ken|", WORD, 34, "|"),
    ("a section of a file", "[wandb]\nproject = a\nke" + "y = ", HEX, 40, ""),
    ("Spark", "--conf spark.hadoop.fs.s3a.secret.k" + "ey=", WORD, 40, ""),
    ("a file of cookies", ".x.example\tTRUE\t/\tTRUE\t1790000000\tses" + "sion\t", WORD, 40, ""),
    ("a one-time password", "otpauth://totp/x:alice?sec" + "ret=", string.ascii_uppercase + "234567", 32, "&issuer=x"),
    ("a fragment", "https://x.example/cb#access_to" + "ken=", WORD, 40, "&expires_in=3600"),
    ("SQL's user", "CREATE USER a IDENTI" + "FIED BY '", WORD, 12, "'"),
    ("SQL's role", "ALTER ROLE a WITH PASS" + "WORD '", WORD, 12, "'"),
    ("a flow of YAML", "env: [{name: HF_TO" + "KEN, value: ", WORD, 34, "}]"),
    ("variables of a container", '"Env": ["A=1", "WANDB_API' + "_KEY=", HEX, 40, '"]'),
    ("a job's variables", "qsub -v HF_TO" + "KEN=", WORD, 34, ",N=2 job.sh"),
    (
        "Ray's job",
        'ray job submit --runtime-env-json \'{"env_vars": {"WANDB_API' + '_KEY": "',
        HEX,
        40,
        "\"}}' -- python t.py",
    ),
    ("a client's first argument", "cohere.Cli" + 'ent("', WORD, 40, '")'),
    ("a client of Zhipu", "Zhipu" + 'AI("', HEX, 32, '.Ab3dEf6hIj9lMn2p")'),
    ("qshell", "qshell acc" + "ount Ab3dEf6hIj9lMn2pQr5t ", WORD, 40, " me"),
    ("tccli", "tccli configure set secret" + "Key ", WORD, 32, ""),
    ("MinIO's user", "mc admin user a" + "dd m alice ", WORD, 16, ""),
    ("a word of Chinese", "登录口" + "令：", WORD, 12, ""),
    ("a key of Chinese", "飞书机器人密" + "钥是 ", WORD, 32, ""),
    ("a code of Chinese", "邮箱授权" + "码: ", string.ascii_lowercase, 16, ""),
    ("pymysql", "pymysql.con" + 'nect("h", "root", "', WORD, 12, '", "db")'),
    ("paramiko", "client.con" + "nect('h', username='a', pass" + "word='", WORD, 12, "')"),
    ("wget", "wget --http-pass" + "wd=", WORD, 12, " http://x.example/a"),
    ("nushell", "$env.HF_TO" + 'KEN = "', WORD, 34, '"'),
)


#: seen for the first time after those above
_REFUSED: tuple[Row, ...] = (
    ("Runway", "ke" + "y_", HEX, 128, ""),
    ("HeyGen", "sk_" + "V2_", WORD, 40, ""),
    ("LiteLLM", "s" + "k-", WORD, 22, ""),
    ("Coze", "pa" + "t_", WORD, 64, ""),
    ("Dify", "ap" + "p-", WORD, 24, ""),
    ("Ark", "ARK_API_" + "KEY: 0a1b2c3d-", HEX, 12, "-4a5b-8c9d-0a1b2c3d4e5f"),
    ("modal's command", "modal token set --token-id ak-Ab3dEf6hIj9lMn2pQr5tUv --token-sec" + "ret as-", WORD, 22, ""),
    ("runpodctl", "runpodctl config --api" + "Key ", WORD, 43, ""),
    ("vastai", "vastai set api-" + "key ", HEX, 64, ""),
    ("Lambda", "sec" + "ret_x_0a1b2c3d.", WORD, 32, ""),
    ("pyodbc", "pyodbc.connect('Driver=x;Server=h;UID=a;PW" + "D=", WORD, 12, "')"),
    ("psycopg", 'psycopg2.connect("dbname=x user=y pass' + "word=", WORD, 12, '")'),
    ("compose", 'environment: [ "HF_TO' + "KEN=", WORD, 34, '" ]'),
    ("click's refusal", "Error: Invalid value for '--api-" + "key': '", WORD, 30, "' is not a valid UUID."),
    (
        "OmegaConf's refusal",
        "ValidationError: Value '",
        HEX,
        40,
        "' of type 'str' could not be converted to Integer\n    full_key: trainer.wandb_" + "key",
    ),
    ("hydra's plus", "++trainer.logger.wandb.api_" + "key=", HEX, 40, ""),
    ("hf auth", "hf auth login --to" + "ken=", WORD, 30, ""),
    ("a header of Anthropic", "x-api-" + "key: ", WORD, 30, ""),
    ("Langfuse's public pair", "LANGFUSE_SECRET_" + "KEY=sk-lf-", HEX, 12, "-0a1b-4c2d-8e3f-0a1b2c3d4e5f"),
    ("redis positional", "redis.Redis(host='h', port=1, pass" + "word='", WORD, 12, "')"),
    ("a job's yaml", "  envs:\n    WANDB_API_" + "KEY: ", HEX, 40, ""),
    ("SkyPilot", "sky launch --env HF_TO" + "KEN=", WORD, 34, " job.yaml"),
    ("dstack", "dstack server --to" + "ken ", WORD, 36, ""),
    ("a kernel's cmdline", "python\0train.py\0--wandb_" + "key\0", HEX, 40, "\0"),
    ("a pod's description", "      HF_TO" + "KEN:  ", WORD, 34, "\n      A: b"),
)


@cache
def all_planted() -> tuple[Planted, ...]:
    """Every form, in a stable order."""
    return (
        *_rows(_TOKENS),
        *_rows(_AROUND),
        *_rows(_LATER),
        *_rows(_SAID),
        *_rows(_TYPED_IN),
        *_rows(_GIVEN),
        *_rows(_CLUSTERS),
        *_rows(_REFUSED),
        *_json_web_tokens(),
        *_private_keys(),
    )


@cache
def one_line() -> tuple[Planted, ...]:
    """Those that fit one line."""
    return tuple(each for each in all_planted() if "\n" not in each.text)


def _rows(rows: tuple[Row, ...]) -> Iterator[Planted]:
    for name, before, alphabet, length, behind in rows:
        secret = random_text(name, alphabet, length)
        core = secret[length // 3 :]  # its beginning may say whose it is
        yield Planted(name, f"{before}{secret}{behind}", (core, secret))


def _json_web_tokens() -> Iterator[Planted]:
    parts = (json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps({"sub": random_text("sub", WORD, 20)}))
    head, body = (base64.urlsafe_b64encode(each.encode()).decode().rstrip("=") for each in parts)
    tail = random_text("signature", WORD + "_-", 43)
    yield Planted("JWT", f"id {head}.{body}.{tail}", (body, tail))
    yield Planted("JWT without its end", f"id {head}.{body}", (body,))


def pem(kind: str, lines: int = 12) -> tuple[str, list[str]]:
    """A private key and its content, line by line, the last one short."""
    content = [random_text(f"{kind}{number}", BASE64, 64) for number in range(lines)]
    content.append(random_text(f"{kind}-last", WORD, 10) + "==")
    return "\n".join(
        [f"-----BEGIN {kind}PRIVATE " + "KEY-----", *content, f"-----END {kind}PRIVATE " + "KEY-----"]
    ), content


def _private_keys() -> Iterator[Planted]:
    shapes: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        ("PEM", "", lambda text: text),
        ("PEM of OpenSSH", "OPENSSH ", lambda text: text),
        ("PEM of RSA", "RSA ", lambda text: text),
        ("PEM, encrypted", "ENCRYPTED ", lambda text: text),
        (
            "PEM indented in YAML",
            "EC ",
            lambda text: "tls:\n  key: |\n" + "\n".join(f"    {x}" for x in text.split("\n")),
        ),
        ("PEM in JSON", "", lambda text: json.dumps({"type": "service_account", "private_key": text})),
        ("PEM in JSON in a string", "", lambda text: json.dumps(json.dumps({"private_key": text}))),
        ("PEM behind ranks", "RSA ", lambda text: "\n".join(f"[rank3]: {x}" for x in text.split("\n"))),
        (
            "PEM behind times",
            "",
            lambda text: "\n".join(f"2026-01-01 00:00:00,1 INFO x.py:3 {x}" for x in text.split("\n")),
        ),
        ("PEM in one line", "RSA ", lambda text: text.replace("\n", " ")),
        ("PEM with a quote's bars", "", lambda text: "\n".join(f"> {x}" for x in text.split("\n"))),
        ("PEM cut at the end", "DSA ", lambda text: "\n".join(text.split("\n")[:9])),
        ("PEM cut at the beginning", "RSA ", lambda text: "\n".join(text.split("\n")[3:])),
    )
    for name, kind, shape in shapes:
        text, content = pem(kind)
        shown = shape(text)
        yield Planted(name, shown, tuple(each for each in content if each.strip("=") in shown))
