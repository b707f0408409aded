// Library functions: families of release functions, results through arguments.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <iconv.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int maybe(void);

void fopen_ok(const char* path) {
    FILE* file = fopen(path, "r");
    if (file != NULL) {
        fclose(file);
    }
}

static int open_stream(const char* path, FILE** stream) {
    int descriptor = open(path, O_RDONLY);
    if (descriptor != -1) {
        *stream = fdopen(descriptor, "r");
    }
    return descriptor;
}

void descriptor_below_zero_ok(const char* path) {
    FILE* stream = NULL;
    if (open_stream(path, &stream) < 0) {
        return;
    }
    fclose(stream);
}

void descriptor_of_zero_bad(const char* path) {
    FILE* stream = NULL;
    if (open_stream(path, &stream) <= 0) {
        return;
    }
    fclose(stream);
}

void fopen_bad(const char* path) {
    FILE* file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    if (fgetc(file) == EOF) {
        return;
    }
    fclose(file);
}

void opendir_ok(const char* path) {
    DIR* folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    while (readdir(folder) != NULL) {
        maybe();
    }
    closedir(folder);
}

void opendir_bad(const char* path) {
    DIR* folder = opendir(path);
    if (folder == NULL) {
        return;
    }
    struct dirent* entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == 'x') {
            return;
        }
    }
    closedir(folder);
}

void popen_ok(void) {
    FILE* pipe = popen("ls", "r");
    if (pipe) {
        pclose(pipe);
    }
}

void getline_ok(FILE* file) {
    char* line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        maybe();
    }
    free(line);
}

void getline_bad(FILE* file) {
    char* line = NULL;
    size_t size = 0;
    if (getline(&line, &size, file) < 0) {
        return;
    }
    free(line);
}

void asprintf_ok(int n) {
    char* text;
    if (asprintf(&text, "%d", n) < 0) {
        return;
    }
    free(text);
}

void asprintf_bad(int n) {
    char* text;
    if (asprintf(&text, "%d", n) < 0) {
        return;
    }
    puts(text);
}

void realloc_ok(void) {
    char* p = malloc(8);
    p = realloc(p, 16);
    free(p);
}

void realloc_bad(void) {
    char* p = malloc(8);
    p = realloc(p, 16);
    if (maybe()) {
        return;
    }
    free(p);
}

void realloc_of_null_bad(void) {
    char* p = NULL;
    p = realloc(p, 16);
    p[0] = 'x';
}

void getaddrinfo_ok(const char* host) {
    struct addrinfo* list;
    if (getaddrinfo(host, NULL, NULL, &list) != 0) {
        return;
    }
    freeaddrinfo(list);
}

void getaddrinfo_bad(const char* host) {
    struct addrinfo* list;
    if (getaddrinfo(host, NULL, NULL, &list) != 0) {
        return;
    }
    if (list->ai_family != 2) {
        return;
    }
    freeaddrinfo(list);
}

void string_search_ok(const char* path) {
    char* copy = strdup(path);
    char* slash = strrchr(copy, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    puts(copy);
    free(copy);
}

void string_search_bad(const char* path) {
    char* copy = strdup(path);
    char* slash = strrchr(copy, '/');
    if (slash == NULL) {
        return;
    }
    *slash = '\0';
    free(copy);
}

char* string_chain_ok(const char* a) {
    char* result = malloc(64);
    return strcat(strcpy(result, a), "x");
}

void string_argument_ok(const char* a) {
    char* copy = strcpy(malloc(64), a);
    puts(copy);
    free(copy);
}

void memcpy_pointer_ok(void) {
    char* p = malloc(8);
    char* q;
    memcpy(&q, &p, sizeof q);
    free(q);
}

void printed_only_bad(void) {
    char* p = malloc(8);
    snprintf(p, 8, "%d", 5);
    printf("%s\n", p);
}

void realpath_buffer_ok(const char* path) {
    char buffer[4096];
    char* full = realpath(path, buffer);
    puts(full ? full : "none");
}

void realpath_bad(const char* path) {
    char* full = realpath(path, NULL);
    puts(full ? full : "none");
}

void environment_ok(void) {
    putenv(strdup("A=B"));
}

void getenv_ok(void) {
    char* home = getenv("HOME");
    puts(home ? home : "none");
}

static int by_name(const void* a, const void* b) {
    return strcmp(*(char* const*)a, *(char* const*)b);
}

void sorted_ok(int n) {
    char** names = calloc(n, sizeof(char*));
    qsort(names, n, sizeof(char*), by_name);
    free(names);
}

void sscanf_ok(const char* text) {
    char* word = malloc(64);
    int n;
    if (sscanf(text, "%63s %d", word, &n) != 2) {
        free(word);
        return;
    }
    free(word);
}

void sscanf_bad(const char* text) {
    char* word = malloc(64);
    int n;
    if (sscanf(text, "%63s %d", word, &n) != 2) {
        return;
    }
    free(word);
}

void tmpfile_bad(void) {
    FILE* file = tmpfile();
    if (file) {
        fputs("x", file);
    }
}

void open_memstream_ok(void) {
    char* text = NULL;
    size_t size = 0;
    FILE* stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return;
    }
    fputs("x", stream);
    fclose(stream);
    free(text);
}

int iconv_ok(void) {
    iconv_t converter = iconv_open("UTF-8", "ASCII");
    if (converter == (iconv_t)-1) {
        return 1;
    }
    iconv_close(converter);
    return 0;
}

int iconv_bad(void) {
    iconv_t converter = iconv_open("UTF-8", "ASCII");
    if (converter == (iconv_t)-1) {
        return 1;
    }
    if (maybe()) {
        return 2;
    }
    iconv_close(converter);
    return 0;
}

// The size is never 0 again: no two texts are so long that it would wrap around.
char* grown_by_lengths_ok(FILE* file) {
    char* all = NULL;
    size_t size_bytes = 0;
    char name[51], value[51];
    while (fscanf(file, "%50s %50s", name, value) == 2) {
        size_t more_bytes = strlen(name) + 1 + strlen(value) + 1;
        char* old = all;
        if (size_bytes == 0) {
            size_bytes = more_bytes;
            all = malloc(size_bytes + 1);
        } else {
            size_bytes += more_bytes;
            all = realloc(all, size_bytes + 1);
        }
        if (all == NULL) {
            free(old);
            break;
        }
        strcpy(all + size_bytes - more_bytes, name);
    }
    return all;
}

static int close_all(FILE* file) {
    return fclose(file == NULL ? stdout : file);
}

int standard_output_closed_twice_ok(FILE* file) {
    return close_all(file) + close_all(file == NULL ? NULL : stdin);
}

struct window {
    int other;
    unsigned short width, height;
    char* title;
};

void written_beside_a_pointer_ok(struct window* w, const char* text) {
    char* title = strdup(text);
    w->title = title;
    sscanf(text, "%hu%hu", &w->width, &w->height);
    title = NULL;
    text = title;
}
