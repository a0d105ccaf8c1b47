/* Loaded before the C library (LD_PRELOAD): the n-th write or sync of a file in a folder fails, or ends the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FULL = 1, BROKEN, KILLED, TORN }; /* no space; an error; killed before the call; killed in the middle of it */

static char folder[PATH_MAX];
static long left;
static int how;

void fail_at(const char *path, long n, int mode) {
    snprintf(folder, sizeof folder, "%s", path);
    left = n;
    how = mode;
}

long calls_left(void) { return left; }

static int fails(int fd) {
    char name[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder))) return 0;
    if (--left != 0) return 0;
    if (how == KILLED) raise(SIGKILL);
    errno = how == FULL ? ENOSPC : EIO;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITE(name, parameters, part, whole)        \
    ssize_t name parameters {                       \
        if (!fails(fd)) return REAL(name) whole;    \
        if (how != TORN) return -1;                 \
        REAL(name) part;                            \
        raise(SIGKILL);                             \
        return -1;                                  \
    }

#define SYNC(name, parameters, given)               \
    int name parameters {                           \
        int failed = fails(fd), found = errno;      \
        if (failed && how != TORN) return -1;       \
        found = REAL(name) given;                   \
        if (failed) raise(SIGKILL);                 \
        return found;                               \
    }

WRITE(write, (int fd, const void *data, size_t n), (fd, data, n / 2), (fd, data, n))
WRITE(pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n / 2, at), (fd, data, n, at))
WRITE(pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n / 2, at), (fd, data, n, at))
SYNC(fsync, (int fd), (fd))
SYNC(fdatasync, (int fd), (fd))
SYNC(ftruncate, (int fd, off_t n), (fd, n))
SYNC(ftruncate64, (int fd, off64_t n), (fd, n))
