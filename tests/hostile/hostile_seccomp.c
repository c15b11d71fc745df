/* SPDX-License-Identifier: MIT
 *
 * Runs a program under a filter like a container's, which refuses calls a recorder might use.
 * Usage: hostile_seccomp CALLS PROGRAM [ARGUMENT...]; CALLS is "few" or "many", or "umask": then a
 * call of umask ends the program.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "few" ends before memfd_create. */
static const struct {
    long number;
    int error;
} refused[] = {
    {SYS_process_vm_readv, EPERM},
    {SYS_membarrier, EPERM},
    {SYS_fallocate, EOPNOTSUPP},
    {SYS_madvise, EPERM},
    {SYS_clone3, ENOSYS},
    {SYS_memfd_create, EPERM},
    {SYS_openat2, EPERM},
    {SYS_close_range, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_flock, EPERM},
    {SYS_msync, EPERM},
    {SYS_sched_setaffinity, EPERM},
    {SYS_fsync, EPERM},
    {SYS_fdatasync, EPERM},
    {SYS_statx, ENOSYS},
    {SYS_renameat2, EPERM},
    {SYS_linkat, EPERM},
};

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int is_umask = strcmp(argv[1], "umask") == 0;
    size_t cnt = is_umask ? 0 : strcmp(argv[1], "many") == 0 ? COUNT(refused) : 5;
    struct sock_filter filter[2 * COUNT(refused) + 4];
    unsigned short n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < cnt; i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (unsigned)refused[i].number, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                   SECCOMP_RET_ERRNO | (unsigned)refused[i].error);
    }
    if (is_umask) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umask, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, 2, &program) != 0) {
        perror("seccomp");
        return 77;
    }
    execvp(argv[2], argv + 2);
    return 1;
}
