/* fuzz_attempt_files.c - the files in a job's folder, which its user may have written */
#include "fuzz/fuzz.h"
#include "fuzz/fuzz_folder.h"

#include "engine/local/local_private.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attempt attempt = {.job = 7, .number = 1};
    struct process_id probe, child;
    struct probe_report status;
    char message[200];

    fuzz_file("status", data, size);
    fuzz_file("pid", data, size);
    fuzz_file("messages", data, size);
    attempt.dir = fuzz_folder_path;
    if (attempt_read_status(&attempt, &status) &&
        (status.job != 7 || status.attempt != 1))
        abort();
    if (attempt_read_pids(&attempt, &probe, &child) && (probe.pid <= 1 || child.pid < 0))
        abort();
    attempt_read_message(&attempt, message, sizeof(message));
    if (strlen(message) >= sizeof(message) || strchr(message, '\n'))
        abort();
    return 0;
}
