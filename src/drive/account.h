/* What a node's memory holds of the files on its drives: the page cache in front of them, as an account of bytes.
 *
 * Pure: no clock, lock or file. Times are seconds on one clock that the caller gives; the caller holds the lock.
 *
 * A write is dirty until a drive has taken it. Above `background` dirty bytes the drives write back, each what lies in
 * front of it: a chunk of one file, then of the next, with an access time at each change, as drive.c has it for calls
 * that wait. Above `limit` a writer waits until so much has left memory. What is clean makes room, the longest unused
 * first. Of each file one stretch is held, whose last bytes are the dirty ones: what is written or read elsewhere than
 * beside it goes past memory.
 *
 * Simplified: one limit for a node, where a kernel divides it among drives by what each wrote of late; no age (a kernel
 * writes back after 30 s what is below `background` too); reads go before write-back, and nothing is read ahead.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H
#include <stddef.h>
#include <string.h>

enum { INTERMEDIATE = 64, DRIVES = 128, HELD = 4096 }; /* drives from INTERMEDIATE on are for intermediate data alone */
#define NOTHING 1e-3 /* bytes: so few are what rounding left, and what is done until none are left would never end */

struct properties { /* of drives of one kind */
    double rate;        /* bytes/s written */
    double read_rate;   /* bytes/s read */
    double access_time; /* seconds */
    double chunk;       /* bytes */
    double cache;       /* bytes, of each drive */
};
struct model { /* written by design/drive.py, byte for byte */
    struct properties data, intermediate;
    double intermediates; /* drives for intermediate data; 0: it is on those for data */
    double moved;         /* bytes of calls to those drives since the model was written */
    double memory;        /* bytes of files that the node holds at most */
    double background;    /* dirty bytes above which drives write back */
    double limit;         /* dirty bytes above which writers wait; 0: no memory, each call waits for its drive */
    double writer;        /* bytes/s that one writer of HDFS makes at most; 0: no bound */
    double sent, sending; /* bytes of all writers since the model was written, and seconds that their calls took */
    int at_ease;          /* nothing waits */
    unsigned epoch;       /* another one: memory is empty again */
};
struct drive {
    double free_at;      /* seconds at which all that the drive took on is done */
    unsigned long file;  /* the file (inode) the heads are at */
    unsigned long turn;  /* the file that is written back */
};
struct held { /* of one file */
    unsigned long file;
    int drive;
    double low, high; /* the stretch of the file that is in memory */
    double dirty;     /* bytes at its end that no drive has taken */
    double written;   /* bytes written back since the heads last had to come to this file */
    double used;      /* number of the call that used it last */
};
struct account {
    /* Read by design/drive.py: bytes since the epoch began. taken = dirty + gone + forgotten. */
    double taken;     /* made dirty */
    double gone;      /* taken from memory by a drive */
    double forgotten; /* deleted before a drive had them */
    double read;      /* read from memory */
    double most;      /* most that was dirty when a writer went on */
    double asked;     /* of all calls that came by */
    double dirty, bytes, then, calls;
    unsigned epoch;
    int count;
    struct held held[HELD];
};

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

static inline const struct properties *of_drive(const struct model *m, int drive) {
    return drive < INTERMEDIATE ? &m->data : &m->intermediate;
}

static void account_empty(struct account *a, unsigned epoch, double now) {
    memset(a, 0, offsetof(struct account, held));
    a->epoch = epoch;
    a->then = now;
}

/* Sums anew, after a process died in the middle of a change. */
static void account_repair(struct account *a) {
    a->dirty = a->bytes = 0;
    for (int i = 0; i < a->count; i++) {
        a->dirty += a->held[i].dirty;
        a->bytes += a->held[i].high - a->held[i].low;
    }
    a->taken = a->dirty + a->gone + a->forgotten;
}

static int held_at(const struct account *a, unsigned long file) {
    for (int i = 0; i < a->count; i++)
        if (a->held[i].file == file) return i;
    return -1;
}

static void remove_at(struct account *a, int i) {
    a->bytes -= a->held[i].high - a->held[i].low;
    a->held[i] = a->held[--a->count];
}

/* Let the longest unused clean bytes go until memory holds no more than it can. */
static void make_room(struct account *a, const struct model *m) {
    while (a->bytes - m->memory > NOTHING) {
        int oldest = -1;
        for (int i = 0; i < a->count; i++) {
            struct held *h = &a->held[i];
            if (h->high - h->low - h->dirty > NOTHING && (oldest < 0 || h->used < a->held[oldest].used)) oldest = i;
        }
        if (oldest < 0) return;
        struct held *h = &a->held[oldest];
        double clean = h->high - h->low - h->dirty, let_go = least(clean, a->bytes - m->memory);
        if (let_go >= clean && h->dirty <= 0) {
            remove_at(a, oldest);
        } else {
            h->low += let_go;
            a->bytes -= let_go;
        }
    }
}

static struct held *hold(struct account *a, unsigned long file, int drive, double offset) {
    int at = held_at(a, file);
    if (at >= 0) return &a->held[at];
    if (a->count == HELD) {
        int oldest = -1;
        for (int i = 0; i < a->count; i++)
            if (a->held[i].dirty <= 0 && (oldest < 0 || a->held[i].used < a->held[oldest].used)) oldest = i;
        if (oldest < 0) return NULL;
        remove_at(a, oldest);
    }
    a->held[a->count] = (struct held){.file = file, .drive = drive, .low = offset, .high = offset};
    return &a->held[a->count++];
}

/* Whose turn it is on a drive: the file that is being written back while it has something, else the next one. */
static struct held *in_turn(struct account *a, const struct drive *drive, int number, int next) {
    int at = held_at(a, drive->turn);
    if (at >= 0 && !next && a->held[at].drive == number && a->held[at].dirty > 0) return &a->held[at];
    for (int i = 1; i <= a->count; i++) {
        struct held *h = &a->held[(at + i + a->count) % a->count];
        if (h->drive == number && h->dirty > 0) return h;
    }
    return NULL;
}

/* A drive writes back so much of a file from `begin` on; a chunk ends with the way to the file, if the heads are not
 * there. */
static void write_back(struct account *a, const struct model *m, struct drive *drive, struct held *h, double bytes,
                       double begin) {
    const struct properties *its = of_drive(m, h->drive);
    drive->turn = h->file;
    drive->free_at = begin + bytes / its->rate;
    h->dirty -= bytes;
    if (h->dirty < 1e-6) { /* less than any byte: what rounding left */
        bytes += h->dirty;
        h->dirty = 0;
    }
    h->written += bytes;
    a->dirty -= bytes;
    a->gone += bytes;
    if (h->written >= its->chunk * (1 - 1e-9)) {
        if (drive->file != h->file) drive->free_at += its->access_time;
        drive->file = h->file;
        h->written = 0;
        struct held *next = in_turn(a, drive, h->drive, 1);
        if (next) drive->turn = next->file;
    }
}

/* What the drives did in the background up to now; each may be ahead by what its cache holds. */
static void account_advance(struct account *a, const struct model *m, struct drive *drives, double now) {
    double from = a->then;
    if (now > a->then) a->then = now;
    while (a->dirty - m->background > NOTHING) {
        int first = 0;
        double begin = 0, left = 0; /* seconds that the first one has left */
        for (int i = 0; i < a->count; i++) {
            struct held *h = &a->held[i];
            const struct properties *its = of_drive(m, h->drive);
            double start = most(drives[h->drive].free_at, from), has = now + its->cache / its->rate - start;
            if (h->dirty > 0 && has >= 1e-9 && (!first || start < begin)) {
                begin = start;
                left = has;
                first = h->drive;
            }
        }
        if (!first) break;
        struct held *h = in_turn(a, &drives[first], first, 0);
        const struct properties *its = of_drive(m, first);
        double bytes = least(h->dirty, least(its->chunk - h->written, left * its->rate));
        write_back(a, m, &drives[first], h, least(bytes, a->dirty - m->background), begin);
    }
    make_room(a, m);
}

/* Memory takes a write of a file at an offset: returns how much must have left it before the writer may go on, as
 * `gone + forgotten`, or -1 where memory does not take it. */
static double account_write(struct account *a, const struct model *m, struct drive *drives, unsigned long file,
                            int drive, double offset, double bytes, double now) {
    account_advance(a, m, drives, now);
    a->asked += bytes;
    struct held *h = hold(a, file, drive, offset);
    if (!h) return -1;
    double end = offset + bytes;
    if (offset > h->high || end < h->low) { /* apart from the stretch that is held */
        if (h->dirty > 0) return -1;
        a->bytes -= h->high - h->low;
        h->low = h->high = offset;
    }
    h->used = ++a->calls;
    double below = most(0, h->low - offset), above = most(0, end - h->high);
    double again = most(0, least(end, h->high - h->dirty) - most(offset, h->low)); /* clean, and written once more */
    h->low -= below;
    h->high += above;
    h->dirty += below + above + again;
    a->bytes += below + above;
    a->dirty += below + above + again;
    a->taken += below + above + again;
    double until = a->taken - m->limit;
    account_advance(a, m, drives, now);
    return most(0, until);
}

static int account_has_left(const struct account *a, double until) {
    return a->gone + a->forgotten >= until - 2 * NOTHING; /* drives stop one short of it */
}

/* No sooner than this has so much left memory, if nothing more is written or deleted. */
static double account_due(const struct account *a, const struct model *m, const struct drive *drives, double until,
                          double now) {
    char busy[DRIVES] = {0};
    double begin = 0, rate = 0;
    for (int i = 0; i < a->count; i++) {
        const struct held *h = &a->held[i];
        if (h->dirty <= 0 || busy[h->drive]) continue;
        const struct properties *its = of_drive(m, h->drive);
        double free_at = drives[h->drive].free_at - its->cache / its->rate;
        begin = rate > 0 ? least(begin, free_at) : free_at;
        rate += its->rate;
        busy[h->drive] = 1;
    }
    return most(now, begin) + (rate > 0 ? (until - a->gone - a->forgotten) / rate : 0);
}

/* How many bytes of a read memory has; the others come from the drive and stay. */
static double account_read(struct account *a, const struct model *m, struct drive *drives, unsigned long file,
                           int drive, double offset, double bytes, double now) {
    account_advance(a, m, drives, now);
    a->asked += bytes;
    struct held *h = hold(a, file, drive, offset);
    if (!h) return 0;
    double end = offset + bytes;
    if (offset > h->high || end < h->low) {
        if (h->dirty > 0) return 0;
        a->bytes -= h->high - h->low;
        h->low = h->high = offset;
    }
    h->used = ++a->calls;
    double found = most(0, least(end, h->high) - most(offset, h->low));
    double below = most(0, h->low - offset), above = most(0, end - h->high);
    if (h->dirty > 0) above = 0; /* its last bytes are the dirty ones */
    h->low -= below;
    h->high += above;
    a->bytes += below + above;
    a->read += found;
    make_room(a, m);
    return found;
}

/* A file is to be on its drive: the drive writes back all of it next. */
static void account_sync(struct account *a, const struct model *m, struct drive *drives, unsigned long file,
                         double now) {
    account_advance(a, m, drives, now);
    int at;
    while ((at = held_at(a, file)) >= 0 && a->held[at].dirty > 0) {
        struct held *h = &a->held[at];
        struct drive *drive = &drives[h->drive];
        write_back(a, m, drive, h, least(h->dirty, of_drive(m, h->drive)->chunk - h->written),
                   most(drive->free_at, now));
    }
}

/* A file is cut to a length, or with length 0 deleted: what lay beyond it need not be written. */
static void account_cut(struct account *a, const struct model *m, struct drive *drives, unsigned long file,
                        double length, double now) {
    account_advance(a, m, drives, now);
    int at = held_at(a, file);
    if (at < 0) return;
    struct held *h = &a->held[at];
    double cut = most(0, h->high - most(length, h->low)), dirty = least(h->dirty, cut);
    h->high -= cut;
    h->dirty -= dirty;
    a->bytes -= cut;
    a->dirty -= dirty;
    a->forgotten += dirty;
    if (h->high <= h->low) remove_at(a, at);
}
#endif
