#include "CSQLite.h"
#include <string.h>

int syncd_sqlite_set_statement_journal_spill(int bytes) {
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, bytes);
}

int syncd_sqlite_set_page_cache_start(int pages) {
    return sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, pages);
}

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

// The beginning of unixFile in SQLite's os_unix.c, the same since version 3.7.
struct unix_file {
    const sqlite3_io_methods *methods;
    sqlite3_vfs *vfs;
    void *inode;
    int descriptor;
};

int syncd_sqlite_descriptor(sqlite3 *connection) {
    sqlite3_file *file = 0;
    sqlite3_vfs *vfs = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return -1;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK) return -1;
    if (!file || !file->pMethods || !vfs || !vfs->zName || strncmp(vfs->zName, "unix", 4) != 0) return -1;
    struct unix_file *unix_file = (struct unix_file *)file;
    return unix_file->vfs == vfs && unix_file->inode ? unix_file->descriptor : -1;
}
