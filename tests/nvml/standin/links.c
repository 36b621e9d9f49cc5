/* Between cards: NVLink, peer access, where they sit in the tree of PCIe. */
#include "standin.h"

#include <stdio.h>
#include <string.h>

/* Links that a card does not have are not supported; numbers beyond NVML's own bound are invalid. */
#define CHECK_LINK(link) \
    do { \
        if ((link) >= MAX_LINKS) return NVML_ERROR_INVALID_ARGUMENT; \
        if (gpu->nvlinks == UNSET || (link) >= gpu->nvlinks) return NVML_ERROR_NOT_SUPPORTED; \
    } while (0)

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link, unsigned int *active) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    return give_number(!gpu->link_down[link], active);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t handle, unsigned int link, unsigned int *version) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    return give_number(gpu->nvlink_version, version);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t handle, unsigned int link, unsigned int capability,
                                                    unsigned int *result) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    if (capability > 5) return NVML_ERROR_INVALID_ARGUMENT;
    return give_number(capability != 4 && !gpu->link_down[link], result);
}

int64_t link_errors_now(const struct gpu *gpu, unsigned int link, int kind) {
    return clock_now_s() < gpu->link_errors_at_s[link][kind] ? 0 : gpu->link_errors[link][kind];
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t handle, unsigned int link, unsigned int counter,
                                                      unsigned long long *count) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    if (!count || counter > 4) return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned long long)link_errors_now(gpu, link, (int)counter);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t handle, unsigned int link, unsigned int *type) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    return give_number(gpu->link_peer[link] < 0 ? 2 : 0, type);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link, nvmlPciInfo_t *info) {
    ENTER_GPU(handle);
    CHECK_LINK(link);
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    int peer = gpu->link_peer[link];
    if (peer < 0 || peer >= scenario.gpu_count) return NVML_ERROR_NOT_SUPPORTED;
    memset(info, 0, sizeof *info);
    sscanf(scenario.gpus[peer].bus_id, "%x:%x:%x", &info->domain, &info->bus, &info->device);
    snprintf(info->busId, sizeof info->busId, "%s", scenario.gpus[peer].bus_id);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0", info->domain & 0xffff, info->bus & 0xff,
             info->device & 0xff);
    return NVML_SUCCESS;
}

/* The second handle is looked up without being counted: one call is one call. */
static struct gpu *peer_of(nvmlDevice_t handle) {
    for (int k = 0; k < scenario.gpu_count; k++)
        if (handle == &scenario.gpus[k].device) return &scenario.gpus[k];
    return NULL;
}

NVML_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t handle, nvmlDevice_t other, unsigned int kind,
                                             unsigned int *status) {
    ENTER_GPU(handle);
    const struct gpu *peer = peer_of(other);
    if (!peer || peer == gpu || kind > 4) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu_is_lost(peer, clock_now_s())) return NVML_ERROR_GPU_IS_LOST;
    int state = gpu->p2p[peer->index][kind];
    if (state < 0) state = peer->p2p[gpu->index][kind];
    return give_number(state < 0 ? UNSET : state, status);
}

NVML_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t handle, nvmlDevice_t other,
                                                          unsigned int *level) {
    ENTER_GPU(handle);
    const struct gpu *peer = peer_of(other);
    if (!peer) return NVML_ERROR_INVALID_ARGUMENT;
    int found = gpu->topology[peer->index];
    if (found < 0) found = peer->topology[gpu->index];
    return give_number(peer == gpu ? 0 : found < 0 ? UNSET : found, level);
}
