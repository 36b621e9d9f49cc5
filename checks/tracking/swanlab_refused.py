"""SwanLab refuses the login, or the server of SwanLab.

## What it means
SwanLab writes to its cloud unless it is told otherwise, and asks for an API key for that. A batch job and a worker of
Ray have no terminal to type it.
## What it does to a run
The run ends where logging starts; with older releases it goes on and loses its metrics.
## What to do
Log in beforehand, or write to a local folder.
## How it is found
In a log: by SwanLab's messages.
## References
https://docs.swanlab.cn/en/api/py-login.html
https://docs.swanlab.cn/en/api/py-init.html
https://github.com/modelscope/ms-swift/issues/9689
https://github.com/SwanHubX/SwanLab/issues/946
https://github.com/SwanHubX/SwanLab/issues/1252
https://github.com/SwanHubX/SwanLab/issues/1251
https://github.com/SwanHubX/SwanLab/issues/1313
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="TRK011", name="swanlab-refused", severity=ERROR, since="0.1")

KEY = Message(
    en=Words(
        "SwanLab does not take the API key",
        "The key is wrong or incomplete, belongs to another server than the one that is asked (a private "
        "deployment has its own), or the old one is kept in ~/.swanlab.",
        "Copy it anew from https://swanlab.cn/space/~/settings and run `swanlab login --relogin` (`--host URL` "
        "for a private server), or `export SWANLAB_API_KEY=...` for the process that logs (with Ray also for its "
        "workers); without a cloud: `export SWANLAB_MODE=local` or `offline`. `pip install -U swanlab` where the "
        "server is newer.",
    ),
    zh=Words(
        "SwanLab 不接受 API Key",
        "密钥错误或不完整,属于另一台服务器(私有化部署有自己的密钥),或 ~/.swanlab 中保存的是旧密钥。",
        "从 https://swanlab.cn/space/~/settings 重新复制,运行 `swanlab login --relogin`(私有部署加 `--host "
        "URL`),或为负责记录的进程 `export SWANLAB_API_KEY=...`(Ray 的 worker 也要);不用云端时 `export "
        "SWANLAB_MODE=local` 或 `offline`。服务端较新时 `pip install -U swanlab`。",
    ),
)
ASKS = Message(
    en=Words(
        "SwanLab has no API key, and no terminal to ask for one",
        "The mode is cloud (online) unless it is set, and nobody logged in for this user. In a batch job, in a "
        "container and in a worker of Ray nothing can be typed.",
        "`swanlab login` once on this machine, or `export SWANLAB_API_KEY=...` before the start (with Ray on "
        "every node); or write locally: `export SWANLAB_MODE=local` (or `offline`, `disabled`), and look with "
        "`swanlab watch`.",
    ),
    zh=Words(
        "SwanLab 没有 API Key,也没有终端可供输入",
        "未设置时模式为 cloud(online),而该用户尚未登录。批处理作业、容器和 Ray 的 worker 中无法输入。",
        "在本机执行一次 `swanlab login`,或启动前 `export SWANLAB_API_KEY=...`(Ray 的每个节点都要);或写到本地:`export"
        " SWANLAB_MODE=local`(或 `offline`、`disabled`),用 `swanlab watch` 查看。",
    ),
)
SERVER = Message(
    en=Words(
        "the server of SwanLab answers with an error ({code})",
        "The request reached it: 401 and 403 are the login, 404 a private server that is older or newer than the "
        "package, 5xx and 499 the service or a proxy in between.",
        "401/403: `swanlab login --relogin`. 404 with a private server: install the release of the package that "
        "it names. Otherwise try again, and to go on without it `export SWANLAB_MODE=local` or `offline` and "
        "`swanlab sync` later.",
    ),
    zh=Words(
        "SwanLab 服务器返回错误({code})",
        "请求已到达:401、403 是登录问题,404 是私有服务器与软件包版本不匹配,5xx 与 499 是服务或中间代理的问题。",
        "401/403:`swanlab login --relogin`。私有服务器的 404:安装其要求的软件包版本。其他情况先重试;不依赖云"
        "端时 `export SWANLAB_MODE=local` 或 `offline`,之后用 `swanlab sync` 上传。",
    ),
)

UNREACHED = Message(
    en=Words(
        "SwanLab's server `{host}` was not reached from this machine",
        "The login at the start needs it: the machine has no way out (many compute nodes have none), its name server "
        "does not answer at that moment, or `http_proxy`/`https_proxy` name a proxy that is not there. The key was not "
        "looked at yet.",
        "Try `curl -I https://{host}` on that node. A name that cannot be resolved now and then: start again, or look "
        "at `/etc/resolv.conf`. Without a way out write locally and upload later: `export SWANLAB_MODE=offline` (or "
        "`local`), then `swanlab sync` from a machine that has one.",
    ),
    zh=Words(
        "本机无法连接 SwanLab 服务器 `{host}`",
        "启动时的登录需要它:机器没有外网(很多计算节点如此),DNS 当时没有应答,或 `http_proxy`/`https_proxy` "
        "指向不存在的代理。此时尚未检查密钥。",
        "在该节点执行 `curl -I https://{host}`。域名偶尔解析失败:重新启动,或检查 `/etc/resolv.conf`。没有外网时先写到本"
        "地再上传:`export SWANLAB_MODE=offline`(或 `local`),之后在有外网的机器上 `swanlab sync`。",
    ),
)
UPLOAD = Message(
    en=Words(
        "SwanLab's server refuses what the run uploads ({code}); the training goes on",
        "The metrics from there on are not in the cloud. 401 and 403: the key of the process that logs is wrong, cut "
        "short or of another account; 400 and 404: the uploaded thing, or a private server that is older or newer than "
        "the package.",
        "401/403: `swanlab login --relogin`, or `export SWANLAB_API_KEY=...` whole, for Ray on every node and before "
        "`ray start`. The local log folder (`swanlog`) still has what was logged: `swanlab sync` uploads it later. 400/"
        "404: `pip install -U swanlab`.",
    ),
    zh=Words(
        "SwanLab 服务器拒绝了上传内容({code}),训练仍在继续",
        "此后的指标不在云端。401、403:负责记录的进程的密钥错误、不完整或属于其他账号;400、404:上传内容本身的问题,"
        "或私有服务器与软件包版本不匹配。",
        "401/403:`swanlab login --relogin`,或完整地 `export SWANLAB_API_KEY=...`(使用 Ray 时在每个节点、`ray start` "
        "之前设置)。本地日志目录(`swanlog`)仍有记录,之后可用 `swanlab sync` 上传。400/404:`pip install -U swanlab`。",
    ),
)
OUTSIDE = Message(
    en=Words(
        "SwanLab is asked to log or to finish where `swanlab.init` was not called",
        "No run is open in this process: another rank or a child process opened it (a trainer that starts its own "
        "processes for several GPUs), `swanlab.finish()` closed it before, or the callback was added after training "
        "began. The training itself is not at fault; the message comes where logging starts or at the end.",
        "Call `swanlab.init(project=...)` before the trainer starts and in the process that logs (rank 0), and finish "
        "once; write `if swanlab.get_run() is not None:` before `swanlab.log` and `swanlab.finish` elsewhere. With "
        "one GPU it shows whether the extra processes are at fault. `pip install -U swanlab` for its integrations.",
    ),
    zh=Words(
        "在没有调用 `swanlab.init` 的地方要求 SwanLab 记录或结束",
        "该进程中没有打开的实验:由另一个 rank 或子进程打开(多 GPU 时训练器会自行启动进程),之前已被 `swanlab.finish()` "
        "关闭,或回调在训练开始之后才添加。训练本身没有问题;该信息出现在开始记录或结束之时。",
        "在训练器启动之前、由负责记录的进程(rank 0)调用 `swanlab.init(project=...)`,并只结束一次;其他位置的 "
        "`swanlab.log` 与 `swanlab.finish` 之前写 `if swanlab.get_run() is not None:`。只用一张 GPU 可判断是否由额外进"
        "程引起。其集成可用 `pip install -U swanlab` 更新。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"Failed to initialize the SwanLab client\. Please check if the provided API key|swanlab\.(?:\w{1"
            r",20}\.)?(?:ValidationError|AuthenticationError): "
        ),
        KEY,
        CONFIRMED,
    ),
    (
        Signature(
            r"Failed to initialize SwanLab in online mode: no (?:TTY is available|API key was provided)|swanl"
            r"ab\.(?:\w{1,20}\.)?KeyFileError: |api key not configured \(no-tty\), call `swanlab\.login"
        ),
        ASKS,
        CONFIRMED,
    ),
    (
        Signature(r"swanlab\.(?:\w{1,20}\.)?ApiError: [^\n]{0,300}?(?:'| )(?P<code>[45]\d\d)\b"),
        SERVER,
        CONFIRMED,
    ),
    (
        Signature(
            r"HTTPSConnectionPool\(host='(?P<host>[\w.-]{0,60}swanlab\.cn)', port=443\): Max retries exceeded",
            keywords=("swanlab.cn'",),
        ),
        UNREACHED,
        CONFIRMED,
    ),
    (
        Signature(
            r"swanlab: swanlab api error[^\n]{1,300}?(?:'|status code: )(?P<code>4\d\d)\b",
            keywords=("swanlab api error",),
            kind="warning",
        ),
        UPLOAD,
        CONFIRMED,
    ),
    (
        Signature(r"RuntimeError: (?:The run object is None, please|You must) call `?swanlab\.init"),
        OUTSIDE,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for; a refused upload ends no run."""
    finding = finding_of_signature(PROBLEM, CASES, hits)
    uploads = CASES[hits.first.signature][0].kind == "warning"
    return replace(finding, severity=WARNING) if uploads else finding
