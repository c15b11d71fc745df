// SPDX-License-Identifier: MIT
// The pool behind the standard library: containers of C++17 that take a memory_resource are in the recording, too.
//
//     c++ -std=c++17 -g -O2 -Iinclude -c resource.cpp && cc -g -O2 -Iinclude -c pool.c
//     c++ resource.o pool.o -lstormlog_record -o resource
//     stormlog run --stacks native -- ./resource
#include <cstdio>
#include <memory_resource>
#include <new>
#include <stormlog/record.h>
#include <vector>

#include "pool.h"

class pool_resource : public std::pmr::memory_resource {
  public:
    explicit pool_resource(std::size_t bytes) : memory(pool_create(bytes)) {
    }
    ~pool_resource() override {
        pool_destroy(memory);
    }

  private:
    pool *memory;

    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *block = memory && alignment <= 64 ? pool_take(memory, bytes) : nullptr;
        if (!block)
            throw std::bad_alloc();
        return block;
    }
    void do_deallocate(void *block, std::size_t, std::size_t) override {
        pool_give(memory, block);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override {
        return this == &other;
    }
};

static std::size_t fill_index(std::pmr::vector<int> &index) {
    for (int i = 0; i < 100000; i++)
        index.push_back(i);
    return index.size();
}

int main() {
    pool_resource resource(std::size_t(16) << 20);
    std::pmr::vector<int> index(&resource);
    std::printf("%zu entries\n", fill_index(index));
    return 0;
}
