/* Preloaded: the n-th call of a kind on files below a folder fails, or writes only half. fault_arm begins to count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SHORT = 2, SYNC = 3, RENAME = 4 };
static int kind, code, seen, wanted;
static char below[4096];

void fault_arm(int new_kind, int new_code, int n, const char *folder) {
    kind = new_kind, code = new_code, seen = 0, wanted = n;
    snprintf(below, sizeof below, "%s/", folder);
}

int fault_seen(void) { return seen; }

static int is_below(const char *path) { return strncmp(path, below, strlen(below)) == 0; }

static int hits(int of_kind, int descriptor) {
    char link[64], path[4096];
    if (kind != of_kind) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (length < 0) return 0;
    strcpy(path + length, "/");
    return is_below(path) && ++seen == wanted;
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (hits(WRITE, descriptor)) return errno = code, -1;
    if (count > 1 && hits(SHORT, descriptor)) count /= 2;
    return REAL(ssize_t, write, int, const void *, size_t)(descriptor, bytes, count);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t place) {
    if (hits(WRITE, descriptor)) return errno = code, -1;
    if (count > 1 && hits(SHORT, descriptor)) count /= 2;
    return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(descriptor, bytes, count, place);
}

/* Streams of C++ write large blocks so; half: of the first block. */
ssize_t writev(int descriptor, const struct iovec *blocks, int n) {
    if (hits(WRITE, descriptor)) return errno = code, -1;
    if (n > 0 && blocks[0].iov_len > 1 && hits(SHORT, descriptor))
        return REAL(ssize_t, write, int, const void *, size_t)(descriptor, blocks[0].iov_base, blocks[0].iov_len / 2);
    return REAL(ssize_t, writev, int, const struct iovec *, int)(descriptor, blocks, n);
}

/* Copies of files. */
ssize_t sendfile64(int to, int from, off64_t *place, size_t count) {
    if (hits(WRITE, to)) return errno = code, -1;
    if (count > 1 && hits(SHORT, to)) count /= 2;
    return REAL(ssize_t, sendfile64, int, int, off64_t *, size_t)(to, from, place, count);
}

int fsync(int descriptor) {
    return hits(SYNC, descriptor) ? (errno = code, -1) : REAL(int, fsync, int)(descriptor);
}

int rename(const char *from, const char *to) {
    if (kind == RENAME && is_below(to) && ++seen == wanted) return errno = code, -1;
    return REAL(int, rename, const char *, const char *)(from, to);
}

/* Exchanges two names. The system call itself: not every C library has the function. */
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    if (kind == RENAME && is_below(to) && ++seen == wanted) return errno = code, -1;
    return syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
