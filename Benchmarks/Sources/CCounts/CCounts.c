#define _GNU_SOURCE
#include "CCounts.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

// These stand before the functions of libswiftCore, also for that library's own calls: they count,
// and call those. (The hooks that the runtime has for Instruments take a short text for a
// reference, and crash.)

static atomic_int_fast64_t allocations, retains;

// Of what is counted: texts of at most 15 bytes, and literals, are negative numbers here.
static void count_retain(void *object) {
    if ((intptr_t)object > 0) atomic_fetch_add_explicit(&retains, 1, memory_order_relaxed);
}

#define NEXT(name) \
    static typeof(&name) next; \
    if (!next) next = (typeof(&name))dlsym(RTLD_NEXT, #name)

void *swift_allocObject(const void *type, size_t size, size_t alignment) {
    NEXT(swift_allocObject);
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return next(type, size, alignment);
}

void *swift_retain(void *object) {
    NEXT(swift_retain);
    count_retain(object);
    return next(object);
}

void *swift_retain_n(void *object, uint32_t count) {
    NEXT(swift_retain_n);
    count_retain(object);
    return next(object, count);
}

void *swift_bridgeObjectRetain(void *object) {
    NEXT(swift_bridgeObjectRetain);
    count_retain(object);
    return next(object);
}

int64_t swift_counts_allocations(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

int64_t swift_counts_retains(void) {
    return atomic_load_explicit(&retains, memory_order_relaxed);
}
