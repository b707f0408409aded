#include "os/footprint.h"

#include <fcntl.h>
#include <string.h>

#include "os/file.h"

uint64_t ll_footprint_bytes(void) {
    char text[1024];
    uint64_t kib = 0;
    int file = ll_file_open("/proc/self/smaps_rollup", O_RDONLY);
    long length = file < 0 ? 0 : ll_file_read(file, text, sizeof text - 1);
    if (file >= 0) {
        ll_file_close(file);
    }
    text[length > 0 ? length : 0] = '\0';
    const char* line = strstr(text, "\nPss:");
    if (line != NULL) {
        for (line += 5 + strspn(line + 5, " \t"); *line >= '0' && *line <= '9';
             line++) {
            kib = kib * 10 + (uint64_t)(*line - '0');
        }
    }
    return kib * 1024;
}
