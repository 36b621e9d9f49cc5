"""How secrets look: what vendors begin them with, and what stands around those that look like nothing.

The forms are facts of vendors and of two public lists; the expressions are the doctor's own:
https://github.com/gitleaks/gitleaks/blob/420a0f55f4a7a03dfe701ceb1f4f66a7c68b26b4/config/gitleaks.toml
https://github.com/Yelp/detect-secrets/tree/master/detect_secrets/plugins
https://docs.github.com/en/code-security/reference/secret-security/supported-secret-scanning-patterns

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.base.patterns import later


class SecretForm(NamedTuple):
    """One way in which a secret is written.

    Args:
        signs: a text that holds none of these, whatever its capitals, has no such secret: told without the expression.
        pattern: its group `s` is what must not be shown. Every repetition is bounded, so that a megabyte without a
            blank costs linear time, and what was taken out (`***`) does not match again.

    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(pattern: str, *signs: str, flags: int = 0) -> SecretForm:
    return SecretForm(signs, later(pattern, flags))


def _token(beginning: str, rest: str, *signs: str) -> SecretForm:
    """A token that shows its maker: `beginning` stays, what follows goes."""
    return _form(rf"(?<![A-Za-z0-9])(?:{beginning})(?P<s>{rest})", *signs)


_W = r"[A-Za-z0-9_\-]"
_A = r"[A-Za-z0-9]"
#: a word of a shell: bare, or in quotes with blanks
_WORD = r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"'`|;&<>*][^\s\"'`|;&<>]{0,400})"
#: a quote, escaped or not
_Q = r"\\{0,4}[\"']"
#: between the fields of a table: as it is, escaped, or drawn as blanks
_TAB = r"(?:\t|\\{1,4}t| {1,8})"
#: the rest of a command up to the option that is meant
_ON = r"[^\n|;&]{0,300}?"

_MODELS = (
    _token("hf_", r"[A-Za-z0-9]{16,}|(?=[a-z]{0,40}[A-Z0-9])[A-Za-z0-9]{10,}", "hf_"),
    _token("api_org_", rf"{_A}{{20,}}", "api_org_"),
    # OpenAI, Anthropic, DeepSeek, DashScope
    _token("sk-", rf"(?:(?:proj|ant|or|svcacct|admin)-|(?=[a-z_\-]{{0,60}}[0-9A-Z])){_W}{{16,}}", "sk-"),
    _token("(?:gsk_|xai-|pplx-|fw_|r8_|csk-|tgp_v1_|jina_)", rf"(?=[a-z_\-]{{0,60}}[0-9A-Z]){_W}{{20,}}",
           "gsk_", "xai-", "pplx-", "fw_", "r8_", "csk-", "tgp_v1_", "jina_"),
    _token("nvapi-", rf"{_W}{{20,}}", "nvapi-"),
    _token("wandb_v1_", rf"{_W}{{10,}}", "wandb_v1_"),
    _token("ms-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ms-"),  # ModelScope
    _token("eyJhcGlfYWRkcmVzcyI6", r"[A-Za-z0-9+/_\-]{20,}={0,2}", "eyjhcglfywrkcmvzcyi6"),  # Neptune
    _token("ABSK", r"[A-Za-z0-9+/]{60,}={0,2}", "absk"),  # Amazon Bedrock
    _token("sk-", r"[a-z]{48}(?![A-Za-z0-9])", "sk-"),  # SiliconFlow: https://docs.siliconflow.cn/cn/userguide/quickstart
    _token("sess-", rf"(?=[A-Za-z]{{0,40}}[0-9]){_A}{{36,}}", "sess-"),  # OpenAI, of a browser
    _token("sk_", r"[0-9a-f]{48}(?![A-Za-z0-9])", "sk_"),  # ElevenLabs
    _token("hf_oauth_", rf"(?=[a-z_]{{0,60}}[0-9A-Z]){_W}{{20,}}(?:\.{_W}{{1,4096}}){{0,2}}", "hf_oauth_"),
    _token("KGAT_", r"[0-9a-f]{24,}", "kgat_"),  # https://github.com/Kaggle/kaggle-api/blob/main/docs/README.md
    # https://github.com/e2b-dev/E2B/blob/main/packages/js-sdk/src/api/index.ts
    _token("e2b_", r"[0-9a-f]{20,}", "e2b_"),
    _token("dtn_", r"[0-9a-f]{40,}", "dtn_"),  # https://www.daytona.io/docs/en/api-keys/
    _token("fc-", r"[0-9a-f]{32}(?![A-Za-z0-9])", "fc-"),  # https://docs.firecrawl.dev/api-reference/introduction
    _token("key_", r"[0-9a-f]{64,}", "key_"),  # Runway
    _token("sk_V2_", rf"{_W}{{20,}}", "sk_v2_"),  # HeyGen
    _token("pat_", rf"(?=[A-Za-z]{{0,60}}[0-9])(?=[a-z0-9]{{0,60}}[A-Z]){_A}{{40,}}", "pat_"),  # Coze
    _token("app-", rf"(?=[A-Za-z]{{0,23}}[0-9])(?=[a-z0-9]{{0,23}}[A-Z])(?=[A-Z0-9]{{0,23}}[a-z]){_A}{{24}}(?![\w\-])",
           "app-"),  # Dify
    # https://docs.lambda.ai/api/cloud
    _token(r"secret_[\w\-]{1,60}_[0-9a-f]{6,40}\.", rf"{_A}{{20,}}", "secret_"),
    _token("BSA", rf"(?=[A-Za-z_\-]{{0,27}}[0-9])(?=[A-Z0-9_\-]{{0,27}}[a-z]){_W}{{28}}(?![\w\-])", "bsa"),  # Brave
    _form(r"(?<![\w.\-/])(?P<s>[0-9a-f]{32}\.(?=[A-Za-z]{0,15}[0-9])(?=[a-z0-9]{0,15}[A-Z])[A-Za-z0-9]{16})(?![\w.\-])",
          "."),  # Zhipu: an id, and what signs (`api_key.split(".")` of its SDK: https://pypi.org/project/zhipuai/)
)  # fmt: skip

_CODE = (
    _token("gh[pousr]_", rf"{_A}{{20,}}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github_pat_", rf"{_W}{{20,}}", "github_pat_"),
    _token("gl(?:pat|dt|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct|wt)-", r"[\w\-.]{20,}",
           "glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glcbt-",
           "glffct-", "glwt-"),
    _token("GR1348941", rf"{_W}{{20,}}", "gr1348941"),
    _token("npm_", rf"{_A}{{30,}}", "npm_"),
    _token("pypi-AgE", rf"{_W}{{30,}}", "pypi-age"),
    _token("dckr_(?:pat|oat)_", rf"{_W}{{20,}}", "dckr_"),
    _token("rubygems_", "[a-f0-9]{40,}", "rubygems_"),
    _token("AKCp", rf"{_A}{{60,}}", "akcp"),
    _token("cio", rf"(?=[A-Za-z]{{0,31}}[0-9])(?=[a-z0-9]{{0,31}}[A-Z]){_A}{{32}}(?![\w\-])", "cio"),  # crates.io
    _token("oy2", r"(?=[a-z]{0,42}[0-9])[a-z0-9]{43}(?![\w\-])", "oy2"),  # NuGet
    _token("cmVmd", rf"{_A}{{50,}}", "cmvmd"),
    _token("ATATT3", r"[\w\-=]{60,}", "atatt3"),
    _token("ATBB", rf"(?=[A-Za-z]{{0,30}}[0-9]){_A}{{28,}}", "atbb"),
    _token("sgp_", "(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}", "sgp_"),
    _token("sntry[su]_", r"[\w+/=\-]{40,}", "sntrys_", "sntryu_"),
    _token("lin_api_", rf"{_A}{{30,}}", "lin_api_"),
    _token("ntn_", rf"(?=[a-z]{{0,50}}[0-9]){_A}{{40,}}", "ntn_"),
    _token("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}", "pmak-"),
    _token("pul-", r"[a-f0-9]{40}", "pul-"),
    _token("pnu_", rf"{_A}{{36}}", "pnu_"),
    _token("ops_eyJ", r"[A-Za-z0-9+/]{60,}={0,3}", "ops_eyj"),
    _form(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.(?P<s>[\w\-=]{50,})", ".atlasv1."),
    _token(r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[\w.\-]{40,}", "dp."),
)  # fmt: skip

_CLOUDS = (
    _token("(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "akia", "asia", "abia", "acca",
           "a3t"),
    _token("LTAI", rf"{_A}{{12,}}", "ltai"),  # Alibaba Cloud
    _token("STS\\.", rf"(?=[A-Za-z]{{0,40}}[0-9]){_A}{{20,}}", "sts."),
    _token("AKID", rf"(?=[A-Za-z]{{0,40}}[0-9]){_A}{{24,}}", "akid"),  # Tencent Cloud
    _token("AKLT", r"[\w\-=]{28,}", "aklt"),  # Volcengine
    _token("(?:bce-v3/)?ALTAK", r"[\w\-/]{12,}", "altak"),  # Baidu AI Cloud
    _token("AIza", rf"{_W}{{30,}}", "aiza"),
    _token(r"ya29\.", r"[\w\-.]{20,}", "ya29."),
    _token("GOCSPX-", rf"{_W}{{20,}}", "gocspx-"),
    _token("1//0", rf"(?=[A-Za-z_\-]{{0,60}}[0-9]){_W}{{30,}}", "1//0"),
    _form(r"(?<![\w~.\-])[\w~.]{3}\dQ~(?P<s>[\w~.\-]{31,34})", "q~"),  # Microsoft Entra ID
    _token("do[opr]_v1_", r"[a-f0-9]{32,}", "doo_v1_", "dop_v1_", "dor_v1_"),
    _token(r"v1\.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}", "v1.0-"),  # Cloudflare
    _token("HRKU-AA", rf"{_W}{{40,}}", "hrku-aa"),
    _token("dapi", r"[a-f0-9]{32}(?:-\d)?", "dapi"),  # Databricks
    _token("fo1_|fm1[ar]_|fm2_", r"[\w+/\-]{40,}={0,3}", "fo1_", "fm1a_", "fm1r_", "fm2_"),
    _token("pscale_(?:tkn|oauth|pw)_", r"[\w=.\-]{30,}", "pscale_"),
    _token("sbp_", r"[a-f0-9]{40}", "sbp_"),
    _token("sha256~", rf"{_W}{{40,}}", "sha256~"),  # OpenShift
    _token(r"hv[sbr]\.", rf"{_W}{{20,}}", "hvs.", "hvb.", "hvr."),
    _token("AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}", "age-secret-key-1"),
    _token(r"dt0c01\.", r"[A-Z0-9]{20,}\.[A-Za-z0-9]{20,}", "dt0c01."),
    _token("gl(?:c|sa)_", r"[\w+/=]{30,}", "glc_", "glsa_"),
    _token("eyJrIjoi", r"[A-Za-z0-9]{40,}={0,3}", "eyjrijoi"),
    _token("NR(?:AK|JS|II)-", r"[\w\-]{19,}", "nrak-", "nrjs-", "nrii-"),
    # 84 characters, with a mark in a fixed place:
    # https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate
    _form(r"(?<![A-Za-z0-9])(?P<s>[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])", "azdo"),
    _token("K10", r"[0-9a-f]{64}::(?:[\w.\-]{1,60}:)?[^\s\"']{8,400}", "k10"),  # https://docs.k3s.io/cli/token
    # https://ranchermanager.docs.rancher.com/api/api-tokens
    _form(r"(?<![\w\-])(?:token|kubeconfig-[a-z0-9\-]{1,60})-[a-z0-9]{5,10}:(?P<s>[a-z0-9]{54})(?![A-Za-z0-9])",
          "token-", "kubeconfig-"),
    # https://developer.hashicorp.com/vault/docs/commands/operator/init
    _form(r"(?i)\bunseal key(?: \d{1,3})?(?: \([^)\n]{1,40}\))?:\s{0,3}(?P<s>[A-Za-z0-9+/]{40,120}={0,2})",
          "unseal key"),
)  # fmt: skip

_SERVICES = (
    _token("xox[abceoprs]-", r"[\w.\-]{8,}", "xox"),
    _token("xapp-", r"\d-[\w\-]{12,}", "xapp-"),
    _token("(?:sk|rk)_(?:test|live|prod)_", rf"{_A}{{10,}}", "k_test_", "k_live_", "k_prod_"),
    _token("whsec_", r"[A-Za-z0-9+/]{20,}={0,2}", "whsec_"),
    _token(r"SG\.", r"[\w\-]{10,}\.[\w\-]{20,}", "sg."),
    _token("SK", r"[0-9a-f]{32}(?![A-Za-z0-9])", "sk"),  # Twilio
    _token("key-", r"[0-9a-f]{32}(?![A-Za-z0-9])", "key-"),  # Mailgun
    _form(r"(?<![A-Za-z0-9])(?P<s>[0-9a-f]{32})-us\d{1,2}(?![A-Za-z0-9])", "-us"),  # Mailchimp
    _token("xkeysib-", r"[a-f0-9]{40,}-\w{16}", "xkeysib-"),
    _token("shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _token("sq0(?:atp|csp)-", rf"{_W}{{22,}}", "sq0"),
    _form(r"(?<![0-9A-Za-z])(?:bot)?\d{8,10}:(?P<s>A[\w\-]{34})(?![\w\-])", ":a"),  # Telegram
    _form(r"(?i)api\.telegram\.org/bot(?P<s>\d{6,12}:[\w\-]{10,80})", "api.telegram.org"),
    # https://docs.anaconda.com/anaconda.org/user-guide/token/
    _form(r"(?i)://[\w.\-]{1,120}/t/(?P<s>(?=[^\s/\d]{0,80}\d)(?:[a-z]{2}-[0-9a-f\-]{36}|[A-Za-z0-9]{20,200}|"
          r"(?-i:(?=[^\s/A-Z]{0,20}[A-Z])(?=[^\s/a-z]{0,20}[a-z]))[A-Za-z0-9]{12,20}))/",
          "/t/"),
    # https://jupyter-server.readthedocs.io/en/latest/operators/public-server.html#preparing-a-hashed-password
    _form(r"(?<![\w:])(?:sha1|sha256|md5|argon2):(?P<s>[0-9a-f]{8,16}:[0-9a-f]{32,64})(?![0-9A-Za-z])", "sha1:",
          "sha256:", "md5:", "argon2:"),
    _form(r"(?<![\w\-.])[MNO][A-Za-z\d]{23,27}\.(?P<s>[\w\-]{6}\.[\w\-]{27,40})(?![\w\-])", "."),  # Discord
    # https://developer.work.weixin.qq.com/document/path/91770, https://open.dingtalk.com/document/robots/custom-robot-access
    # https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot
    _form(r"(?i)hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[\w/+\-]{16,})", "hooks.slack.com"),
    _form(r"(?i)discord(?:app)?\.com/api/webhooks/\d{8,24}/(?P<s>[\w\-]{20,})", "/api/webhooks/"),
    _form(r"(?i)/open-apis/bot/(?:v2/)?hook/(?P<s>[\w\-]{16,})", "/open-apis/bot/"),
    _form(r"(?i)/cgi-bin/webhook/\w{1,20}\?(?:[\w=&\-]{0,80}&)?key=(?P<s>[\w\-]{16,})", "/cgi-bin/webhook/"),
    _form(r"(?i)webhook\.office\.com/webhookb2/(?P<s>[\w@\-]{16,}/IncomingWebhook/[\w/\-]{16,})", "webhook.office.com"),
    _token("SEC", r"[0-9a-f]{64}(?![A-Za-z0-9])", "sec"),  # DingTalk's signature
    _form(r"(?i)/(?:SCT|SCU)(?P<s>\d{1,9}T[A-Za-z0-9]{16,})(?:\.send)?", "ftqq.com"),  # https://sct.ftqq.com/sendkey
    _form(r"(?i)/(?:web)?hooks?/(?:[\w\-]{1,40}/){0,4}"
          r"(?P<s>(?-i:(?=[\w\-]{0,80}\d)(?=[\w\-]{0,80}[A-Z])(?=[\w\-]{0,80}[a-z]))[\w\-]{16,200})",
          "hook/", "hooks/"),
    _form(r"(?i)hooks\.zapier\.com/hooks/catch/(?P<s>\d{1,12}/[\w/\-]{4,80})", "hooks.zapier.com"),
    _form(r"(?i)api\.day\.app/(?P<s>[A-Za-z0-9]{16,40})", "api.day.app"),  # https://bark.day.app
    _form(r"(?i)maker\.ifttt\.com/\S{1,120}/(?P<s>[\w\-]{16,80})", "maker.ifttt.com"),
    _token(r"pat-(?:na|eu|ap)\d-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "pat-"),  # HubSpot
    _token("tskey-(?:auth|api|client|scim|webhook)-", r"[A-Za-z0-9\-]{20,}", "tskey-"),  # Tailscale
    _token("llx-", rf"(?=[a-z]{{0,40}}[A-Z0-9]){_A}{{40,}}", "llx-"),  # LlamaCloud
    _form(r"(?<![A-Za-z0-9])[\w\-]{7,11}:APA91b(?P<s>[\w\-]{100,200})", ":apa91b"),  # Firebase
    _form(r"\bSSWS\s{1,3}(?P<s>00[\w\-]{38,44})", "ssws"),  # Okta
    _token("tvly-", rf"(?:dev-|prod-)?{_A}{{20,}}", "tvly-"),
    _token("figd_", rf"{_W}{{30,}}", "figd_"),
    _token(r"sl\.(?:u\.)?", rf"(?=[A-Za-z_\-]{{0,100}}[0-9]){_W}{{100,}}", "sl."),  # Dropbox
    _token("pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", "pat"),  # Airtable
    _token("lsv2_(?:pt|sk)_", r"[a-f0-9]{32}_[a-f0-9]{10}", "lsv2_"),
    _token("CFPAT-", rf"{_W}{{40,}}", "cfpat-"),
    _token("local-", r"[a-f0-9]{40}(?![A-Za-z0-9])", "local-"),  # https://docs.wandb.ai/support/find_api_key/
    _token("rpa_", r"[A-Z0-9]{40,}", "rpa_"),
    _token("a[ks]-", rf"(?=[A-Za-z]{{0,21}}[0-9])(?=[a-z0-9]{{0,21}}[A-Z]){_A}{{22}}(?![\w\-])", "ak-", "as-"),  # Modal
    _token("pa-", rf"(?=[A-Za-z_\-]{{0,42}}[0-9])(?=[a-z0-9_\-]{{0,42}}[A-Z]){_W}{{43}}(?![\w\-])", "pa-"),  # Voyage
    _token("pcsk_", rf"{_W}{{40,}}", "pcsk_"),
    _token("bkua_", r"[a-f0-9]{40}", "bkua_"),
    _token("CCIP(?:AT|RJ)_", rf"{_W}{{40,}}", "ccipat_", "cciprj_"),
    _token("nf[pcoub]_", rf"{_A}{{36}}", "nfp_", "nfc_", "nfo_", "nfu_", "nfb_"),
    _token("secret_", rf"(?=[A-Za-z]{{0,42}}[0-9])(?=[a-z0-9]{{0,42}}[A-Z]){_A}{{43}}(?![\w])", "secret_"),  # Notion
    _token(r"s\.", rf"(?=[A-Za-z]{{0,23}}[0-9])(?=[a-z0-9]{{0,23}}[A-Z])(?=[A-Z0-9]{{0,23}}[a-z]){_A}{{24}}(?![\w.(])",
           "s."),  # Vault before 1.10
    _token("tk_", r"(?=[a-z]{0,28}[0-9])[a-z0-9]{29}(?![\w])", "tk_"),  # https://docs.ntfy.sh/config/#access-tokens
    # https://github.com/element-hq/synapse/blob/develop/synapse/handlers/auth.py
    _token("sy[tr]_", r"[A-Za-z0-9+/]{2,200}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}", "syt_", "syr_"),
    _token("aio_", rf"(?=[A-Za-z]{{0,27}}[0-9]){_A}{{28}}(?![\w])", "aio_"),
    _form(r"(?<![A-Za-z0-9+/])(?P<s>[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}==)", "+ast"),  # Azure's storage
    # words of /etc/shadow and htpasswd: https://man7.org/linux/man-pages/man5/crypt.5.html
    _form(r"\$(?:1|2[abxy]|5|6|7|y|gy|apr1)\$(?P<s>[\w./=,$]{20,400})", "$1$", "$2a$", "$2b$", "$2x$",
          "$2y$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$apr1$"),
    # RFC 7517, and RFC 7518 section 6 for the private members
    _form(r"(?<![A-Za-z])(?:dp|dq|qi|d|k|p|q)\\{0,4}[\"']\s{0,3}:\s{0,3}\\{0,4}[\"'](?P<s>[\w\-]{16,2000})", "kty"),
)  # fmt: skip

#: parameters that make an address of object storage or a CDN open to whoever holds it
_SIGNED = (
    r"x-[a-z]{3,4}-(?:signature|credential|security-token)|q-signature|q-ak|signature|policy|key-pair-id|sig|"
    r"\w{2,8}AccessKeyId|security-token"
)
_ADDRESSES = (
    _form(r"://(?!USER:PASSWORD@|用户:密码@)(?P<s>[^\s/@:'\"*]{0,256}:[^\s/'\"]{1,256})@(?!\d{1,5}/)", "@"),
    _form(r"://(?P<s>[^\s/@:'\"*]{8,256})@", "@"),  # token@
    # the same without a scheme, as proxies and mirrors are often given; neither a port nor an image's tag and digest
    _form(r"(?<![\w@.:+\-])(?!mailto:)[\w.+\-]{1,80}:(?P<s>(?!\d{1,5}@)[^\s/:@'\"`*<>(){}\[\],;|$]{3,256})@"
          r"(?=[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}|localhost|[\w\-]{1,63}:\d{2,5}(?!\w))", "@"),
    _form(rf"(?i)[?&](?:amp;)?(?:{_SIGNED})=(?P<s>[^\s\"'<>&#*]{{4,}})", "sig", "policy", "key", "token", "credential",
          "q-ak"),
    # a function's or a login's: https://learn.microsoft.com/en-us/azure/azure-functions/function-keys-how-to
    _form(r"(?i)[?&](?:amp;)?code=(?P<s>(?=[A-Za-z_\-]{0,100}[0-9])[\w\-/+=%.]{20,400})", "code="),
)  # fmt: skip

_HEADERS = (
    _form(r"(?<![\w.\-])(?P<s>ey[A-Za-z0-9]{8,}\.ey[\w\-]{8,}(?:\.[\w\-]{0,4096})?=*)", ".ey"),  # JWT
    _form(r"(?i)(?:(?<![\w\-])|%20)(?:bearer|basic)(?:[\s=:'\"]{1,4}|%20|\+)"
          r"(?P<s>[A-Za-z0-9+/._=~\-]{12,})", "bearer", "basic"),
    _form(r"(?i)authorization[\"'\\]{0,4}\s{0,3}[:=,]\s{0,3}[b\"'\\]{0,4}(?:digest|aws4-hmac-sha256|hmac)\s"
          r"(?P<s>(?!\*\*\*)[^\r\n]{6,4096})", "authorization"),
    _form(r"(?i)authorization[\"'\\]{0,4}\s{0,3}[:=,]\s{0,3}[b\"'\\]{0,4}"
          r"(?:(?:bearer|basic|token|apikey|negotiate|api-key|key)[ :=]{1,3})?"
          r"(?P<s>(?=[^\s\"'\\]{0,200}[0-9=])[^\s\"'\\,;*<$%{][^\s\"'\\,;]{5,4096})", "authorization"),
    _form(r"(?i)(?<![\w\-])(?:set-)?cookie[\"']?\s{0,3}[:=,]\s{0,3}[b\"']{0,2}(?P<s>[\w.%!$&+~\-]{1,80}=(?!\*\*\*)"
          r"(?:[^\r\n\"']{1,4096}|\"[^\r\n\"']{1,4096}\"){1,9})", "cookie"),
    _form(r"(?i)x-(?:api-key|auth-token|access-token|vault-token|amz-security-token|goog-api-key)[\"'\\]{0,4}\s{0,3}"
          r"[:=,]\s{0,3}[b\"'\\]{0,4}(?P<s>(?!\*\*\*)[^\s\"'\\,;]{4,})", "x-"),
    # of any other service; a digit tells it from a word, letters from an id
    _form(r"(?i)(?<![\w\-])x-(?:[a-z]{2,20}-){1,4}(?:key|token|secret)[\"'\\]{0,4}\s{0,3}[:=,]\s{0,3}[b\"'\\]{0,4}"
          r"(?P<s>(?=[^\s\d]{0,200}\d)(?=[^\sA-Za-z]{0,200}[A-Za-z])[^\s\"'\\,;*]{8,4096})", "x-"),
    # a file of cookies, as curl and browsers keep them: https://curl.se/docs/http-cookies.html
    _form(rf"(?:TRUE|FALSE){_TAB}/\S{{0,200}}?{_TAB}(?:TRUE|FALSE){_TAB}\d{{1,12}}{_TAB}[\w.%\-]{{1,120}}?{_TAB}"
          r"(?P<s>(?!\*\*\*)[^\s\"'\\]{6,4096})",
          "true\t/", "false\t/", "true\\t/", "false\\t/", "true\\\\t/", "false\\\\t/", "true /", "false /"),
)  # fmt: skip


def _option(options: str, *programs: str) -> SecretForm:
    """The word behind an option of some programs, or attached to it."""
    names = "|".join(re.escape(each) for each in programs)
    return _form(rf"\b(?:{names})\b{_ON}\s(?:{options})[ =]{{0,3}}(?P<s>(?!=|\*\*\*){_WORD})", *programs)


#: what only the command in front of it makes a secret
_COMMANDS = (
    # https://learn.microsoft.com/en-us/sql/tools/sqlcmd/sqlcmd-utility, https://mosquitto.org/man/mosquitto_pub-1.html
    _option("-P", "sqlcmd", "bcp", "isql", "mosquitto_pub", "mosquitto_sub", "ipmitool"),
    # https://net-snmp.sourceforge.io/docs/man/snmpcmd.html
    _option("-[AX]", "snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"),
    _option("-[ki]", "ossutil", "ossutil64", "obsutil"),  # https://support.huaweicloud.com/intl/en-us/utiltg-obs/obs_11_0005.html
    _option("-s", "coscmd"),  # https://www.tencentcloud.com/document/product/436/10976
    _option("/p:", "xfreerdp", "xfreerdp3", "wfreerdp"),
    _form(r"\bcurl\b[^\n|;&]{0,300}?\s(?:-b|--cookie)[ =]{0,3}[\"']?(?P<s>[\w.\-]{1,80}=(?!\*\*\*)[^\"'\n]{4,1000})",
          "curl"),
    _form(rf"\bnmcli\b{_ON}\spassword\s{{1,3}}(?P<s>{_WORD})", "nmcli"),
    _form(rf"\blftp\b{_ON}\s(?:-u|--user)[ =]{{1,3}}[^\s,\"']{{1,80}},(?P<s>[^\s\"'*]{{1,400}})", "lftp"),
    _form(rf"\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S{{1,80}}\s+\S{{1,200}}\s+\S{{1,200}}\s+(?P<s>(?!-|\*\*\*){_WORD})",
          "mc alias", "mc config"),
    _form(rf"\bpoetry\s+config\s+(?:pypi-token\.\S{{1,80}}|http-basic\.\S{{1,80}}\s+\S{{1,80}})\s+(?P<s>(?!-|\*\*\*){_WORD})",
          "poetry"),
    _form(r"\bvault\s+(?:kv\s+(?:put|patch)|write)\s[^\n|;]{0,300}?\s(?!ttl=|policies=)[\w.\-]{1,60}=(?P<s>(?![*@])[^\s\"']{4,400})",
          "vault"),
    # name and password behind -u of a program that nobody here knows; digits alone are ids
    _form(r"(?<=\s)(?:-u|--user|--auth)[ =]{1,3}[\"']?[A-Za-z][\w.@\-]{0,63}:(?P<s>(?=[^\s\d]{0,80}\d)"
          r"(?=[^\sA-Z]{0,80}[A-Z])(?=[^\sa-z]{0,80}[a-z])[^\s\"'`*/:,;]{6,200})(?=[\s\"']|$)",
          "-u ", "-u=", "--user", "--auth"),
    _form(r"\b(?:echo|printf)\s+(?:-[ne]{1,2}\s+)?[\"']?[\w.\-]{1,64}:(?P<s>[^\s\"'*|]{1,400})[\"']?\s*\|"
          rf"{_ON}\bchpasswd\b", "chpasswd"),
    _form(rf"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b{_ON}\s-p(?P<s>{_WORD})", "mysql", "mariadb"),
    _form(rf"\bngrok\s+(?:config\s+add-)?authtoken\s+(?P<s>{_WORD})", "ngrok"),
    _form(rf"\bsshpass\s+-p\s{{0,3}}(?P<s>{_WORD})", "sshpass"),
    _form(rf"\bcurl\b{_ON}\s(?:-u|--user|--proxy-user|-U)[ =]{{0,3}}[\"']?[^\s\"':]{{0,80}}:(?P<s>[^\s\"'*]{{1,400}})",
          "curl"),
    _form(rf"\b(?:wandb|swanlab|clearml|comet|modelscope|huggingface-cli|hf|kaggle|neptune|trackio)\s+(?:auth\s+)?login"
          rf"\b{_ON}\s(?P<s>(?!-)(?=[A-Za-z\-]{{0,80}}[0-9]){_W}{{16,}})", " login"),
    _form(rf"\b(?:ldapsearch|ldapadd|ldapmodify|ldapwhoami|ldapdelete|ldappasswd)\b{_ON}\s-w\s{{1,3}}(?P<s>{_WORD})",
          "ldap"),
    _form(rf"\b(?:plink|pscp|psftp|putty)\b{_ON}\s-pw\s{{1,3}}(?P<s>{_WORD})", " -pw"),
    _form(rf"\b(?:7z|7za|7zz|7zr|rar|unrar)\b{_ON}\s-(?:p|hp)(?P<s>{_WORD})", "7z ", "7za ", "7zz ", "7zr ",
          "rar "),
    _form(rf"\b(?:twine|flit|(?:podman|buildah|skopeo|registry|oc|nerdctl|az|cf)\s+login)\b{_ON}\s-p[ =](?P<s>{_WORD})",
          "twine", "flit", " login"),
    _form(rf"\bhtpasswd\b{_ON}\s-[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}}\s+\S{{1,200}}\s+(?!-)\S{{1,80}}\s+(?P<s>{_WORD})",
          "htpasswd"),
    _form(r"\bsecret\s+generic\b[^\n|;]{0,400}?\s--from-literal[= ][^\s=]{1,120}=(?P<s>(?!\*\*\*)[^\s\"']{1,400})",
          "from-literal"),
    _form(r"(?i)(?:\bauth\s{0,2}[=:]\s{0,2}\[?|\b\w{0,12}(?:basic|digest)auth)\(\s{0,3}(?:\w{1,20}=)?\\{0,4}[\"'][^\"'\n]{0,80}[\"']"
          r"\s{0,2},\s{0,3}(?:\w{1,20}=)?\\{0,4}[\"'](?P<s>(?!\*\*\*)[^\"'\n\\]{1,400})",
          "auth=(", "auth = (", "auth: (", "auth=[(", "auth = [(", "auth: [(", "auth("),
    _form(rf"\bdocker\s+login\b{_ON}\s-p[ =](?P<s>{_WORD})", "docker"),
    _form(rf"\bredis-cli\b{_ON}\s-a\s{{1,3}}(?P<s>{_WORD})", "redis-cli"),
    _form(rf"\b(?:zip|unzip)\b{_ON}\s-P\s{{1,3}}(?P<s>{_WORD})", "zip"),
    _form(rf"\b(?:smbclient|mount\.cifs|rpcclient)\b{_ON}\s-U\s{{1,3}}[^\s%]{{1,80}}%(?P<s>\S{{1,400}})", "smbclient",
          "mount.cifs", "rpcclient"),
    _form(rf"\b(?:echo|printf)\s+(?:-[ne]{{1,2}}\s+)?(?P<s>{_WORD})\s*\|{_ON}"
          r"(?:\bsudo\s+-S\b|\blogin\b|\bpasswd\b|\bkinit\b|stdin\b|-fd\b|--with-token\b|"
          r"\bcryptsetup\b|\bopenconnect\b|=password\b)", "|"),
    _form(rf"(?:\blogin\b|\bsudo\s+-S\b|stdin\b|--with-token\b){_ON}<<<\s{{0,3}}(?P<s>{_WORD})", "<<<"),
    _form(rf"\bssh-keygen\b{_ON}\s-[NP]\s{{1,3}}(?P<s>{_WORD})", "ssh-keygen"),
    _form(rf"\bsqlplus\b{_ON}\s[\w.]{{1,60}}/(?P<s>[^\s@*/]{{3,200}})@", "sqlplus"),
    _form(rf"\bopenssl\s+enc\b{_ON}\s-[kK]\s{{1,3}}(?P<s>{_WORD})", "openssl"),
    _form(r"(?i)assword[^\n]{0,60}(?:\r?\n[^\n]{0,20})?(?:\bsend|(?<=\\n)send)\b[^\n\"]{0,20}"
          r"\"(?P<s>(?!\*\*\*)[^\"\n\\]{3,200})\\{1,8}[rn]", "assword"),
    _form(r"(?i)convertto-securestring\s{1,4}(?:-string\s{1,4})?\\{0,4}[\"'](?P<s>(?!\*\*\*)[^\"'\n\\]{1,400})",
          "-securestring"),
    _form(r"\b(?:https?|xh|xhs|httpie)\s(?:[^\n|;&]{0,200}\s)?(?:-a|--auth)[ =][\"']?"
          r"[^\s\"':]{1,80}:(?P<s>[^\s\"'*]{1,400})", " -a", " --auth"),
    _form(rf"(?i)\bnet\s+use\b{_ON}\s/user:\S{{1,80}}\s{{1,3}}(?P<s>(?!/){_WORD})", "/user:"),
    # of a program that nobody here knows: `-p` with what no name of a folder, a port or a project looks like
    _form(r"(?<=\s)-p[ =]?(?P<s>(?=[A-Za-z]{0,60}[0-9])(?=[^A-Z\s]{0,60}[A-Z])"
          r"(?:[a-z]{1,8}(?![a-z])|[A-Z]{1,8}(?![A-Z])|[0-9]{1,8}(?![0-9])){6,60})(?=[\s\"']|$)", "-p"),
    _form(r"\blogin\(\s{0,4}\\{0,4}[\"'](?P<s>(?=[A-Za-z_\-]{0,80}[0-9])[\w\-]{16,400})\\{0,4}[\"']", "login("),
    # of mail, FTP and object storage: who, and with what
    _form(r"(?:\.login|\bFTP\([^,()\n]{1,120},|\boss2\.Auth|\bAuthV[24])\(?\s{0,3}\\{0,4}[\"'][^\"'\n]{1,120}"
          r"[\"']\s{0,2},\s{0,3}(?:\w{1,20}=)?\\{0,4}[\"'](?P<s>(?!\*\*\*)[^\"'\n\\]{1,400})\\{0,4}[\"']\s{0,2}[,)]",
          ".login(", "ftp(", "oss2.auth(", "authv2(", "authv4("),
    # a key that is handed to what signs with it
    _form(r"(?:\bhmac\.(?:new|digest)\(|\bjwt\.(?:en|de)code\([^,()\n]{1,80},|\b(?:Signer|Serializer)\()\s{0,3}"
          r"(?:key\s{0,2}=\s{0,2})?b?\\{0,4}[\"'](?P<s>(?!\*\*\*)[^\"'\n\\]{6,400})", "hmac.new(", "hmac.digest(",
          "jwt.encode(", "jwt.decode(", "signer(", "serializer("),
    # the same where a shell took the quotes away: letters of both cases and digits, as no name of a variable has them
    _form(r"(?:\bhmac\.(?:new|digest)\(|\b(?:Signer|Serializer)\()(?P<s>(?=[A-Za-z_]{0,60}[0-9])(?=[a-z0-9_]{0,60}[A-Z])"
          r"(?=[A-Z0-9_]{0,60}[a-z])[\w+/=\-]{16,400})(?=[,\s)])", "hmac.new(", "hmac.digest(", "signer(",
          "serializer("),
    _form(rf"\bcredential\s+create\b{_ON}\s-value[ =]{{1,3}}(?P<s>(?!\*\*\*){_WORD})", "credential"),  # of Hadoop
    # a key in the place of the user, without a password
    _form(rf"\bcurl\b{_ON}\s(?:-u|--user)[ =]{{0,3}}[\"']?"
          r"(?P<s>(?=[A-Za-z_.\-]{0,200}[0-9])[\w.\-]{20,400}):(?=[\s\"']|$)",
          "curl"),
    # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    _form(r"::add-mask::(?P<s>(?!\*\*\*)[^\s\"']{3,400})", "::add-mask::"),
    # what is decoded into a file: a configuration, a key
    _form(r"\b(?:echo|printf)\s+(?:-[ne]{1,2}\s+)?[\"']?(?P<s>[A-Za-z0-9+/\-_]{16,16000}={0,2})[\"']?\s{0,4}\|\s{0,4}"
          r"(?:base64\s+(?:-\w{0,3}[dD]|--decode)|openssl\s+(?:base64|enc)\b)", "base64"),
    # the two halves of a key of AWS, one behind the other
    _form(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}[\"'\s,;:|]{1,6}(?P<s>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
          "akia", "asia"),
    # the same of other clouds, whose second half may have an option's or an argument's name of its own
    _form(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AKID|LTAI|AKLT)[A-Za-z0-9]{12,60}[\"'\s,;:|)]{1,6}"
          r"(?:-{1,2}\w{1,20}[ =]{1,2}|\w{1,20}=)?[\"']?(?P<s>(?=[^0-9\s]{0,80}[0-9])(?=[^A-Z\s]{0,80}[A-Z])"
          r"(?=[^a-z\s]{0,80}[a-z])[A-Za-z0-9+/_\-]{28,90}={0,2})(?![\w+/=.])",
          "akia", "asia", "akid", "ltai", "aklt"),
    _form(r"\bqshell(?:_\w{1,40})?\s+account\s+\S{20,80}\s+(?P<s>[\w\-]{20,80})", "qshell"),  # https://pkg.go.dev/github.com/qiniu/qshell
    # https://github.com/easychen/serverchan-demo/blob/main/shell/send.sh
    _form(r"\bsct?(?:api)?\.ftqq\.com/(?P<s>[A-Za-z0-9]{16,100})\.send\b", "ftqq.com"),
    _form(r"(?<![\w])(?P<s>sctp\d{1,12}t[A-Za-z0-9]{10,100})(?=\.(?:push|send)\b)", "sctp"),
    # https://www.rabbitmq.com/docs/man/rabbitmqctl.8
    # https://min.io/docs/minio/linux/reference/minio-mc-admin/mc-admin-user-add.html
    _form(rf"\brabbitmqctl\b{_ON}\b(?:add_user|change_password)\s+\S{{1,80}}\s+(?P<s>(?!-|\*\*\*){_WORD})",
          "rabbitmqctl"),
    _form(r"\bmc\s+admin\s+(?:user|accesskey)\s+(?:svcacct\s+)?(?:add|create)\s+\S{1,80}\s+\S{1,80}\s+"
          rf"(?P<s>(?!-|\*\*\*){_WORD})", "mc admin"),
    # SQL: https://dev.mysql.com/doc/refman/8.4/en/create-user.html
    _form(rf"(?i)\bidentified\s+(?:with\s+\S{{1,60}}\s+)?(?:by|as)\s+(?:password\s+)?{_Q}(?P<s>(?!\*\*\*)[^\"'\n\\]{{1,400}})",
          "identified"),
    # drivers of databases: where, who, with what
    _form(r"\b(?:pymysql|MySQLdb|aiomysql|asyncmy|mariadb|oracledb|cx_Oracle|mysql\.connector)\.connect\("
          r"(?:\s{0,20}\\{0,4}[\"'][^\"'\n\\]{1,200}\\{0,4}[\"']\s{0,3},){1,2}\s{0,20}\\{0,4}[\"']"
          r"(?P<s>(?!\*\*\*)[^\"'\n\\]{4,400})", ".connect("),
    # a key that is all that a client of a service is given
    _form(rf"\b(?:[A-Z]\w{{0,40}})?(?:Client(?:V\d)?|AI|Api|API|SDK)\(\s{{0,20}}{_Q}(?P<s>(?=[^0-9\s\"']{{0,80}}[0-9])"
          r"(?:(?=[^a-z\s\"']{0,80}[a-z])(?=[^A-Z\s\"']{0,80}[A-Z])[A-Za-z0-9_\-]{24,200}|[0-9a-f]{32,128}))(?=\\{0,4}[\"'])",
          "client(", "clientv", "ai(", "api(", "sdk("),
    # the only line of a key of PuTTY on an elliptic curve, whose lines are narrower than those of PEM
    _form(r"Private-Lines: \d{1,3}(?:\r?\n|\\{1,4}n)[ \t+\-|>]{0,8}(?P<s>[A-Za-z0-9+/]{20,64}={0,2})", "private-lines"),
    _form(r"\bFernet\(\s{0,3}b?\\{0,4}[\"'](?P<s>(?!\*\*\*)[\w\-=]{20,100})", "fernet("),
    _form(r"(?<![\w.])pass:(?P<s>[^\s\"'*][^\s\"']{3,400})", "pass:"),  # openssl's -passin, -passout
    _form(r"(?i)\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+(?:account\s+\S{1,200}\s+)?password\s+(?P<s>[^\s*]\S{0,400})",
          "machine"),
    _form(r"(?im)^[ \t]{0,40}password[ \t]{1,8}(?P<s>(?=[^\s]{0,200}[0-9])[^\s*]{8,400})[ \t]*$", "password"),
    _form(r"(?<![\w.\-])[\w.*\-]{1,120}:(?:543\d|6432|\*):[\w*\-]{1,80}:[\w*.\-]{1,80}:(?P<s>[^\s*:`\"'][^\s`\"']{2,400})",
          ":543", ":6432", ":*:"),  # .pgpass
)  # fmt: skip

_WORDS = (
    # as people write them into a report; a digit tells them from "the password is wrong"
    _form(r"(?i)\b(?:password|passwort|kennwort|passphrase|passwd|passcode|pwd?)(?:\s(?:for|of|to)\s[\w.@\-]{1,60})?"
          r"\s(?:is|ist|lautet|was|war|are|were|set to|changed to)(?:\s(?:now|just|still))?[ :]{1,3}[\"'`]?"
          r"(?P<s>(?!(?:base|sha-?|md|utf-?|aes-?)\d)(?=[^\s\d]{0,80}\d)[^\s\"'`*<$%{(]"
          r"[^\s\"'`]{4,200}(?<![.,;:!?)]))", "passw", "passphrase", "passcode", "wort", "pw ", "pwd "),
    # https://en.wiktionary.org/wiki/password#Translations
    _form(r"(?i)(?:mot de passe|contrase(?:ñ|n)a|senha|has[lł]o|парол[ьяе]|パスワード|비밀번호)"
          r"\s{0,2}(?:est|es|é|to|は|는|은|это|—|-)?\s{1,2}[\"'`]?"
          r"(?P<s>(?=[^\s\d]{0,60}\d)(?=[^\sA-Za-z]{0,60}[A-Za-z])[^\s\"'`:=,;<>(){}\[\]/*]{6,80})",
          "passe", "contrase", "senha", "has", "парол", "パスワード", "비밀번호"),
    # who, and the password behind a slash or a colon; a word in small letters and a number may be a node or a folder
    _form(r"(?i)\b(?:log(?:in|on|[- ]in)|logged in|sign[- ]?in|credentials?|creds|acc(?:oun)?t|anmeldung|"
          r"账号|帐号|账户|登录)(?: (?:with|as|is|mit|data|details))?\s{0,2}[:=：]?\s{0,2}[\"'`]?"
          r"[\w.@+\-]{1,64}\s?[/:|]\s?"
          r"(?P<s>(?=[^\s\d]{0,60}\d)(?-i:(?=[^\sA-Z]{0,60}[A-Z])(?=[^\sa-z]{0,60}[a-z])|(?=\w{1,60}[!#$%&*+^~?]))"
          r"[^\s\"'`/:,;<>(){}\[\]]{5,200})(?![\w/:])", "log", "sign", "cred", "acc", "anmeldung", "号", "户", "登录"),
    # the same with a password of small letters and a number, as people make them; neither a machine's name nor a team's
    _form(r"(?i)\b(?:log(?:in|on|[- ]in)|sign[- ]?in|credentials?|creds|anmeldung|账号|帐号|账户|登录)"
          r"(?: (?:with|as|is|mit|data|details))?\s{0,2}[:=：]?\s{0,2}[\"'`]?"
          r"(?!(?:node|host|gpu|server|rank|rack|worker|cluster|hpc|slurm)[a-z\d]{0,20}[/:])"
          r"[a-z][a-z._\-]{0,40}\s?[/:|]\s?(?P<s>(?!(?:node|host|gpu|rack|rank|run|exp|proj|project|team|group|lab|org|cluster|"
          r"server|worker|user|room|page|v|scratch|data|step|epoch|stage|port|slot|job|task|queue|part)[a-z]{0,3}\d)"
          r"[a-z]{4,20}\d{1,6}[!#$%&*+^~?.]{0,3})(?![\w/:.\-])",
          "log", "sign", "cred", "anmeldung", "号", "户", "登录"),
    # as an instruction: letters of both sizes and a digit tell it from a word
    _form(r"(?i)\b(?:password|passwd|passphrase|passcode|passwort|kennwort|pw)\s{1,3}[\"'`]?(?P<s>(?=[^\s\d]{0,60}\d)"
          r"(?-i:(?=[^\sA-Z]{0,60}[A-Z])(?=[^\sa-z]{0,60}[a-z]))[^\s\"'`:=,;<>(){}\[\]/*]{8,80}(?<![.!?]))",
          "passw", "passphrase", "passcode", "kennwort", "pw "),
    _form(r"(?i)\b(?:user(?:name)?|login|uid|nutzer|用户名?)\b[^\n]{1,60}?\b(?:pass|pw)\b\s{0,2}[:= ]\s{0,2}[\"'`]?"
          r"(?P<s>(?=[^\s\d]{0,60}\d)[^\s\"'`,;*<$%{(/]{6,200})", "pass", "pw"),
    _form(r"(?:密码|口令)\s{1,3}(?P<s>(?=[A-Za-z_\-!@#]{0,60}[0-9])(?=[0-9_\-!@#]{0,60}[A-Za-z])[\w\-!@#]{6,200})",
          "密码", "口令"),
    _form(r"(?<=\s)--?pw[ \t]{1,4}(?P<s>[^\s\-\"'`*][^\s\"'`]{3,200})", "-pw"),
    _form(r"(?i)(?:密码|口令|密钥|密鑰|令牌|token|key)\s?(?:就?是|为|為|设为|设置为|改成|改为|[:：])\s{0,2}[\"'`“「]?"
          r"(?P<s>(?=[A-Za-z_\-+/@!#]{0,80}[0-9])[A-Za-z0-9_\-+/=.@!#]{6,400})",
          "密", "口令", "令牌", "是", "为", "為", "改成"),
    # as git and pip ask for it, with the address in quotes
    _form(rf"(?i)\bpass ?(?:word|phrase) for {_Q}[^\"'\n]{{1,300}}{_Q}:\s{{1,3}}"
          r"(?P<s>(?=[^\s\d]{0,80}\d)[^\s\"'`*<$%{(\[]\S{5,200})",
          "word for", "phrase for"),
    _form(r"(?i)\bpass ?(?:word|phrase)\b[^\n:=]{1,60}:\s{1,3}"
          r"(?P<s>(?=[^\s\d]{0,80}\d)[^\s\"'`*<$%{(\[][^\s\"'`]{5,200})",
          "pass phrase", "passphrase", "password"),
    _form(r"(?i)\btoken (?:is|was)\s?:?\s?[\"'`]?"
          r"(?P<s>(?=[A-Za-z_\-]{0,80}[0-9])(?=[0-9_\-]{0,80}[A-Za-z])[A-Za-z0-9_\-]{24,400})",
          "token is", "token was"),
    # what is typed behind a prompt
    _form(r"(?i)\b(?:api key|token|password|passphrase|secret)\b[^\n:=]{1,80}:\s{1,3}"
          r"(?P<s>(?=[A-Za-z_\-]{0,80}[0-9])(?=[0-9_\-]{0,80}[A-Za-z])[A-Za-z0-9_\-]{20,400})(?![\w.\-/])",
          "key", "token", "passw", "passphrase", "secret"),
    # name and value as two words of a command
    _form(r"(?i)(?<![\w.\-])(?:[a-z0-9]{1,20}_){1,4}(?:key|token|secret|password|passwd)"
          r"(?:[ \t]{1,60}|[ \t]?\.{3,60}[ \t]?)"
          r"(?P<s>(?=[A-Za-z_\-+/]{0,80}[0-9])(?=[0-9_\-+/]{0,80}[A-Za-z])[A-Za-z0-9+/=_\-]{16,400})(?![\w.:\-/])",
          "_key", "_token", "_secret", "_passw"),
    # of a connection to a database, which calls a password as shells call their folder
    _form(r"(?i)(?:;|;\s|\{)pwd\s{0,2}=\s{0,2}(?P<s>[^\s;\"'&/~$*][^\s;\"'&]{2,200})", "pwd"),
    _form(rf"(?i)\buser(?:name)?(?:{_Q})?\s{{0,2}}[:=]\s{{0,2}}{_Q}[^\"'\n\\]{{1,80}}{_Q}\s{{0,2}},\s{{0,2}}(?:{_Q})?"
          rf"pass(?:{_Q})?\s{{0,2}}[:=]\s{{0,2}}{_Q}(?P<s>(?!\*\*\*)[^\"'\n\\]{{1,400}}){_Q}", "pass"),
    _form(r"(?i)\b(?:api|access|secret|private|account)[ \-]?key(?: id| provided| is| was| used| set)?(?: is| to| as)?"
          r"\s?[:=]?\s?[\"'`]?(?P<s>(?=[A-Za-z_\-+/*]{0,80}[0-9])[\w\-+/=*.]{8,400})",
          "apikey", "accesskey", "secretkey", "i key", "s key", "t key", "e key", "i-key", "s-key", "t-key", "e-key"),
    _form(r"(?i)\b(?:personal access |access |api |auth |bearer |refresh |hub |hf )token(?: is| was)?\s?[:=]?\s?"
          r"[\"'`]?(?P<s>(?=[A-Za-z_\-+/]{0,80}[0-9])[\w\-+/=.]{16,400})", " token"),
    _form(r"\b[Tt]oken\s[\"'`]?(?P<s>(?=[A-Za-z\-]{0,60}\d)(?=[a-z\d\-]{0,60}[A-Z])(?=[A-Z\d\-]{0,60}[a-z])"
          r"[A-Za-z0-9\-]{24,400})(?![\w.\-/])",
          "token "),
    # neither a compiler's nor a cache's, which is a digest
    _form(r"(?i)(?:(?<=\\n)|(?<![\w.\-]))(?<!cache )(?<!triton )(?<!hash )(?<!graph )(?<!kernel )(?<!dataset )"
          r"key[\"'\\]{0,5}\s{0,3}[:=]\s{0,3}[\"'\\]{0,5}(?P<s>[0-9a-f]{32,64}(?![\w\-])|"
          r"(?-i:(?=[A-Za-z\-+/=]{0,60}[0-9])(?=[^A-Z\n]{0,60}[A-Z])(?=[^a-z\n]{0,60}[a-z]))[A-Za-z0-9+/=\-]{24,200}"
          r"(?![\w.\-]))", "key"),
    # ~/.docker/config.json
    _form(r"(?i)[\"']auths?[\"'\\]{1,5}\s{0,3}:\s{0,3}[\"'\\]{1,5}(?P<s>[A-Za-z0-9+/]{8,}={0,2})[\"'\\]", "auth"),
    # a line that is nothing but base64 of the width in which keys are written
    _form(r"(?m)^[ \t]{0,40}(?P<s>(?=[^A-Z\n]{0,76}[A-Z])(?=[^a-z\n]{0,76}[a-z])(?=[^0-9\n]{0,76}[0-9])"
          r"[A-Za-z0-9+][A-Za-z0-9+/]{59,16000}={0,2})[ \t]*$", ""),
    # such a line among those of a text that is escaped into one
    _form(r"\\n(?P<s>(?=[^A-Z\n]{0,76}[A-Z])(?=[^a-z\n]{0,76}[a-z])(?=[^0-9\n]{0,76}[0-9])"
          r"[A-Za-z0-9+][A-Za-z0-9+/]{59,16000}={0,2})(?=\\{1,4}[nr]|\\{0,4}[\"'])", "\\n"),
)  # fmt: skip

#: in this order: what stands around a secret decides before the secret's own looks, which leave its beginning
FORMS = (*_ADDRESSES, *_COMMANDS, *_HEADERS, *_MODELS, *_CODE, *_CLOUDS, *_SERVICES, *_WORDS)
