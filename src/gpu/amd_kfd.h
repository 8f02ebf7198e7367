/* amd_kfd.h - which processes compute on an AMD device, from class/kfd of sysfs */
#ifndef CORGI_GPU_AMD_KFD_H
#define CORGI_GPU_AMD_KFD_H

#include "gpu/gpu_devices.h"

/* The driver's number of the device at this place on the bus; "" when it has none. */
void amd_kfd_id(const char *sysfs, const char *pci, char *id, size_t size);

/* Fill the processes of the sample: pid and memory; the driver tells no utilisation. */
void amd_kfd_processes(const char *sysfs, const char *id, struct gpu_sample *sample);

#endif
