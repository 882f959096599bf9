#include "CSQLite.h"

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
