// The system's SQLite with the parts that Debian's library has and its header hides.
#ifndef SYNCD_CSQLITE_H
#define SYNCD_CSQLITE_H

#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <sqlite3.h>
#include <stdint.h>

// Keeps statement journals in memory up to `bytes` (SQLITE_CONFIG_STMTJRNL_SPILL). Has an effect only
// before the first connection of the process; returns SQLITE_MISUSE afterwards, which is harmless.
int syncd_sqlite_set_statement_journal_spill(int bytes);

// Pages that each connection's cache takes from the heap at its first use (SQLITE_CONFIG_PAGECACHE; SQLite's default is
// 20: 87 kB whether needed or not). Has an effect only before the first connection of the process.
int syncd_sqlite_set_page_cache_start(int pages);

// Whether SQLite counts its memory (SQLITE_CONFIG_MEMSTATUS), which takes a lock for each piece of it. Without it
// sqlite3_memory_used() is 0, and a soft limit of the heap has no effect. As above.
int syncd_sqlite_set_memory_statistics(int on);

// SQLITE_TRANSIENT is a cast that Swift cannot import.
int syncd_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count);
int syncd_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);

// SQLITE_DBCONFIG_ENABLE_TRIGGER: sqlite3_db_config is variadic, which Swift cannot import.
int syncd_sqlite_enable_triggers(sqlite3 *connection, int on);

// For a connection that runs statements of somebody else: SQLITE_DBCONFIG_DEFENSIVE on, SQLITE_LIMIT_ATTACHED 0;
// SQLITE_DBCONFIG_DQS_DDL on, so that old schemas can still be made.
int syncd_sqlite_confine(sqlite3 *connection);

// Whether the last connection to a database, when it is closed, writes the WAL to the database and removes it, as SQLite
// does by default (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE).
int syncd_sqlite_checkpoint_on_close(sqlite3 *connection, int on);

// For a database that another user may have filled: SQLITE_DBCONFIG_DEFENSIVE on, SQLITE_DBCONFIG_TRUSTED_SCHEMA off,
// and no text or blob of more than `bytes` (SQLITE_LIMIT_LENGTH). Returns SQLITE_OK or an error.
int syncd_sqlite_distrust(sqlite3 *connection, int bytes);

// Ends a statement (SQLITE_INTERRUPT) that runs for longer than this without a row. Takes the connection's progress
// handler and its trace callback.
void syncd_sqlite_limit_steps(sqlite3 *connection, int64_t nanoseconds);

// The connection uses no view and fires no trigger (SQLITE_DBCONFIG_ENABLE_VIEW, _TRIGGER). Returns SQLITE_OK or an error.
int syncd_sqlite_use_tables_alone(sqlite3 *connection);

// From now on SQLite's Unix layer opens files and folders alone, in the whole process: a pipe, a device or a socket
// that somebody put beside a database is refused at once, where open(2) would wait. Returns SQLITE_OK, or
// SQLITE_NOTFOUND where the layer is another one. Initializes SQLite: after sqlite3_config().
int syncd_sqlite_open_files_alone(void);

// From now on SQLite's Unix layer opens no super-journal, in the whole process: the file that the journal of a
// transaction over several databases names. SQLite would delete the named file once no journal in it is left, and who
// writes a journal can name any file. The transaction is rolled back all the same; the first statement that finds such
// a journal ends with SQLITE_CANTOPEN, and the named file stays. Returns as syncd_sqlite_open_files_alone() does. To
// be called before other threads use SQLite.
int syncd_sqlite_leave_super_journals(void);

// From now on the mappings that SQLite's Unix layer makes are guarded (syncd_guard_mapping), in the whole process.
// Returns as syncd_sqlite_open_files_alone() does, and initializes SQLite, too.
int syncd_sqlite_guard_mappings(void);

// The descriptor of the main database file, for fstat(2) alone; -1 where there is none or SQLite's Unix layer is not
// the one that we know. SQLite opens by path; only the descriptor says which file it got.
int syncd_sqlite_descriptor(sqlite3 *connection);

// The same of the file that the connection writes ahead: its -wal, or in a rollback mode its -journal during a
// transaction; -1 where neither is open.
int syncd_sqlite_log_descriptor(sqlite3 *connection);

#endif
