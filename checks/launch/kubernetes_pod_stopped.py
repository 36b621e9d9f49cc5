"""Kubernetes did not start the pod, or took it away.

## What it means
A pod waits when no node has the GPUs, memory or labels that it asks for, or when its image cannot be fetched. It is
evicted when its node runs short of disk, memory or processes, or when a more important pod needs the place.
## What it does to a run
Nothing starts; or all its processes end without a word of their own.
## What to do
Ask for what a node has free, mend the name of the image, or give the pod the disk and memory it uses as a request.
## How it is found
In a log: by the words of `kubectl describe pod`, `kubectl get events`, or the operator.
## References
https://github.com/juicedata/juicefs-csi-driver/issues/1183
https://github.com/ray-project/kuberay/issues/1414
https://github.com/substratusai/runbooks/issues/92
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage
https://github.com/kubernetes/kubernetes/issues/130145
https://github.com/kubeflow/trainer/issues/2034
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
https://github.com/NVIDIA/k8s-device-plugin/issues/231
https://kubernetes.io/docs/tasks/configure-pod-container/configure-persistent-volume-storage/
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
https://kubernetes.io/docs/concepts/containers/images/#imagepullbackoff
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH036", name="kubernetes-pod-stopped", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The node was low on resource: (?P<evicted>[\w.\-]{1,40})\.",
    ),
    Signature(
        r"(?P<free>\d{1,5})/(?P<total>\d{1,5}) nodes are available: "
        r"(?:[^\n]{0,300}?Insufficient (?P<resource>[\w./\-]{1,80}\b)"
        r"|[^\n]{0,300}?(?:didn't match Pod's node affinity|had untolerated taint))",
    ),
    Signature(
        r'(?:Failed to pull image "(?P<image>[^"\n]{1,300})"|\b(?:ErrImagePull|ImagePullBackOff|Invali'
        r"dImageName)\b)",
    ),
    Signature(
        r"(?P<preempted>Preempted by (?:pod )?\S{1,120} on node|Pod was preempted|pod was preempted|Re"
        r"ason:\s{1,20}(?:Preempting|Preempted)\b)",
        symptom_of=("*",),
    ),
    Signature(
        r'\bMountVolume\.\w{1,30} failed for volume "(?P<volume>[^"\n]{1,200})"'
        r"|\bUnable to attach or mount volumes: unmounted volumes=\[(?P<unmounted>[^\]\n]{1,200})\]",
        keywords=("MountVolume.", "Unable to attach or mount volumes"),
    ),
    Signature(
        r"\bAllocate failed due to (?P<refused>[^\n]{3,300}?)(?:, which is unexpected|$)",
        keywords=("Allocate failed due to ",),
    ),
    Signature(
        r"(?P<looping>\bBack-off restarting failed container|\bCrashLoopBackOff\b)"
        r"(?: (?P<container>[\w.\-]{1,63}) in pod)?",
    ),
    Signature(
        r"(?:(?P<owner>Pod) ephemeral local storage usage exceeds the total limit of containers"
        r"|Container (?P<filler>[\w.\-]{1,63}) exceeded its local ephemeral storage limit"
        r"|Usage of EmptyDir volume \"(?P<emptydir>[^\"\n]{1,80})\" exceeds the limit) \"?(?P<size>\d[\w.]{0,20}\w)",
        keywords=(" ephemeral ", "Usage of EmptyDir volume "),
        symptom_of=("HST",),
    ),
    Signature(
        r"(?P<assigned>Successfully assigned )\S{1,200} to "
        r"|(?P<pulled>Successfully pulled image |Container image \S{1,300} already present on machine)",
        kind="sign",
    ),
)

#: positions of signatures
_WAITS, _IMAGE, _MOUNT, _STARTED = 1, 2, 4, 8

LOG_MESSAGE_EVICTED = Message(
    en=Words(
        "Kubernetes evicted the pod: its node ran short of {evicted}",
        "The kubelet ends pods when the node's disk, memory or process numbers run out, first those that "
        "use most above their request. Checkpoints, caches and logs inside of the container, emptyDir "
        "volumes and the image's own layer count as ephemeral-storage.",
        "Write checkpoints, `HF_HOME`, `TMPDIR` and Ray's folder (`--temp-dir`) to a mounted volume, and "
        "request what the pod uses (`resources.requests.ephemeral-storage`, `memory`; for an emptyDir "
        "`sizeLimit`), so that it goes to a node that has it. Resume from the last checkpoint on that "
        "volume.",
    ),
    zh=Words(
        "Kubernetes 驱逐了该 pod:节点的 {evicted} 不足",
        "当节点的磁盘、内存或进程数耗尽时,kubelet 会结束 pod,首先是超出 request 最多的。容器内的检查点、"
        "缓存与日志、emptyDir 卷以及镜像可写层都计入 ephemeral-storage。",
        "把检查点、`HF_HOME`、`TMPDIR` 与 Ray 的目录(`--temp-dir`)写到挂载卷,并按实际用量设置 "
        "request(`resources.requests.ephemeral-storage`、`memory`;emptyDir 用 `sizeLimit`),使其被调度到有"
        "余量的节点。从该卷上最近的检查点恢复。",
    ),
)

LOG_MESSAGE_FULL = Message(
    en=Words(
        "Kubernetes evicted the pod: it wrote more than its limit of {size} to local storage ({owner})",
        "What containers write outside of mounted volumes, their logs and emptyDir volumes (also /dev/shm made of one) "
        "count as ephemeral storage. The kubelet measures it and ends the whole pod above `limits.ephemeral-storage` "
        "or `sizeLimit`. The node's disk need not be full.",
        "Put checkpoints, `HF_HOME`, `TMPDIR`, wandb's and Ray's folders on a mounted volume (PVC, hostPath); or raise "
        "`resources.limits.ephemeral-storage`, or the emptyDir's `sizeLimit`. A sidecar (gcsfuse, logging) has a limit "
        'of its own, by annotation (`gke-gcsfuse/ephemeral-storage-limit: "0"` takes gcsfuse\'s away). Resume from '
        "the last checkpoint on the volume.",
    ),
    zh=Words(
        "Kubernetes 驱逐了该 pod:写入本地存储超过其上限 {size}({owner_zh})",
        "容器在挂载卷之外写入的内容、日志与 emptyDir 卷(包括用作 /dev/shm 的)都计入 ephemeral storage。kubelet 会测量用"
        "量,超过 `limits.ephemeral-storage` 或 `sizeLimit` 就结束整个 pod。节点磁盘不一定已满。",
        "把检查点、`HF_HOME`、`TMPDIR`、wandb 与 Ray 的目录放到挂载卷(PVC、hostPath);或提高 "
        "`resources.limits.ephemeral-storage` 或 emptyDir 的 `sizeLimit`。sidecar(gcsfuse、日志)有自己的上限,用注解设"
        '置(`gke-gcsfuse/ephemeral-storage-limit: "0"` 可取消 gcsfuse 的上限)。从该卷上最近的检查点恢复。',
    ),
)

LOG_MESSAGE_WAITS = Message(
    en=Words(
        "no node takes the pod: {free} of {total} nodes have what it asks for ({resource})",
        "The pod stays Pending and nothing of it runs. Every GPU of a pod must be free on one node; GPUs "
        "count only where the NVIDIA device plugin offers them, and a taint without a toleration keeps "
        "pods away.",
        "`kubectl describe nodes | grep -A8 'Allocated resources'` shows what is free. Ask for fewer "
        "GPUs, CPUs or memory a pod (more pods with fewer GPUs), end what is left over, add "
        "`tolerations` or correct `nodeSelector`, and check `kubectl get nodes -o "
        "custom-columns=N:.metadata.name,GPU:.status.allocatable.nvidia\\.com/gpu`: no number means that "
        "the device plugin does not run there.",
    ),
    zh=Words(
        "没有节点接收该 pod:{total} 个节点中只有 {free} 个满足其申请({resource})",
        "pod 停留在 Pending,什么都没有运行。一个 pod 的全部 GPU 必须在同一节点上空闲;只有 NVIDIA device "
        "plugin 上报的 GPU 才算数;没有 toleration 时 taint 会把 pod 拒之门外。",
        "`kubectl describe nodes | grep -A8 'Allocated resources'` 显示空闲资源。减少每个 pod 的 GPU、"
        "CPU 或内存(用更多、更小的 pod),结束残留的任务,添加 `tolerations` 或更正 `nodeSelector`,并检查 "
        "`kubectl get nodes -o custom-columns=N:.metadata.name,GPU:.status.allocatable.nvidia\\.com/gpu`:"
        "没有数字说明那里没有运行 device plugin。",
    ),
)

LOG_MESSAGE_IMAGE = Message(
    en=Words(
        "Kubernetes cannot fetch the image {image}",
        "Its name or tag is wrong, the registry wants a login (`imagePullSecrets`), is out of reach from "
        "the node, or the node's disk has no room for it. Nothing of the pod ran.",
        "Try it on the node: `crictl pull IMAGE` or `docker pull IMAGE`. Correct name and tag, add the "
        "secret (`kubectl create secret docker-registry`), name a mirror that the cluster can reach, and "
        "look at `df -h` under /var/lib/containerd.",
    ),
    zh=Words(
        "Kubernetes 无法拉取镜像 {image}",
        "名称或 tag 有误,仓库需要登录(`imagePullSecrets`),节点无法访问该仓库,或节点磁盘没有空间。pod 什么都没有运行。",
        "在节点上试一次:`crictl pull IMAGE` 或 `docker pull IMAGE`。更正名称与 tag,添加 secret(`kubectl "
        "create secret docker-registry`),改用集群可访问的镜像源,并查看 /var/lib/containerd 所在磁盘的 "
        "`df -h`。",
    ),
)

LOG_MESSAGE_MOUNT = Message(
    en=Words(
        "Kubernetes cannot mount the volume `{volume}`, so the pod does not start",
        "The kubelet of that node failed before any container ran: the storage driver (NFS, CSI, JuiceFS) is not there "
        "or does not reach its server, a claim or secret of that name is missing, a host path is read-only or absent, "
        "or another node still holds a disk that only one may mount.",
        "`kubectl describe pod NAME` shows the driver's own words; look into the driver's pods too (`kubectl -n "
        "kube-system get pods -o wide | grep csi`, their logs on that node), `kubectl get pvc,pv`. Try the mount by "
        "hand on the node. Give shared data an access mode `ReadWriteMany`.",
    ),
    zh=Words(
        "Kubernetes 无法挂载卷 `{volume}`,pod 因此没有启动",
        "该节点的 kubelet 在任何容器运行之前就失败:存储驱动(NFS、CSI、JuiceFS)不存在或连不上其服务器,缺少该名称的 PVC "
        "或 secret,宿主机路径只读或不存在,或只能单点挂载的磁盘仍被另一节点占用。",
        "`kubectl describe pod NAME` 会显示驱动自己的报错;同时查看驱动的 pod(`kubectl -n kube-system get pods -o wide "
        "| grep csi` 及其在该节点上的日志)和 `kubectl get pvc,pv`。在节点上手工挂载试验。共享数据的访问模式应为 "
        "`ReadWriteMany`。",
    ),
)

LOG_MESSAGE_DEVICES = Message(
    en=Words(
        "the node took the pod, and could not hand it the GPUs it was promised",
        "The scheduler counted GPUs as free that the kubelet of that node cannot give: one is lost or unhealthy, the "
        "device plugin or the kubelet was restarted and counts anew, pods that ended still hold theirs in its books, "
        "or a plugin that shares GPUs (HAMi, Volcano, a cloud's own) and the scheduler do not agree. Nothing of the "
        "pod ran, and it stays Failed (UnexpectedAdmissionError).",
        "Delete the pod and let it be made anew. On that node `nvidia-smi` shows a lost card; restart the device "
        "plugin's pod, then the kubelet (`systemctl restart kubelet`). If it comes back keep away from the node "
        "(`kubectl cordon NODE`). With shared GPUs ask for them in one container of the pod only, and by the plugin's "
        "own resource names and scheduler.",
    ),
    zh=Words(
        "节点接收了 pod,却无法交付所分配的 GPU",
        "调度器认为空闲的 GPU,该节点的 kubelet 给不出来:某张卡丢失或不健康,device plugin 或 kubelet 重启后重新计数,已"
        "结束的 pod 在其账上仍占用,或共享 GPU 的插件(HAMi、Volcano、云厂商自有)与调度器不一致。pod 什么都没有运行,并停"
        "留在 Failed(UnexpectedAdmissionError)。",
        "删除该 pod 让其重建。在该节点上 `nvidia-smi` 可看出是否掉卡;重启 device plugin 的 pod,再重启 "
        "kubelet(`systemctl restart kubelet`)。若再次出现,请避开该节点(`kubectl cordon NODE`)。使用共享 GPU 时只在 "
        "pod 的一个容器中申请,并使用该插件自己的资源名与调度器。",
    ),
)

LOG_MESSAGE_LOOPS = Message(
    en=Words(
        "the container{container} of a pod ends again and again; Kubernetes waits longer before each try",
        "The image is there and its command runs and fails, or ends at once. Why stands in the log of the container, "
        "not in the events. An init container that waits for another pod (`init-pytorch` of PyTorchJob for the "
        "master, `wait-gcs-ready` of KubeRay for the head) gives up when that pod was not made, has not started or "
        "its service does not resolve.",
        "`kubectl logs POD -c CONTAINER --previous` shows the last try: give that to `doctor postmortem`. `kubectl "
        "describe pod POD` has its exit code (137 with OOMKilled: the memory limit). For a waiting init container "
        "look at the pod that it waits for (`kubectl get pods -o wide`, the operator's log) first.",
    ),
    zh=Words(
        "pod 的容器{container_zh}反复退出,Kubernetes 每次重试前等待更久",
        "镜像已就绪,其命令运行后失败或立即结束。原因在该容器的日志中,而不在事件中。等待其他 pod 的 init 容器"
        "(PyTorchJob 的 `init-pytorch` 等待 master,KubeRay 的 `wait-gcs-ready` 等待 head)在对方没有创建、没有启动或其 "
        "service 无法解析时会放弃。",
        "`kubectl logs POD -c CONTAINER --previous` 显示上一次的输出:把它交给 `doctor postmortem`。`kubectl describe "
        "pod POD` 中有退出码(137 且 OOMKilled:超过内存限制)。若是等待中的 init 容器,先查看它所等待的 pod(`kubectl get "
        "pods -o wide`、operator 的日志)。",
    ),
)

LOG_MESSAGE_PREEMPTED = Message(
    en=Words(
        "Kubernetes took the pod away for one of higher priority",
        "The scheduler or the queue of the cluster needed its GPUs. The training itself did not fail; "
        "other pods of the same run lose it.",
        "Resume from the last checkpoint. Give the job a `priorityClassName` that is not preempted, "
        "start all its pods as one gang (Kueue, Volcano), and save often enough.",
    ),
    zh=Words(
        "Kubernetes 为更高优先级的 pod 收回了该 pod",
        "调度器或集群队列需要它的 GPU。训练本身没有失败,同一运行的其他 pod 只是失去了它。",
        "从最近的检查点恢复。给作业设置不会被抢占的 `priorityClassName`,将其全部 pod 作为一组调度(Kueue、"
        "Volcano),并提高保存频率。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Taken away or never started, and for want of what; a pod that was given a node and its image in the end runs."""
    kinds = {hit.signature for hit in hits if hit.signature < _STARTED}
    if (hits.get("pulled") and kinds <= {_WAITS, _IMAGE, _MOUNT}) or (hits.get("assigned") and kinds == {_WAITS}):
        return None
    told = {
        "evicted": LOG_MESSAGE_EVICTED,
        "preempted": LOG_MESSAGE_PREEMPTED,
        "total": LOG_MESSAGE_WAITS,
        "refused": LOG_MESSAGE_DEVICES,
        "looping": LOG_MESSAGE_LOOPS,
        "size": LOG_MESSAGE_FULL,
    }
    told |= dict.fromkeys(("volume", "unmounted"), LOG_MESSAGE_MOUNT)
    message = hits.choice(told, LOG_MESSAGE_IMAGE)
    filled = hits.get("filler") or hits.get("emptydir")
    filled = f"`{filled}`" if filled else ""
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        # the kubelet tries again
        confidence=LIKELY if message in (LOG_MESSAGE_MOUNT, LOG_MESSAGE_LOOPS) else CONFIRMED,
        evicted=hits.get("evicted") or "",
        size=hits.get("size") or "",
        owner=filled or "all containers together",
        owner_zh=filled or "所有容器合计",
        free=hits.get("free") or "0",
        total=hits.get("total") or "",
        resource=hits.get("resource") or "labels, taints",
        container=f" `{hits.get('container')}`" if hits.get("container") else "",
        container_zh=f" `{hits.get('container')}` " if hits.get("container") else "",
        image=hits.get("image") or "of the pod",
        volume=hits.get("volume") or hits.get("unmounted") or "",
        commands=("kubectl describe pod NAME", "kubectl get events --sort-by=.lastTimestamp"),
    )
