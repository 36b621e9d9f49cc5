"""A TLS certificate is not trusted.

## What it means
A company's proxy opens the connections and signs them itself, or the certificates of the interpreter are
out of date or missing in a container.
## What it does to a run
Every download ends with an SSL error, after retries.
## What to do
Give Python the proxy's certificate.
## How it is found
In a log: by the words of OpenSSL.
## References
https://docs.python.org/3/library/ssl.html
https://requests.readthedocs.io/en/latest/user/advanced/#ssl-cert-verification
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HUB014", name="certificate-not-trusted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\[SSL: CERTIFICATE_VERIFY_FAILED\] certificate verify failed: (?P<reason>self[-"
        r" ]signed|unable to get local issuer|certificate has expired|Hostname mismatch|[\w\-]{1,20})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a TLS certificate was refused ({reason})",
        "Mostly a proxy between this machine and the server signs with a certificate of its own, or the bundle of "
        "certificates that Python reads is old or missing. One that has expired may also be the server's own, or the "
        "clock here is wrong; where the name does not match, another machine answers than the one that was meant (a "
        "login page, a wrong address).",
        "Set `export SSL_CERT_FILE=/path/company-ca.pem REQUESTS_CA_BUNDLE=/path/company-ca.pem` (ask "
        "for the proxy's CA file), or renew the bundle: `pip install -U certifi` and "
        "`update-ca-certificates`; see that the clock of the machine is right (`date`). For another name look at the "
        "address and at `https_proxy`.",
    ),
    zh=Words(
        "TLS 证书被拒绝({reason})",
        "多半是本机与服务器之间有一个用自己证书签名的代理,或 Python 读取的证书包过旧或缺失。证书过期也可能是服务器自身"
        "的证书过期,或本机时钟不对;主机名不匹配说明应答的不是所要访问的机器(登录页、地址错误)。",
        "设置 `export SSL_CERT_FILE=/path/company-ca.pem REQUESTS_CA_BUNDLE=/path/company-ca.pem`(向管理"
        "员索取代理的 CA 文件),或更新证书包:`pip install -U certifi` 和 `update-ca-certificates`;并确认机"
        "器时钟正确(`date`)。主机名不匹配时检查地址与 `https_proxy`。",
    ),
)
