#include "entry/sentences.h"

#include <string.h>

#include "os/syscall.h"
#include "process/process.h"

static void note(uint32_t reason, uint32_t detail, const char* sentence,
                 const char* name) {
    char text[1024];
    size_t length = strlen(sentence);
    size_t name_length = strlen(name);
    if (length + name_length >= sizeof text) {
        name_length = sizeof text - length - 1;
    }
    memcpy(text, sentence, length);
    memcpy(text + length, name, name_length);
    text[length + name_length] = '\0';
    ll_process_note_not_seen(reason, detail, text);
}

const char* ll_module_path(const struct dl_phdr_info* info) {
    static char program[1024];
    if (info->dlpi_name[0] != '\0') {
        return info->dlpi_name;
    }
    ll_syscall(SYS_readlink, "/proc/self/exe", program, sizeof program - 1);
    return program;
}

void ll_note_about_module(uint32_t reason, uint32_t detail, const char* sentence,
                          const struct dl_phdr_info* info) {
    note(reason, detail, sentence, ll_module_path(info));
}
