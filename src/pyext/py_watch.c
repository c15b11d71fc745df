/* SPDX-License-Identifier: MIT */
#include "pyext/py_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- /proc ---- */

/* Resident and virtual bytes; false when /proc is not available. */
static bool read_statm(int fd, uint64_t *rss_bytes, uint64_t *vms_bytes) {
    char text[128];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    if (len <= 0)
        return false;
    text[len] = '\0';
    char *rest;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *vms_bytes = strtoull(text, &rest, 10) * page;
    *rss_bytes = strtoull(rest, NULL, 10) * page;
    return true;
}

/* VmHWM, the kernel's own peak; 0 when it is missing. */
static uint64_t read_peak(void) {
    char text[2048];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    const char *line = strstr(text, "\nVmHWM:");
    return line ? strtoull(line + sizeof "\nVmHWM:" - 1, NULL, 10) * 1024 : 0;
}

PyObject *sl_py_process_memory(PyObject *module, PyObject *unused) {
    SL_UNUSED(module);
    SL_UNUSED(unused);
    uint64_t rss = 0, vms = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && read_statm(fd, &rss, &vms);
    if (fd >= 0)
        close(fd);
    if (!is_read)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/statm");
    uint64_t peak = read_peak();
    PyObject *peak_object = peak ? PyLong_FromUnsignedLongLong(peak) : sl_py_none();
    return Py_BuildValue("(KKN)", (unsigned long long)rss, (unsigned long long)vms, peak_object);
}

/* ---- the watch ---- */

#define DEFAULT_INTERVAL_NS 5000000u

typedef struct watch {
    PyObject ob_base; /* as PyObject_HEAD, which is a macro without a semicolon */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping; /* protected by lock */
    bool is_running;  /* protected by the GIL */
    bool is_joining;  /* the same; stop() waits for the thread without the GIL */
    pid_t owner;      /* a forked child inherits is_running, but not the thread */
    int fd;           /* of /proc/self/statm, -1 = not open */
    uint64_t interval_ns;
    atomic_uint_fast64_t peak_bytes;
    atomic_uint_fast64_t sample_cnt;
} watch;

static void take_sample(watch *self) {
    uint64_t rss, vms;
    if (!read_statm(self->fd, &rss, &vms))
        return;
    if (rss > atomic_load(&self->peak_bytes))
        atomic_store(&self->peak_bytes, rss);
    atomic_fetch_add(&self->sample_cnt, 1);
}

static void add_ns(struct timespec *time, uint64_t ns) {
    time->tv_sec += (time_t)(ns / 1000000000u);
    time->tv_nsec += (long)(ns % 1000000000u);
    if (time->tv_nsec >= 1000000000l) {
        time->tv_nsec -= 1000000000l;
        time->tv_sec++;
    }
}

static void *watch_run(void *arg) {
    watch *self = arg;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&self->lock);
    while (!self->is_stopping) {
        take_sample(self);
        add_ns(&next, self->interval_ns);
        while (!self->is_stopping &&
               pthread_cond_timedwait(&self->wake, &self->lock, &next) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&self->lock);
    take_sample(self);
    return NULL;
}

static int watch_init(PyObject *object, PyObject *args, PyObject *keywords) {
    static char *names[] = {"interval", NULL};
    watch *self = (watch *)object;
    double interval = DEFAULT_INTERVAL_NS / 1e9;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|d", names, &interval))
        return -1;
    if (!(interval >= 0.0001 && interval <= 3600)) {
        PyErr_SetString(PyExc_ValueError, "interval must be 0.0001 to 3600 seconds");
        return -1;
    }
    self->interval_ns = (uint64_t)(interval * 1e9);
    return 0;
}

static PyObject *watch_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    SL_UNUSED(args);
    SL_UNUSED(keywords);
    watch *self = (watch *)PyType_GenericNew(type, NULL, NULL);
    if (!self)
        return NULL;
    self->fd = -1;
    self->interval_ns = DEFAULT_INTERVAL_NS; /* also used without __init__ */
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&self->lock, NULL);
    return (PyObject *)self;
}

static PyObject *watch_start(PyObject *object, PyObject *unused) {
    SL_UNUSED(unused);
    watch *self = (watch *)object;
    if (self->is_running && self->owner == getpid())
        return sl_py_none();
    if (self->is_joining && self->owner == getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is stopping this watch");
        return NULL;
    }
    self->is_joining = false; /* true only in a forked child, as a copy */
    if (self->fd >= 0)
        close(self->fd);
    self->fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (self->fd < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/statm");
    self->is_stopping = false;
    atomic_store(&self->peak_bytes, 0);
    atomic_store(&self->sample_cnt, 0);
    take_sample(self);
    int code = pthread_create(&self->thread, NULL, watch_run, self);
    if (code) {
        errno = code;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    self->owner = getpid();
    self->is_running = true;
    return sl_py_none();
}

static void join_thread(watch *self) {
    pthread_mutex_lock(&self->lock);
    self->is_stopping = true;
    pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
}

/* True when the caller must wait for the thread. */
static bool begin_stop(watch *self) {
    bool is_mine = self->is_running && self->owner == getpid();
    self->is_running = false;
    self->is_joining |= is_mine;
    return is_mine;
}

static void end_stop(watch *self) {
    self->is_joining = false;
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

static PyObject *watch_stop(PyObject *object, PyObject *unused) {
    SL_UNUSED(unused);
    watch *self = (watch *)object;
    if (begin_stop(self)) {
        Py_BEGIN_ALLOW_THREADS join_thread(self);
        Py_END_ALLOW_THREADS end_stop(self);
    }
    return PyLong_FromUnsignedLongLong(atomic_load(&self->peak_bytes));
}

static void watch_dealloc(PyObject *object) {
    watch *self = (watch *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    if (begin_stop(self))
        join_thread(self);
    end_stop(self);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    release(self);
    Py_DECREF(type);
}

static PyObject *watch_peak(PyObject *object, void *unused) {
    SL_UNUSED(unused);
    return PyLong_FromUnsignedLongLong(atomic_load(&((watch *)object)->peak_bytes));
}

static PyObject *watch_samples(PyObject *object, void *unused) {
    SL_UNUSED(unused);
    return PyLong_FromUnsignedLongLong(atomic_load(&((watch *)object)->sample_cnt));
}

static PyMethodDef watch_methods[] = {
    {"start", watch_start, METH_NOARGS,
     "start($self, /)\n--\n\nBegins to sample; peak and samples start anew."},
    {"stop", watch_stop, METH_NOARGS, "stop($self, /)\n--\n\nEnds sampling; returns the peak."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef watch_getset[] = {
    {"peak", watch_peak, NULL, "Largest resident size seen since start, in bytes.", NULL},
    {"samples", watch_samples, NULL, "Readings taken since start.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot watch_slots[] = {
    {Py_tp_doc, "MemoryWatch(interval=0.005)\n--\n\n"
                "Keeps the largest resident size of this process, in a thread that never needs\n"
                "the interpreter."},
    {Py_tp_new, SL_PY_SLOT(watch_new)},
    {Py_tp_init, SL_PY_SLOT(watch_init)},
    {Py_tp_dealloc, SL_PY_SLOT(watch_dealloc)},
    {Py_tp_methods, watch_methods},
    {Py_tp_getset, watch_getset},
    {0, NULL},
};

static PyType_Spec watch_spec = {
    .name = "stormlog._record.MemoryWatch",
    .basicsize = sizeof(watch),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = watch_slots,
};

PyObject *sl_py_watch_type(void) {
    return PyType_FromSpec(&watch_spec);
}
