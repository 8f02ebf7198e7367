/* amd_kfd.c - see amd_kfd.h */
#include "gpu/amd_kfd.h"

#include "base/parse.h"
#include "base/str.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <stdio.h>

#define MAX_NODES 256

/* location_id is bus << 8 | device << 3 | function. */
static bool at_place(const char *properties, const char *pci)
{
    unsigned domain, bus, device, function;
    char text[32];
    double location, of_domain = 0;

    if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4 ||
        !sysfs_property(properties, "location_id", ' ', text, sizeof(text)) ||
        !sysfs_parse_number(text, &location))
        return false;
    if (sysfs_property(properties, "domain", ' ', text, sizeof(text)) &&
        !sysfs_parse_number(text, &of_domain))
        return false;
    return location == (bus << 8 | device << 3 | function) && of_domain == domain;
}

void amd_kfd_id(const char *sysfs, const char *pci, char *id, size_t size)
{
    char folder[SYSFS_PATH_SIZE], node[SYSFS_PATH_SIZE];
    char properties[SYSFS_TEXT_SIZE];
    size_t count;
    char **names;

    id[0] = '\0';
    snprintf(folder, sizeof(folder), "%.400s/class/kfd/kfd/topology/nodes", sysfs);
    names = sysfs_names(folder, "", MAX_NODES, &count);
    for (size_t i = 0; i < count && !id[0]; i++) {
        snprintf(node, sizeof(node), "%.450s/%.20s", folder, names[i]);
        if (sysfs_text(node, "properties", properties, sizeof(properties)) == GPU_OK &&
            at_place(properties, pci) && sysfs_line(node, "gpu_id", id, size) != GPU_OK)
            id[0] = '\0';
    }
    sysfs_names_free(names, count);
}

void amd_kfd_processes(const char *sysfs, const char *id, struct gpu_sample *sample)
{
    char folder[SYSFS_PATH_SIZE], process[SYSFS_PATH_SIZE], file[40];
    size_t count;
    char **names;

    snprintf(folder, sizeof(folder), "%.400s/class/kfd/kfd/proc", sysfs);
    snprintf(file, sizeof(file), "vram_%s", id);
    names = sysfs_names(folder, "", 4 * GPU_MAX_PROCESSES, &count);
    sample->processes_known = true;
    for (size_t i = 0; i < count; i++) {
        double bytes;
        int pid;

        snprintf(process, sizeof(process), "%.450s/%.20s", folder, names[i]);
        if (!parse_int(names[i], &pid) || pid <= 0 ||
            sysfs_number(process, file, &bytes) != GPU_OK || !(bytes > 0))
            continue;
        if (sample->process_count == GPU_MAX_PROCESSES) {
            sample->processes_cut = true;
            break;
        }
        sample->processes[sample->process_count++] =
            (struct gpu_process){.pid = pid, .utilisation = NAN, .memory_bytes = bytes};
    }
    sysfs_names_free(names, count);
}
