/* SPDX-License-Identifier: MIT
 *
 * Passes every file of the folders (or files) on the command line to the fuzz entry function once,
 * as one test point each: the corpus becomes an ordinary test that needs no clang. A crash ends the
 * program after the name of the file has been printed, so the runner shows which input it was.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int point_cnt;

/* Each input is copied to a heap block of exactly its size, so that ASan sees a read one byte past the end. */
static uint8_t *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = NULL;
    struct stat info;
    if (fstat(fileno(file), &info) == 0) {
        *size = (size_t)info.st_size;
        data = malloc(*size ? *size : 1);
        if (data && fread(data, 1, *size, file) != *size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static void replay_file(const char *path) {
    size_t size = 0;
    uint8_t *data = read_whole(path, &size);
    point_cnt++;
    if (!data) {
        printf("not ok %d - %s\n# cannot read: %s\n", point_cnt, path, strerror(errno));
        return;
    }
    printf("# %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    printf("ok %d - %s\n", point_cnt, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    free(data);
}

static int replay_folder(const char *path) {
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        char file[4000];
        if (entries[i]->d_name[0] != '.' &&
            snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name) < (int)sizeof file)
            replay_file(file);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (replay_folder(argv[i]) == 0)
            continue;
        if (errno == ENOTDIR) {
            replay_file(argv[i]);
        } else {
            printf("not ok %d - %s\n# cannot open: %s\n", ++point_cnt, argv[i], strerror(errno));
        }
    }
    printf("1..%d\n", point_cnt);
    return 0;
}
