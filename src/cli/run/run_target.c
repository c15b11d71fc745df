/* SPDX-License-Identifier: MIT */
#include "cli/run/run_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/run/run_preload.h"

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Searches PATH; *is_found is true for a file that exists but is not executable. */
static bool search_path(char out[SL_RUN_PATH_CAP], const char *command, bool *is_found) {
    const char *list = getenv("PATH");
    for (const char *at = list ? list : "/usr/bin:/bin"; *at;) {
        size_t len = strcspn(at, ":");
        int used =
            snprintf(out, SL_RUN_PATH_CAP, "%.*s/%s", len ? (int)len : 1, len ? at : ".", command);
        if (used > 0 && used < SL_RUN_PATH_CAP && is_file(out)) {
            *is_found = true;
            if (access(out, X_OK) == 0)
                return true;
        }
        at += len + (at[len] == ':');
    }
    return false;
}

static sl_status locate(sl_target *target, const char *command, sl_error *err) {
    bool is_found = false;
    if (!strchr(command, '/')) {
        if (search_path(target->path, command, &is_found))
            return SL_OK;
    } else if (strlen(command) < SL_RUN_PATH_CAP) {
        strcpy(target->path, command);
        is_found = is_file(command);
        if (is_found && access(command, X_OK) == 0)
            return SL_OK;
    }
    if (is_found)
        return sl_fail(err, SL_E_PERMISSION, "cannot run '%s': it is not executable", command);
    return sl_fail(err, SL_E_OPEN, "cannot run '%s': there is no such command%s", command,
                   strchr(command, '/') ? "" : " in PATH");
}

/* First bytes of a file; 0 when it cannot be read (an executable need not be readable). */
static size_t read_head(const char *path, char *buf, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, buf, cap);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

/* "#!/usr/bin/env python3" names env; what env finds is looked up like a command. */
static bool follow_interpreter(sl_target *target) {
    char head[256];
    size_t len = read_head(target->binary, head, sizeof head - 1);
    head[len] = '\0';
    if (strncmp(head, "#!", 2) != 0)
        return false;
    char *rest = NULL;
    char *program = strtok_r(head + 2, " \t\n", &rest);
    char *argument = program ? strtok_r(NULL, " \t\n", &rest) : NULL;
    bool is_found;
    if (!program)
        return false;
    const char *slash = strrchr(program, '/');
    if (argument && slash && strcmp(slash, "/env") == 0 &&
        search_path(target->binary, argument, &is_found))
        return true;
    snprintf(target->binary, sizeof target->binary, "%s", program);
    return true;
}

static bool has_interp(const char *path, const Elf64_Ehdr *elf) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_found = false;
    for (unsigned i = 0; fd >= 0 && i < elf->e_phnum && !is_found; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(elf->e_phoff + (Elf64_Off)i * elf->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            break;
        is_found = segment.p_type == PT_INTERP;
    }
    if (fd >= 0)
        close(fd);
    return is_found;
}

/* The kernel gives it rights that its caller does not have; the loader then ignores LD_PRELOAD. */
static bool has_own_rights(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    return ((info.st_mode & S_ISUID) && info.st_uid != geteuid()) ||
           ((info.st_mode & S_ISGID) && info.st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static sl_target_fit judge(const char *path) {
    Elf64_Ehdr elf, own;
    if (has_own_rights(path))
        return SL_TARGET_SETUID;
    if (read_head(path, (char *)&elf, sizeof elf) < sizeof elf ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
        return SL_TARGET_OK; /* not readable or no ELF: let the kernel decide */
    if (read_head("/proc/self/exe", (char *)&own, sizeof own) == sizeof own &&
        (elf.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || elf.e_machine != own.e_machine))
        return SL_TARGET_OTHER_ELF;
    return has_interp(path, &elf) ? SL_TARGET_OK : SL_TARGET_STATIC;
}

sl_status sl_target_find(sl_target *target, const char *command, sl_error *err) {
    SL_TRY(locate(target, command, err));
    strcpy(target->binary, target->path);
    for (int depth = 0; depth < 4 && follow_interpreter(target); depth++)
        ;
    target->fit = judge(target->binary);
    return SL_OK;
}

bool sl_target_passes_on(sl_target_fit fit) {
    return fit == SL_TARGET_OK || fit == SL_TARGET_STATIC;
}

const char *sl_target_fit_text(sl_target_fit fit) {
    switch (fit) {
    case SL_TARGET_OK: return NULL;
    case SL_TARGET_SETUID:
        return "it is setuid, setgid or has capabilities, and such programs do not load preloaded "
               "libraries";
    case SL_TARGET_OTHER_ELF: return "it is not a 64-bit program for this processor";
    case SL_TARGET_STATIC: return "it is statically linked, so no library can be loaded into it";
    }
    return NULL;
}

sl_status sl_target_find_library(char path[SL_RUN_PATH_CAP], sl_error *err) {
    static const char *const places[] = {"", "../lib/", "../lib64/"};
    char self[SL_RUN_PATH_CAP];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return sl_fail_errno(err, SL_E_SYSTEM,
                             "the recorder needs /proc, but '/proc/self/exe' cannot be read");
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(places); i++) {
        int used = snprintf(path, SL_RUN_PATH_CAP, "%.*s/%s" SL_PRELOAD_NAME, SL_RUN_PATH_CAP - 64,
                            self, places[i]);
        if (used < SL_RUN_PATH_CAP && access(path, R_OK) == 0)
            break;
        path[0] = '\0';
    }
    if (!path[0])
        return sl_fail(
            err, SL_E_UNSUPPORTED,
            "cannot find '" SL_PRELOAD_NAME "' in '%s' or its ../lib; reinstall stormlog", self);
    if (strpbrk(path, " :"))
        return sl_fail(err, SL_E_UNSUPPORTED,
                       "'%s' cannot be preloaded: LD_PRELOAD does not allow spaces or colons in a "
                       "path; move stormlog to another folder",
                       path);
    return SL_OK;
}
