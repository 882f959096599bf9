#include "CSQLite.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int syncd_sqlite_set_statement_journal_spill(int bytes) {
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, bytes);
}

int syncd_sqlite_set_page_cache_start(int pages) {
    return sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, pages);
}

int syncd_sqlite_set_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

int syncd_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    // A null pointer would bind NULL: empty text is a value of its own.
    if (count == 0) return sqlite3_bind_text(statement, index, "", 0, SQLITE_STATIC);
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

int syncd_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    // A null pointer would bind NULL: an empty blob is a value of its own.
    if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

int syncd_sqlite_enable_triggers(sqlite3 *connection, int on) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}

int syncd_sqlite_confine(sqlite3 *connection) {
    int status = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    if (status == SQLITE_OK) status = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 1, (int *)0);
    sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
    return status;
}

int syncd_sqlite_checkpoint_on_close(sqlite3 *connection, int on) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on, (int *)0);
}

int syncd_sqlite_distrust(sqlite3 *connection, int bytes) {
    int status = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    if (status == SQLITE_OK)
        status = sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, bytes);
    return status;
}

int syncd_sqlite_use_tables_alone(sqlite3 *connection) {
    int status = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
    if (status == SQLITE_OK) status = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
    return status;
}

// When the handler was first called in the step that this thread is in; 0: not yet. One for each thread, because a
// step runs on one thread; no memory belongs to a connection, so that nothing has to be freed with it.
static _Thread_local int64_t step_began;

static int64_t monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// A statement begins, gives a row, or has ended: what runs next is another step.
static int end_step(unsigned event, void *context, void *statement, void *text) {
    (void)context, (void)statement;
    // The beginning of a trigger within a step: its text is a comment.
    if (event == SQLITE_TRACE_STMT && text && strncmp(text, "--", 2) == 0) return 0;
    step_began = 0;
    return 0;
}

static int check_step(void *limit) {
    int64_t now = monotonic();
    if (step_began == 0) step_began = now;
    return now - step_began > (int64_t)(intptr_t)limit;
}

void syncd_sqlite_limit_steps(sqlite3 *connection, int64_t nanoseconds) {
    sqlite3_trace_v2(connection, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE, end_step, (void *)0);
    // About a millisecond's work.
    sqlite3_progress_handler(connection, 20000, check_step, (void *)(intptr_t)nanoseconds);
}

// open() of SQLite's os_unix.c. For files O_NONBLOCK means nothing; it opens /dev/urandom too.
static int open_file(const char *path, int flags, int mode) {
    int descriptor = open(path, flags | O_NONBLOCK, mode);
    struct stat file;
    if (descriptor < 0 || strncmp(path, "/dev/", 5) == 0) return descriptor;
    if (fstat(descriptor, &file) == 0 && (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode))) return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

int syncd_sqlite_open_files_alone(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall) return SQLITE_NOTFOUND;
    return vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_file);
}

#ifndef SQLITE_OPEN_SUPER_JOURNAL
#define SQLITE_OPEN_SUPER_JOURNAL SQLITE_OPEN_MASTER_JOURNAL
#endif

static int (*open_of_unix)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);

static int open_unless_super_journal(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *opened) {
    if (!(flags & SQLITE_OPEN_SUPER_JOURNAL)) return open_of_unix(vfs, path, file, flags, opened);
    file->pMethods = 0;
    return SQLITE_CANTOPEN;
}

int syncd_sqlite_leave_super_journals(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || !vfs->xOpen) return SQLITE_NOTFOUND;
    if (vfs->xOpen == open_unless_super_journal) return SQLITE_OK;
    open_of_unix = vfs->xOpen;
    vfs->xOpen = open_unless_super_journal;
    return SQLITE_OK;
}

// Of CLinux. Declared here, because the C targets depend on nothing of the package: SyncStorage links both.
void syncd_guard_mapping(void *address, size_t length);
void syncd_forget_mapping(void *address);

static void *map_guarded(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    void *memory = mmap(address, length, protection, flags, descriptor, offset);
    if (memory != MAP_FAILED) syncd_guard_mapping(memory, length);
    return memory;
}

static int unmap_guarded(void *address, size_t length) {
    syncd_forget_mapping(address);
    return munmap(address, length);
}

int syncd_sqlite_guard_mappings(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall) return SQLITE_NOTFOUND;
    int status = vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)map_guarded);
    if (status == SQLITE_OK) status = vfs->xSetSystemCall(vfs, "munmap", (sqlite3_syscall_ptr)unmap_guarded);
    return status;
}

// The beginning of unixFile in SQLite's os_unix.c, the same since version 3.7.
struct unix_file {
    const sqlite3_io_methods *methods;
    sqlite3_vfs *vfs;
    void *inode;
    int descriptor;
};

static struct unix_file *find_unix_file(sqlite3 *connection, int control) {
    sqlite3_file *file = 0;
    sqlite3_vfs *vfs = 0;
    if (sqlite3_file_control(connection, "main", control, &file) != SQLITE_OK) return 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK) return 0;
    if (!file || !file->pMethods || !vfs || !vfs->zName || strncmp(vfs->zName, "unix", 4) != 0) return 0;
    struct unix_file *unix_file = (struct unix_file *)file;
    // A journal in memory has something else there.
    return unix_file->vfs == vfs ? unix_file : 0;
}

int syncd_sqlite_descriptor(sqlite3 *connection) {
    struct unix_file *file = find_unix_file(connection, SQLITE_FCNTL_FILE_POINTER);
    return file && file->inode ? file->descriptor : -1;
}

int syncd_sqlite_log_descriptor(sqlite3 *connection) {
    struct unix_file *file = find_unix_file(connection, SQLITE_FCNTL_JOURNAL_POINTER);
    return file ? file->descriptor : -1;
}
