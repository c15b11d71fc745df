/* SPDX-License-Identifier: MIT */
/* Starting libcurl and its TLS library touches some 7 MiB of library code that is not needed again. Those pages are
 * files: the kernel has them in its cache for everybody, and maps them again when one is touched. Giving them back
 * keeps the agent's resident memory at what it uses. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent_impl.h"

typedef struct mapping {
    uintptr_t start, end;
    bool is_code; /* of a file, and cannot be written */
} mapping;

/* The first line of a mapping: "7f00-7f10 r-xp 00000000 08:01 1234 /usr/lib/…". */
static bool read_head(const char *line, mapping *out) {
    char rights[5] = "";
    uint64_t inode = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64, &out->start, &out->end,
               rights, &inode) != 4)
        return false;
    out->is_code = inode != 0 && rights[1] == '-' && rights[3] == 'p';
    return true;
}

/* A page that was changed (a relocation) is no longer the file's and must stay; "Anonymous" counts those. */
void sl__agent_release_pages(void) {
    char line[512];
    mapping now = {0};
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long kib;
        if (strchr("0123456789abcdef", line[0]) && read_head(line, &now))
            continue;
        if (now.is_code && sscanf(line, "Anonymous: %lu", &kib) == 1 && kib == 0)
            madvise((void *)now.start, now.end - now.start, MADV_DONTNEED);
    }
    if (file)
        fclose(file);
    malloc_trim(0);
}
