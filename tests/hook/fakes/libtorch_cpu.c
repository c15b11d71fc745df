/* SPDX-License-Identifier: MIT
 *
 * Two functions of autograd that report which operator runs, and a thread without Python frames.
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

/* torch::autograd::Node as far as it is read: vtable, weak pointer to itself, number, thread that made it. */
typedef struct node {
    void *vtable;
    struct node *self;
    counts *self_counts;
    uint64_t sequence;
    uint64_t topological;
    uint8_t has_parent;
    uint64_t thread_id;
} node;

typedef struct node_ref {
    node *object;
    counts *count;
} node_ref;

typedef void (*event_fn)(uint64_t, int64_t, size_t, size_t, int);

typedef void (*oom_fn)(int64_t, size_t, size_t, int);

static _Thread_local uint64_t next_sequence, own_thread_id;
static atomic_ullong thread_cnt;
static _Thread_local node *current;

EXPORT uint64_t peek(void) __asm__("_ZN2at15sequence_number4peekEv");
EXPORT void get_current_node(node_ref *out) __asm__("_ZN5torch8autograd16get_current_nodeEv");

EXPORT uint64_t current_thread_id(void) __asm__("_ZN2at14RecordFunction15currentThreadIdEv");

uint64_t current_thread_id(void) {
    if (!own_thread_id)
        own_thread_id = atomic_fetch_add(&thread_cnt, 1) + 1;
    return own_thread_id;
}

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

/* One request of a node; size 0 fails. */
typedef struct request {
    uint64_t sequence; /* UINT64_MAX: adds a gradient up, and has no number */
    uint64_t thread_id;
    int64_t size;
    int is_broken; /* does not look like a node */
} request;

typedef struct task {
    event_fn event;
    oom_fn oom;
    const request *requests;
    size_t cnt;
    int use_cnt_after;
} task;

static int run_node(const task *t, const request *r) {
    counts count = {NULL, 1, 1};
    node own = {.self_counts = &count, .sequence = r->sequence, .thread_id = r->thread_id};
    own.self = r->is_broken ? NULL : &own;
    current = &own;
    if (r->size)
        t->event(0x700000000000 + (uint64_t)r->size * 16, r->size, (size_t)r->size, (size_t)r->size,
                 0);
    else
        t->oom(1 << 20, 0, 0, 0);
    current = NULL;
    return atomic_load(&count.use_cnt);
}

static void *work(void *arg) {
    task *t = arg;
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    for (size_t i = 0; i < t->cnt; i++)
        t->use_cnt_after += run_node(t, &t->requests[i]);
    return NULL;
}

/* A backward pass: requests on an autograd thread, while these nodes run. Returns the sum of the nodes' counts of
 * references afterwards, which must be what it was: 1 for each. */
EXPORT int fake_backward(event_fn event, oom_fn oom, const request *requests, size_t cnt) {
    task t = {event, oom, requests, cnt, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &t) != 0)
        return -1;
    pthread_join(thread, NULL);
    return t.use_cnt_after;
}

/* Makes the storage of every tensor; its library does not link to CUDA's. */
EXPORT void empty_generic(event_fn event, uint64_t ptr,
                          size_t size) __asm__("_ZN2at6detail13empty_genericEv");

void empty_generic(event_fn event, uint64_t ptr, size_t size) {
    static volatile int sink; /* keeps the call from becoming a jump */
    event(ptr, (int64_t)size, size, size, 0);
    sink = 1;
    (void)sink;
}
