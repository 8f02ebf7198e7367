/* fuzz_gpu_sysfs.c - what the kernel's files say is a finite number or nothing */
#include "fuzz/fuzz.h"

#include "gpu/sysfs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"PCI_SLOT_NAME", "location_id", "domain", ""};
    char *text = malloc(size + 1);
    double number, busy, total;
    char value[24];

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (sysfs_parse_number(text, &number) && !(fabs(number) < 1.3e24))
        abort();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        for (int s = 0; s < 2; s++)
            if (sysfs_property(text, keys[i], s ? '=' : ' ', value, sizeof(value)) &&
                (strlen(value) >= sizeof(value) || strchr(value, '\n')))
                abort();
    if (sysfs_parse_cpu_ticks(text, &busy, &total) && !(busy >= 0 && busy <= total))
        abort();
    free(text);
    return 0;
}
