"""Ray's dashboard, or something before it, refuses a request of `ray job`.

## What it means
`ray job submit` talks to the dashboard of the head over HTTP. A proxy in the environment may answer in its place, an
id may be taken, and a dashboard of another release may not know the request.
## What it does to a run
Nothing is started, although the cluster may be well.
## What to do
Go around the proxy, take another id, or submit with the release of the cluster.
## How it is found
In a log: by the messages of Ray's client for jobs.
## References
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/dashboard/modules/dashboard_sdk.py
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/dashboard/modules/job/job_manager.py
https://docs.ray.io/en/latest/cluster/running-applications/job-submission/quickstart.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY035", name="ray-job-request-refused", severity=ERROR, since="0.1")

GATEWAY = Message(
    en=Words(
        "`ray job` got {code} from something that stands before Ray's dashboard",
        "502, 503, 504, 407 and 403 are what a proxy answers: `http_proxy` is set, and requests to the head's address "
        "go through it, or an ingress has no dashboard behind it (403: it wants a login). The dashboard itself did "
        "not see the request.",
        "`export no_proxy=localhost,127.0.0.1,HEAD_IP NO_PROXY=localhost,127.0.0.1,HEAD_IP` (or `unset http_proxy "
        "HTTP_PROXY`), and test with `curl --noproxy '*' http://127.0.0.1:8265/api/version`; then `ray job submit "
        "--address=http://127.0.0.1:8265 ...` once more.",
    ),
    zh=Words(
        "`ray job` 从 Ray dashboard 前面的某处得到了 {code}",
        "502、503、504、407、403 是代理的回答:设置了 `http_proxy`,发往 head 地址的请求经过了它,或 ingress 后面没有 "
        "dashboard(403:它要求登录)。dashboard 本身没有收到请求。",
        "`export no_proxy=localhost,127.0.0.1,HEAD_IP NO_PROXY=localhost,127.0.0.1,HEAD_IP`(或 `unset "
        "http_proxy HTTP_PROXY`),用 `curl --noproxy '*' http://127.0.0.1:8265/api/version` 测试;然后重新执行"
        " `ray job submit --address=http://127.0.0.1:8265 ...`。",
    ),
)
TAKEN = Message(
    en=Words(
        "Ray has a job of that submission id already",
        "Ids of jobs are kept after they end, so a script that names its own id cannot be submitted twice to one "
        "cluster.",
        "Leave `--submission-id` out, or make it new each time (`--submission-id run-$(date +%s)`); `ray job "
        "list` shows the old one, `ray job stop ID` and `ray job delete ID` end and remove it.",
    ),
    zh=Words(
        "Ray 中已有相同 submission id 的任务",
        "任务 id 在结束后仍保留,因此自定 id 的脚本不能向同一集群提交两次。",
        "去掉 `--submission-id`,或每次取新值(`--submission-id run-$(date +%s)`);`ray job list` 可查看旧任务,`ray"
        " job stop ID` 与 `ray job delete ID` 可停止并删除。",
    ),
)
RELEASE = Message(
    en=Words(
        "the dashboard at that address does not know the requests of `ray job`",
        "Something else listens there, or the cluster was started without the dashboard's packages (`pip install "
        "ray` alone), or by a much older or newer Ray.",
        "`pip install 'ray[default]==VERSION'` with the version of the cluster on the head and where you submit, "
        "and start the head again; check with `curl --noproxy '*' http://127.0.0.1:8265/api/version`.",
    ),
    zh=Words(
        "该地址的 dashboard 不认识 `ray job` 的请求",
        "监听的是别的程序,或集群启动时没有 dashboard 的依赖(只装了 `pip install ray`),或 Ray 版本差别过大。",
        "在 head 与提交处都 `pip install 'ray[default]==VERSION'`(与集群版本一致),重新启动 head;用 `curl "
        "--noproxy '*' http://127.0.0.1:8265/api/version` 检查。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"RuntimeError: Request failed with status code (?P<code>502|503|504|407|403): "),
        GATEWAY,
        LIKELY,
    ),
    (
        Signature(r"Job with submission_id \S{1,120} already exists"),
        TAKEN,
        CONFIRMED,
    ),
    (
        Signature(
            r"RuntimeError: (?:Jobs API is not supported on the Ray cluster|Version check returned 404|Ray ve"
            r"rsion \S{1,20} is running on the cluster\.|Version endpoint not found|Ray Jobs API version mism"
            r"atch)|does not support [^\n]{1,60}Please (?:ensure|upgrade)[^\n]{1,40}ray"
        ),
        RELEASE,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
