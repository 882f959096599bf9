#define _GNU_SOURCE
#include "CLinux.h"
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

// Which piece of work a process died of is known only to the thread that died. The handler writes one byte of the
// file that says what is being worked on (CrashMarks), and has the signal end the process as it would have.
static _Atomic int crash_file = -1;
static _Thread_local int64_t crash_offset = -1;
static _Thread_local uint8_t crash_byte;

static const int crash_signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGSYS};

static void on_crash(int number, siginfo_t *info, void *context) {
    (void)context;
    int file = atomic_load(&crash_file);
    if (file >= 0 && crash_offset >= 0) {
        ssize_t written = pwrite(file, &crash_byte, 1, crash_offset);
        (void)written;
    }
    signal(number, SIG_DFL);
    // A fault comes again when its instruction is repeated; what was sent or raised does not.
    if (info->si_code <= 0) raise(number);
}

int syncd_note_crashes(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    int count = sizeof crash_signals / sizeof crash_signals[0];
    for (int index = 0; index < count; index++)
        if (sigaction(crash_signals[index], &action, NULL) != 0) return -1;
    return 0;
}

void syncd_set_crash_file(int file) { atomic_store(&crash_file, file); }

struct syncd_crash_mark syncd_set_crash_mark(struct syncd_crash_mark mark) {
    struct syncd_crash_mark former = {crash_offset, crash_byte};
    crash_offset = mark.offset;
    crash_byte = mark.byte;
    return former;
}
