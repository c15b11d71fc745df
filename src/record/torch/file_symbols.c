/* SPDX-License-Identifier: MIT */
#include "record/torch/file_symbols.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/own_fd.h"

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* A part of the file, mapped; NULL when the file does not have it. */
static const void *map_part(int fd, size_t file_bytes, const Elf64_Shdr *section) {
    size_t skip = section->sh_offset & (page_bytes() - 1);
    if (!section->sh_size || section->sh_offset > file_bytes ||
        section->sh_size > file_bytes - section->sh_offset)
        return NULL;
    void *at = mmap(NULL, section->sh_size + skip, PROT_READ, MAP_PRIVATE, fd,
                    (off_t)(section->sh_offset - skip));
    return at == MAP_FAILED ? NULL : (const char *)at + skip;
}

static void unmap_part(const void *part, size_t bytes) {
    size_t skip = (uintptr_t)part & (page_bytes() - 1);
    if (part)
        munmap((char *)(uintptr_t)part - skip, bytes + skip);
}

/* The file may have been replaced since it was loaded. Its first bytes hold the header, which says where
 * everything is, and in practice the build id. */
static bool is_same_file(int fd, uintptr_t low, size_t file_bytes) {
    char head[1024];
    size_t len = sizeof head;
    return file_bytes >= len && pread(fd, head, len, 0) == (ssize_t)len &&
           memcmp(head, ELFMAG, SELFMAG) == 0 && memcmp(head, (const void *)low, len) == 0;
}

static bool read_section(int fd, const Elf64_Ehdr *header, unsigned i, Elf64_Shdr *section) {
    off_t at = (off_t)(header->e_shoff + (uint64_t)i * sizeof *section);
    return pread(fd, section, sizeof *section, at) == (ssize_t)sizeof *section;
}

static bool map_symbols(int fd, const Elf64_Ehdr *header, size_t file_bytes, sl_symbols *out) {
    Elf64_Shdr symbols, strings;
    if (header->e_shentsize != sizeof symbols)
        return false;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (!read_section(fd, header, i, &symbols))
            return false;
        if (symbols.sh_type != SHT_SYMTAB)
            continue;
        if (symbols.sh_entsize != sizeof(Elf64_Sym) || symbols.sh_link >= header->e_shnum ||
            !read_section(fd, header, symbols.sh_link, &strings))
            return false;
        *out = (sl_symbols){map_part(fd, file_bytes, &symbols), symbols.sh_size / sizeof(Elf64_Sym),
                            map_part(fd, file_bytes, &strings), strings.sh_size};
        return out->symbols && out->strings;
    }
    return false;
}

bool sl_file_symbols_map(const char *path, uintptr_t low, sl_symbols *out) {
    struct stat info;
    bool is_taken = false;
    sl_own_fd own;
    if (!sl_own_fd_open(&own, path, O_RDONLY, 0))
        return false;
    if (fstat(own.fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        is_same_file(own.fd, low, (size_t)info.st_size))
        is_taken = map_symbols(own.fd, (const Elf64_Ehdr *)low, (size_t)info.st_size, out);
    sl_own_fd_close(&own);
    return is_taken;
}

void sl_file_symbols_unmap(const sl_symbols *symbols) {
    unmap_part(symbols->symbols, symbols->cnt * sizeof(Elf64_Sym));
    unmap_part(symbols->strings, symbols->string_bytes);
}

const char *sl_symbol_name(const sl_symbols *symbols, const Elf64_Sym *symbol) {
    size_t at = symbol->st_name;
    bool is_whole = at < symbols->string_bytes &&
                    memchr(symbols->strings + at, 0, symbols->string_bytes - at) != NULL;
    return is_whole ? symbols->strings + at : "";
}
