/* SPDX-License-Identifier: MIT
 *
 * A libc10_cuda whose allocator has the class, the functions and the trace entries of torch 2.11, and is otherwise next to
 * nothing: every block is a segment of its own. With -DSHUFFLED the entries' fields are in another order.
 */
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define EXPORT __attribute__((visibility("default")))

struct CUstream_st;

extern "C" int cudaMalloc(void **out, size_t size);
void report(void *ptr, int64_t size, size_t allocated, size_t reserved,
            uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

namespace c10 {

struct GatheredContext {
    virtual ~GatheredContext() = default;
};

using MempoolId = std::pair<unsigned long long, unsigned long long>;

namespace CachingDeviceAllocator {
struct TraceEntry {
    enum Action { ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE };
    Action action_;
    signed char device_;
#ifdef SHUFFLED
    size_t size_;
    size_t addr_;
    void *stream_;
    std::shared_ptr<GatheredContext> context_;
#else
    size_t addr_;
    std::shared_ptr<GatheredContext> context_;
    void *stream_;
    size_t size_;
#endif
    MempoolId mempool_;
    int64_t time_;
    std::string compile_context_, user_metadata_;
};
} // namespace CachingDeviceAllocator

namespace cuda::CUDACachingAllocator {

using CachingDeviceAllocator::TraceEntry;
using Tracker = std::function<void(const TraceEntry &)>;

class CUDAAllocator {
public:
    virtual ~CUDAAllocator() = default;
    virtual void attachAllocatorTraceTracker(Tracker tracker) = 0;
};

EXPORT std::atomic<CUDAAllocator *> allocator;

/* Called through the library's table of functions, as libtorch_python calls it. */
EXPORT void setAllocatorSettings(const std::string &text) {
    if (text == "bad")
        throw std::runtime_error("no such setting");
}

namespace Native {

class DeviceCachingAllocator {
public:
    std::recursive_mutex mutex;
    std::vector<Tracker> trackers;

    __attribute__((noinline)) void record_trace(TraceEntry::Action action, size_t addr, size_t size,
                                                CUstream_st *stream, signed char device,
                                                MempoolId pool,
                                                std::shared_ptr<GatheredContext> context) {
        TraceEntry entry;
        entry.action_ = action;
        entry.device_ = device;
        entry.addr_ = addr;
        entry.size_ = size;
        entry.stream_ = stream;
        entry.mempool_ = pool;
        entry.context_ = std::move(context);
        for (const Tracker &tracker : trackers)
            tracker(entry);
    }
};

class NativeCachingAllocator : public CUDAAllocator {
public:
    DeviceCachingAllocator device;
    size_t allocated = 0, reserved = 0;

    void attachAllocatorTraceTracker(Tracker tracker) override {
        std::unique_lock<std::recursive_mutex> lock(device.mutex);
        device.trackers.emplace_back(std::move(tracker));
    }
};

static NativeCachingAllocator native;

static struct Start {
    Start() {
        allocator.store(&native);
    }
} start;

} // namespace Native
} // namespace cuda::CUDACachingAllocator
} // namespace c10

using namespace c10;
using Entry = CachingDeviceAllocator::TraceEntry;
using cuda::CUDACachingAllocator::Native::native;

static CUstream_st *stream_of(uint64_t number) {
    return reinterpret_cast<CUstream_st *>(number);
}

extern "C" {

EXPORT uint64_t fake_malloc(size_t asked, uint64_t stream, uint64_t pool) {
    std::unique_lock<std::recursive_mutex> lock(native.device.mutex);
    size_t size = (asked + 511) / 512 * 512;
    void *at = nullptr;
    if (cudaMalloc(&at, size))
        return 0;
    auto addr = reinterpret_cast<uint64_t>(at);
    native.reserved += size;
    native.allocated += size;
    native.device.record_trace(Entry::SEGMENT_ALLOC, addr, size, stream_of(stream), 0, {0, pool}, {});
    native.device.record_trace(Entry::ALLOC, addr, asked, stream_of(stream), 0, {0, pool}, {});
    report(at, (int64_t)size, native.allocated, native.reserved, 1);
    return addr;
}

/* With is_late another stream still uses the block: fake_complete follows. */
EXPORT void fake_free(uint64_t addr, size_t asked, uint64_t stream, int is_late) {
    std::unique_lock<std::recursive_mutex> lock(native.device.mutex);
    size_t size = (asked + 511) / 512 * 512;
    native.allocated -= size;
    native.device.record_trace(Entry::FREE_REQUESTED, addr, asked, stream_of(stream), 0, {0, 0}, {});
    if (!is_late)
        native.device.record_trace(Entry::FREE_COMPLETED, addr, asked, stream_of(stream), 0, {0, 0}, {});
    report(reinterpret_cast<void *>(addr), -(int64_t)size, native.allocated, native.reserved, 1);
}

EXPORT void fake_complete(uint64_t addr, size_t asked, uint64_t stream) {
    std::unique_lock<std::recursive_mutex> lock(native.device.mutex);
    native.device.record_trace(Entry::FREE_COMPLETED, addr, asked, stream_of(stream), 0, {0, 0}, {});
}

EXPORT void fake_release(uint64_t addr, size_t asked) {
    std::unique_lock<std::recursive_mutex> lock(native.device.mutex);
    size_t size = (asked + 511) / 512 * 512;
    native.reserved -= size;
    native.device.record_trace(Entry::SEGMENT_FREE, addr, size, nullptr, 0, {0, 0}, {});
}

EXPORT int fake_set(const char *text) {
    try {
        cuda::CUDACachingAllocator::setAllocatorSettings(text);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

EXPORT size_t fake_trackers(void) {
    return native.device.trackers.size();
}
}
