/* One host's drives behind one writer at a time, on a clock that the test turns: tests/support/account.py. */
#include <stdlib.h>

#include "account.h"

struct node {
    struct model model;
    struct account account;
    struct drive drive[DRIVES];
};

struct node *node(double rate, double access_time, double chunk, double cache, double memory, double background,
                  double limit) {
    struct node *n = calloc(1, sizeof *n);
    struct properties data = {rate, rate, access_time, chunk, cache}, twice = data;
    twice.rate = twice.read_rate = 2 * rate;
    n->model = (struct model){
        .data = data, .intermediate = twice, .memory = memory, .background = background, .limit = limit, .epoch = 1};
    account_empty(&n->account, 1, 0);
    return n;
}

/* When the writer goes on, or -1 where memory does not take it. */
double node_write(struct node *n, unsigned long file, int drive, double offset, double bytes, double now) {
    double until = account_write(&n->account, &n->model, n->drive, file, drive, offset, bytes, now);
    if (until < 0) return -1;
    while (!account_has_left(&n->account, until)) {
        double due = account_due(&n->account, &n->model, n->drive, until, now);
        now = due > now + 1e-6 ? due : now + 1e-6;
        account_advance(&n->account, &n->model, n->drive, now);
    }
    return now;
}

double node_read(struct node *n, unsigned long file, int drive, double offset, double bytes, double now) {
    return account_read(&n->account, &n->model, n->drive, file, drive, offset, bytes, now);
}

double node_sync(struct node *n, unsigned long file, int drive, double now) {
    account_sync(&n->account, &n->model, n->drive, file, now);
    return n->drive[drive].free_at > now ? n->drive[drive].free_at : now;
}

void node_cut(struct node *n, unsigned long file, double length, double now) {
    account_cut(&n->account, &n->model, n->drive, file, length, now);
}

void node_advance(struct node *n, double now) { account_advance(&n->account, &n->model, n->drive, now); }

void node_repair(struct node *n) { account_repair(&n->account); }

/* taken, gone, forgotten, read, dirty, bytes. */
void node_sums(const struct node *n, double *sums) {
    const struct account *a = &n->account;
    double found[] = {a->taken, a->gone, a->forgotten, a->read, a->dirty, a->bytes};
    memcpy(sums, found, sizeof found);
}
