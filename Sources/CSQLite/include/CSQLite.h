// The system's SQLite with the parts that Debian's library has and its header hides.
#ifndef SYNCD_CSQLITE_H
#define SYNCD_CSQLITE_H

#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <sqlite3.h>

// Keeps statement journals in memory up to `bytes` (SQLITE_CONFIG_STMTJRNL_SPILL). Has an effect only
// before the first connection of the process; returns SQLITE_MISUSE afterwards, which is harmless.
int syncd_sqlite_set_statement_journal_spill(int bytes);

// Pages that each connection's cache takes from the heap at its first use (SQLITE_CONFIG_PAGECACHE; SQLite's default is
// 20: 87 kB whether needed or not). Has an effect only before the first connection of the process.
int syncd_sqlite_set_page_cache_start(int pages);

// SQLITE_TRANSIENT is a cast that Swift cannot import.
int syncd_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count);
int syncd_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);

// SQLITE_DBCONFIG_ENABLE_TRIGGER: sqlite3_db_config is variadic, which Swift cannot import.
int syncd_sqlite_enable_triggers(sqlite3 *connection, int on);

// For a connection that runs statements of somebody else: SQLITE_DBCONFIG_DEFENSIVE on, SQLITE_LIMIT_ATTACHED 0;
// SQLITE_DBCONFIG_DQS_DDL on, so that old schemas can still be made.
int syncd_sqlite_confine(sqlite3 *connection);

// The descriptor of the main database file, for fstat(2) alone; -1 where there is none or SQLite's Unix layer is not
// the one that we know. SQLite opens by path; only the descriptor says which file it got.
int syncd_sqlite_descriptor(sqlite3 *connection);

#endif
