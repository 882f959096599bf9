// For tests alone: what is here changes SQLite for the whole process.
// A disk that fails as a test asks: SQLite's Unix layer, with writes and syncs of the files of one folder counted,
// refused, or lost. And statements that tell a test when they begin.
#ifndef SYNCD_CFAULTS_H
#define SYNCD_CFAULTS_H

#include <stdint.h>

// The disk below one folder.
typedef struct syncd_disk syncd_disk;

// From now on the files that SQLite opens below `folder` (an absolute path without links) are on this disk. Null where
// SQLite's layer is another one. Several disks may exist; one file belongs to one of them.
syncd_disk *syncd_disk_make(const char *folder);

// After the last file was closed.
void syncd_disk_free(syncd_disk *disk);

// The write after `count` more ones, and all that follow, find no space (SQLITE_FULL); a first part of it is written.
// Negative: there is space.
void syncd_disk_fill(syncd_disk *disk, int64_t count);

// The sync after `count` more ones, and all that follow, fail (SQLITE_IOERR_FSYNC). Negative: none does.
void syncd_disk_fail_syncs(syncd_disk *disk, int64_t count);

// The power fails before the write or sync after `count` more ones: nothing can be written from then on. What was
// not synced is on the disk or not, write by write, as `seed` says.
void syncd_disk_lose_power(syncd_disk *disk, int64_t count, uint64_t seed);
int syncd_disk_is_dead(syncd_disk *disk);

// Once every file is closed: puts the files into the state that the power failure left, and the disk works again.
// Returns 0, or -1 where a file is open or cannot be written.
int syncd_disk_restart(syncd_disk *disk);

// From now on `begins` is called on this thread before each statement begins, also one of a trigger, on every
// connection that was opened after the first such call of the process. Null: none is. Returns SQLite's result.
int syncd_statements_observe(void (*begins)(void *context), void *context);

#endif
