// The two ends of the measurement that must not cost anything themselves: a writer, and the bare mechanism of being woken.
#ifndef CNOTICE_H
#define CNOTICE_H

#include <sqlite3.h>
#include <stdint.h>

#define NOTICE_COMMITS_MAX 2000000

// Shared by the writer and the process that waits. Times in nanoseconds of CLOCK_MONOTONIC.
struct notice_times {
    volatile int64_t ready;    // the waiting process is ready
    volatile int64_t done;     // the writer has committed its last
    volatile int64_t commits;  // committed so far
    volatile int64_t wakes;
    int64_t started[NOTICE_COMMITS_MAX + 1];  // before COMMIT, by number from 1
    int64_t committed[NOTICE_COMMITS_MAX + 1];
    int64_t seen[NOTICE_COMMITS_MAX + 1];
};

int64_t notice_now(void);

// The arrays: Swift does not import ones of this length.
static inline int64_t *notice_started(struct notice_times *times) { return times->started; }
static inline int64_t *notice_committed(struct notice_times *times) { return times->committed; }
static inline int64_t *notice_seen(struct notice_times *times) { return times->seen; }

// Maps the file `name`, created when `create`.
struct notice_times *notice_map(const char *name, int create);

// A store with a log as capture leaves it, and one table. Returns 0 when done.
int notice_make_store(const char *path);

// A database with one table and nothing of syncd. Returns 0 when done.
int notice_make_plain(const char *path);

// A client of the daemon: connects, sends `call` and notes when each transaction arrives, until it is killed. The
// transaction numbered `base` + n is commit n.
int notice_client(const char *socket, const char *call, struct notice_times *times, int64_t base);

// Commits single rows: `count` with random gaps of gap_us/2 … 3/2 gap_us, or flat out for `seconds` if above 0.
int notice_write(const char *path, struct notice_times *times, int64_t count, int64_t gap_us, double seconds);

// Commits `count` single rows with the keys `first` + 1, `first` + 2 …, flat out.
int notice_write_rows(const char *path, int64_t first, int64_t count);

// Waits for commits with inotify and reads the wal-index itself, until the writer is done. Nothing of syncd. With a
// `socket_path` it waits for one client there first, and sends it the number of each commit.
int notice_floor(const char *path, struct notice_times *times, const char *socket_path);

#endif
