/* A modelled drive in front of a folder: delays the calls of unmodified programs that read and write there.
 *
 * Loaded with LD_PRELOAD. Every file below $WHITEWIRE_DRIVES/<n>/ lives on drive n. A drive is a server with one
 * queue: a call of b bytes occupies it for b / rate seconds, at the rate of reads or of writes, and for one access time
 * more whenever the drive has to move to another file (at most once for each write-back chunk of a file, as a kernel
 * merges writes) or to another place in it. A call returns when the drive has reached it, less what the drive's cache
 * may hold back; with O_DIRECT nothing is held back, and fsync waits for the whole queue. The queue is in memory shared
 * by all processes.
 *
 * In YARN's folder on a drive (local/) what tasks spill, merge and serve waits, but not the settings, scripts and
 * tokens of containers: they do not shrink with rates and data, and would take seconds at a thousandth of a rate.
 * Where the model has drives for this intermediate data alone, it waits for those, wherever its folder is.
 *
 * Where the model has a node's memory, account.h is in front of that: writes return at once while less than its limit
 * is dirty, and what was just written is read from memory. O_DIRECT and O_SYNC go past it, and fsync has the file's
 * dirty bytes written first.
 *
 * Where the model has a bound on writers, it delays what a program with $WHITEWIRE_DATA_PORT sends to that port, on
 * which DataNodes take blocks: a connection carries the blocks of one writer, one after the other, and a processor that
 * makes its bytes and sums at the writer's rate sends no faster.
 *
 * What passes by other calls (memory maps, readv, pwritev, stdio, io_uring) is not delayed: HDFS and fio's psync engine
 * use none of them for data.
 *
 * What drives can do stands in $WHITEWIRE_DRIVES/.queue, written by design/drive.py before the first program starts and at
 * any time later. Without it a program ends at once, and without $WHITEWIRE_DRIVES the library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "account.h"

enum { FILES = 65536 };
#define SHORTEST 5e-4 /* seconds: a writer that waits for memory looks no more often */

struct shared {
    int ready;
    struct model model;
    struct account account; /* design/drive.py reads its first members */
    pthread_mutex_t lock;
    struct drive drive[DRIVES]; /* times are of CLOCK_MONOTONIC */
};
struct open_file {
    int drive; /* 0: not on a drive */
    int writer; /* a connection to the data port of a DataNode */
    int direct;
    int sync; /* not by way of memory: O_DIRECT, O_SYNC or O_DSYNC */
    unsigned long inode;
    long long since_access; /* bytes since the heads last had to come to this file */
    long long next;         /* offset at which a sequential call would go on */
    double late;            /* seconds by which the last call returned after it was due */
};

static struct open_file table[FILES];
static struct shared *shared;
static in_port_t data_port; /* 0: this program is no writer */
static char root[4096];
static size_t root_length;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int real_open(const char *path, int flags, mode_t mode) {
    REAL(open);
    return real(path, flags, mode);
}

static void set_up(void) {
    const char *where = getenv("WHITEWIRE_DRIVES");
    if (!where || !*where || strlen(where) > sizeof root - 16) return;
    char path[4200];
    snprintf(path, sizeof path, "%s/.queue", where);
    int fd = real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared)) return;
    struct shared *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return;
    /* The first process makes the lock; the file lock keeps a second one from making it again. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_SETLKW, &whole);
    if (!map->ready) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&map->lock, &kind);
        map->ready = 1;
    }
    close(fd);
    if (map->model.data.rate <= 0) {
        fprintf(stderr, "whitewire: %s does not say what drives can do\n", path);
        _exit(70);
    }
    const char *port = getenv("WHITEWIRE_DATA_PORT");
    data_port = htons(port ? atoi(port) : 0);
    strcpy(root, where);
    root_length = strlen(root);
    shared = map;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void wait_until(double when) {
    struct timespec t = {.tv_sec = (time_t)when, .tv_nsec = (long)((when - (time_t)when) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static void lock(void) {
    if (pthread_mutex_lock(&shared->lock) != EOWNERDEAD) return;
    account_repair(&shared->account);
    pthread_mutex_consistent(&shared->lock);
}

/* With the lock: the account of now, or NULL where calls do not go by way of memory. */
static struct account *memory(double begun) {
    if (shared->model.limit <= 0 || shared->model.at_ease) return NULL;
    if (shared->account.epoch != shared->model.epoch) account_empty(&shared->account, shared->model.epoch, begun);
    return &shared->account;
}

/* Which drive a path is on: 0 for none. */
static int drive_of(const char *path) {
    pthread_once(&once, set_up);
    if (!shared || !path || strncmp(path, root, root_length) || path[root_length] != '/') return 0;
    char *inside;
    long number = strtol(path + root_length + 1, &inside, 10);
    if (number <= 0 || number >= INTERMEDIATE) return 0;
    if (strncmp(inside, "/local/", 7)) return (int)number;
    if (strstr(inside, "/container_") || strstr(inside, "/filecache/")) return 0;
    int intermediates = (int)shared->model.intermediates;
    return intermediates ? INTERMEDIATE + (int)(number - 1) % intermediates : (int)number;
}

/* A file is cut to a length, or deleted: what of it is dirty in memory is not written. */
static void cut(unsigned long inode, double length) {
    lock();
    double begun = now();
    struct account *account = memory(begun);
    if (account) account_cut(account, &shared->model, shared->drive, inode, length, begun);
    pthread_mutex_unlock(&shared->lock);
}

static int opened(int fd, int drive, int flags) {
    if (fd < 0 || fd >= FILES) return fd;
    struct stat about;
    table[fd] = (struct open_file){0};
    if (drive && !fstat(fd, &about) && S_ISREG(about.st_mode))
        table[fd] = (struct open_file){
            .drive = drive, .direct = (flags & O_DIRECT) != 0, .inode = about.st_ino,
            .sync = (flags & (O_DIRECT | O_DSYNC)) != 0}; /* O_SYNC has the bit of O_DSYNC */
    if (flags & O_TRUNC && table[fd].drive && shared->model.limit > 0) cut(table[fd].inode, 0);
    return fd;
}

/* The file that a name on a drive is the last one of; 0: none. */
static unsigned long last_name_of(const char *path) {
    struct stat about;
    if (!drive_of(path) || shared->model.limit <= 0 || lstat(path, &about)) return 0;
    return S_ISREG(about.st_mode) && about.st_nlink == 1 ? about.st_ino : 0;
}

enum kind { READ, WRITE };

/* With the lock: a write that memory took returns once no more than the limit is dirty. Releases the lock. */
static void wait_for_memory(struct account *account, double until) {
    unsigned epoch = account->epoch;
    double begun = now();
    while (!account_has_left(account, until)) {
        double due = account_due(account, &shared->model, shared->drive, until, begun);
        pthread_mutex_unlock(&shared->lock);
        wait_until(due - begun > SHORTEST ? due : begun + SHORTEST);
        lock();
        begun = now();
        if (!memory(begun) || account->epoch != epoch) break; /* another model: a run's end */
        account_advance(account, &shared->model, shared->drive, begun);
    }
    account->most = most(account->most, account->dirty);
    pthread_mutex_unlock(&shared->lock);
}

/* Queue a call of `bytes` at `offset` (-1: where the file is) and wait for it. Only writes may wait in the cache. */
static void serve(int fd, ssize_t bytes, long long offset, enum kind kind) {
    if (fd < 0 || fd >= FILES || !table[fd].drive || bytes <= 0 || shared->model.at_ease) return;
    struct open_file *file = &table[fd];
    struct drive *drive = &shared->drive[file->drive];
    const struct properties *its = of_drive(&shared->model, file->drive);
    int moved = offset >= 0 && offset != file->next, by_memory = shared->model.limit > 0 && !file->sync;
    double at = offset >= 0 || !by_memory ? (double)offset : (double)(lseek(fd, 0, SEEK_CUR) - bytes);
    file->next = (offset >= 0 ? offset : file->next) + bytes;
    lock();
    if (file->drive >= INTERMEDIATE) shared->model.moved += bytes;
    double begun = now();
    struct account *account = by_memory && at >= 0 ? memory(begun) : NULL;
    if (account && kind == WRITE) {
        double until = account_write(
            account, &shared->model, shared->drive, file->inode, file->drive, at, bytes, begun);
        if (until >= 0) {
            file->late = 0;
            wait_for_memory(account, until);
            return;
        }
    }
    if (account && kind == READ)
        bytes -= (ssize_t)account_read(
            account, &shared->model, shared->drive, file->inode, file->drive, at, bytes, begun);
    if (bytes <= 0) {
        pthread_mutex_unlock(&shared->lock);
        return;
    }
    file->since_access += bytes;
    /* A busy machine wakes a call late. The next one would have come that much earlier: the drive was not idle. */
    double start = begun - file->late, cost = bytes / (kind == READ ? its->read_rate : its->rate);
    if (drive->free_at < start) drive->free_at = start;
    if (moved || file->since_access >= its->chunk) {
        if (moved || drive->file != file->inode) cost += its->access_time;
        drive->file = file->inode;
        file->since_access = 0;
    }
    drive->free_at += cost;
    double until = drive->free_at - (file->direct || kind == READ ? 0 : its->cache / its->rate);
    pthread_mutex_unlock(&shared->lock);
    file->late = 0;
    if (until <= begun) return;
    wait_until(until);
    file->late = now() - until;
}

/* The rate of a writer's call, which begins; 0 where nothing bounds it. */
static double writing(int fd) {
    int is_writer = fd >= 0 && fd < FILES && table[fd].writer;
    return is_writer && !shared->model.at_ease ? shared->model.writer : 0;
}

/* A writer's call of `bytes` returns when its processor would have made them. */
static void pace(int fd, ssize_t bytes, double rate, double begun) {
    if (bytes <= 0) return;
    struct open_file *file = &table[fd];
    double due = begun - file->late + bytes / rate;
    file->late = 0;
    if (due > now()) {
        wait_until(due);
        file->late = now() - due;
    }
    lock();
    shared->model.sent += bytes;
    shared->model.sending += now() - begun;
    pthread_mutex_unlock(&shared->lock);
}

static void drain(int fd) {
    if (fd < 0 || fd >= FILES || !table[fd].drive) return;
    lock();
    double begun = now();
    struct account *account = memory(begun);
    if (account) account_sync(account, &shared->model, shared->drive, table[fd].inode, begun);
    double until = shared->drive[table[fd].drive].free_at;
    pthread_mutex_unlock(&shared->lock);
    wait_until(until);
}

#define MODE_ARGUMENT \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

/* A file system in memory may refuse O_DIRECT; here it only tells the drive not to hold anything back. */
#define KEPT(flags, drive) ((drive) ? (flags) & ~O_DIRECT : (flags))

int open(const char *path, int flags, ...) {
    MODE_ARGUMENT
    int drive = drive_of(path);
    return opened(real_open(path, KEPT(flags, drive), mode), drive, flags);
}
int open64(const char *path, int flags, ...) {
    MODE_ARGUMENT
    REAL(open64);
    int drive = drive_of(path);
    return opened(real(path, KEPT(flags, drive), mode), drive, flags);
}
int openat(int at, const char *path, int flags, ...) {
    MODE_ARGUMENT
    REAL(openat);
    int drive = drive_of(path);
    return opened(real(at, path, KEPT(flags, drive), mode), drive, flags);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE_ARGUMENT
    REAL(openat64);
    int drive = drive_of(path);
    return opened(real(at, path, KEPT(flags, drive), mode), drive, flags);
}
int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int close(int fd) {
    REAL(close);
    if (fd >= 0 && fd < FILES) table[fd].drive = table[fd].writer = 0;
    return real(fd);
}
int connect(int fd, const struct sockaddr *to, socklen_t length) {
    REAL(connect);
    pthread_once(&once, set_up);
    if (fd >= 0 && fd < FILES && shared && data_port && (to->sa_family == AF_INET || to->sa_family == AF_INET6))
        /* The port is at the same place of both addresses. */
        table[fd] = (struct open_file){.writer = ((const struct sockaddr_in *)to)->sin_port == data_port};
    return real(fd, to, length);
}

/* A second number for an open file is on the same drive. */
static int copied(int from, int to) {
    if (from >= 0 && from < FILES && to >= 0 && to < FILES && from != to) table[to] = table[from];
    return to;
}
int dup(int fd) {
    REAL(dup);
    return copied(fd, real(fd));
}
int dup2(int fd, int to) {
    REAL(dup2);
    return copied(fd, real(fd, to));
}
int dup3(int fd, int to, int flags) {
    REAL(dup3);
    return copied(fd, real(fd, to, flags));
}

ssize_t write(int fd, const void *data, size_t bytes) {
    REAL(write);
    double rate = writing(fd), begun = rate > 0 ? now() : 0;
    ssize_t done = real(fd, data, bytes);
    if (rate > 0) pace(fd, done, rate, begun);
    serve(fd, done, -1, WRITE);
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    REAL(pwrite);
    ssize_t done = real(fd, data, bytes, offset);
    serve(fd, done, offset, WRITE);
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
    REAL(pwrite64);
    ssize_t done = real(fd, data, bytes, offset);
    serve(fd, done, offset, WRITE);
    return done;
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    double rate = writing(fd), begun = rate > 0 ? now() : 0;
    ssize_t done = real(fd, parts, count);
    if (rate > 0) pace(fd, done, rate, begun);
    serve(fd, done, -1, WRITE);
    return done;
}
ssize_t read(int fd, void *data, size_t bytes) {
    REAL(read);
    ssize_t done = real(fd, data, bytes);
    serve(fd, done, -1, READ);
    return done;
}
ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
    REAL(pread);
    ssize_t done = real(fd, data, bytes, offset);
    serve(fd, done, offset, READ);
    return done;
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) {
    REAL(pread64);
    ssize_t done = real(fd, data, bytes, offset);
    serve(fd, done, offset, READ);
    return done;
}
ssize_t sendfile(int to, int from, off_t *offset, size_t bytes) {
    REAL(sendfile);
    long long at = offset ? *offset : -1;
    ssize_t done = real(to, from, offset, bytes);
    serve(from, done, at, READ);
    return done;
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes) {
    REAL(sendfile64);
    long long at = offset ? *offset : -1;
    ssize_t done = real(to, from, offset, bytes);
    serve(from, done, at, READ);
    return done;
}
int fsync(int fd) {
    REAL(fsync);
    int status = real(fd);
    drain(fd);
    return status;
}
int fdatasync(int fd) {
    REAL(fdatasync);
    int status = real(fd);
    drain(fd);
    return status;
}

/* A file that is deleted, replaced or cut short takes its dirty bytes with it. That a program may still have it open is
 * left out. */
#define WITHOUT(path, call) \
    unsigned long gone = last_name_of(path); \
    int status = call; \
    if (!status && gone) cut(gone, 0); \
    return status

int unlink(const char *path) {
    REAL(unlink);
    WITHOUT(path, real(path));
}
int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    WITHOUT(path, real(at, path, flags));
}
int remove(const char *path) {
    REAL(remove);
    WITHOUT(path, real(path));
}
int rename(const char *path, const char *to) {
    REAL(rename);
    WITHOUT(to, real(path, to));
}
static int shortened(int fd, off64_t length, int status) {
    if (!status && fd >= 0 && fd < FILES && table[fd].drive && shared->model.limit > 0) cut(table[fd].inode, length);
    return status;
}
int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    return shortened(fd, length, real(fd, length));
}
int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    return shortened(fd, length, real(fd, length));
}
