/* SPDX-License-Identifier: MIT
 *
 * The two functions of autograd that tell which operator runs, and a thread without Python frames to call from.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct counts {
    void *vtable;
    atomic_int use_cnt, weak_cnt;
} counts;

/* torch::autograd::Node as far as it is read: vtable, weak pointer to itself, number. */
typedef struct node {
    void *vtable;
    struct node *self;
    counts *self_counts;
    uint64_t sequence;
} node;

typedef struct node_ref {
    node *object;
    counts *count;
} node_ref;

typedef void (*event_fn)(uint64_t, int64_t, size_t, size_t, int);

static _Thread_local uint64_t next_sequence;
static _Thread_local node *current;

EXPORT uint64_t peek(void) __asm__("_ZN2at15sequence_number4peekEv");
EXPORT void get_current_node(node_ref *out) __asm__("_ZN5torch8autograd16get_current_nodeEv");

uint64_t peek(void) {
    return next_sequence;
}

void get_current_node(node_ref *out) {
    *out = (node_ref){current, current ? current->self_counts : NULL};
    if (current)
        atomic_fetch_add(&current->self_counts->use_cnt, 1);
}

EXPORT void fake_set_next(uint64_t sequence) {
    next_sequence = sequence;
}

typedef struct task {
    event_fn event;
    uint64_t sequence;
    int64_t size;
    int is_broken;
    int use_cnt_after;
} task;

static void *work(void *arg) {
    task *t = arg;
    counts count = {NULL, 1, 1};
    node own = {NULL, NULL, &count, t->sequence};
    own.self = t->is_broken ? NULL : &own;
    current = &own;
    t->event(0x700000000000 + (uint64_t)t->size * 16, t->size, (size_t)t->size, (size_t)t->size, 0);
    t->use_cnt_after = atomic_load(&count.use_cnt);
    return NULL;
}

/* One allocation on an autograd thread while a node of this number runs. Returns the node's count of references
 * afterwards, which must be what it was: 1. */
EXPORT int fake_backward(event_fn event, uint64_t sequence, int64_t size, int is_broken) {
    task t = {event, sequence, size, is_broken, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &t) != 0)
        return -1;
    pthread_join(thread, NULL);
    return t.use_cnt_after;
}
