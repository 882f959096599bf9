#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

// A shared mapping of a file that its owner truncates has no page behind it any more: touching it is SIGBUS, which no
// check beforehand prevents. As journald does, the handler puts a page of zeros there. Whoever reads the mapping finds
// a header that is not valid, which SQLite and WalIndex both expect of a wal-index; the store is then opened again.
//
// The table is read by the handler: no lock, and no memory that moves. An entry is free while its address is 0; the
// length is written before the address.
enum { guarded_max = 65536 };
static struct {
    _Atomic uintptr_t address;
    _Atomic size_t length;
    _Atomic int is_truncated;
} guarded[guarded_max];
// No entry at or behind it was ever used.
static _Atomic int guarded_end;
static _Atomic uint64_t truncated;
static uintptr_t page_bytes;
static struct sigaction former;

void syncd_guard_mapping(void *address, size_t length) {
    for (int index = 0; index < guarded_max; index++) {
        uintptr_t none = 0;
        // 1 is no address of a mapping: the entry is taken, and not to be read yet.
        if (!atomic_compare_exchange_strong(&guarded[index].address, &none, 1)) continue;
        atomic_store(&guarded[index].length, length);
        atomic_store(&guarded[index].is_truncated, 0);
        int end = atomic_load(&guarded_end);
        while (end <= index && !atomic_compare_exchange_weak(&guarded_end, &end, index + 1)) {}
        atomic_store(&guarded[index].address, (uintptr_t)address);
        return;
    }
}

void syncd_forget_mapping(void *address) {
    int end = atomic_load(&guarded_end);
    for (int index = 0; index < end; index++)
        if (atomic_load(&guarded[index].address) == (uintptr_t)address) {
            atomic_store(&guarded[index].address, 0);
            return;
        }
}

int syncd_mapping_is_truncated(const void *address) {
    int end = atomic_load(&guarded_end);
    for (int index = 0; index < end; index++)
        if (atomic_load(&guarded[index].address) == (uintptr_t)address)
            return atomic_load(&guarded[index].is_truncated);
    return 0;
}

// The entry of the mapping that has an address; -1: there is none.
static int find_guarded(uintptr_t address) {
    int end = atomic_load(&guarded_end);
    for (int index = 0; index < end; index++) {
        uintptr_t start = atomic_load(&guarded[index].address);
        if (start > 1 && address >= start && address - start < atomic_load(&guarded[index].length)) return index;
    }
    return -1;
}

static void on_bus_error(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    void *page = (void *)(address & ~(page_bytes - 1));
    int index = info->si_code == BUS_ADRERR ? find_guarded(address) : -1;
    if (index >= 0 &&
        mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
        atomic_store(&guarded[index].is_truncated, 1);
        atomic_fetch_add(&truncated, 1);
        errno = error;
        return;
    }
    // The instruction is repeated, and the signal handled as if this handler had never been.
    sigaction(SIGBUS, &former, NULL);
    errno = error;
}

int syncd_survive_truncation(void) {
    struct sigaction action = {0};
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &former) == 0 ? 0 : errno;
}

uint64_t syncd_truncated_pages(void) { return atomic_load(&truncated); }
