// The system's SQLite with the parts that Debian's library has and its header hides.
#ifndef SYNCD_CSQLITE_H
#define SYNCD_CSQLITE_H

#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <sqlite3.h>
#include <stddef.h>
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

// Rows in memory that a statement reads as a table: `INSERT INTO t SELECT c1, c2 FROM syncd_rows_2` writes them all, and
// costs a fraction of as many statements with parameters. They are read in the order in which they were added, as the
// outer loop of a join. The table is there for the statements of a program alone, not for triggers and views.
typedef struct syncd_rows syncd_rows;

// Makes the tables syncd_rows_WIDTH, of the columns c1 to cWIDTH without types, known to a connection. May be called
// again. Returns SQLITE_OK or an error.
int syncd_rows_register(sqlite3 *connection, int width);

// NULL where memory is missing.
syncd_rows *syncd_rows_make(int width);
void syncd_rows_free(syncd_rows *rows);

// Adds a row of NULLs. Returns SQLITE_OK or SQLITE_NOMEM.
int syncd_rows_add(syncd_rows *rows);

// Columns of the newest row; they count from 0. Bytes are copied.
void syncd_rows_set_null(syncd_rows *rows, int column);
void syncd_rows_set_integer(syncd_rows *rows, int column, int64_t value);
void syncd_rows_set_real(syncd_rows *rows, int column, double value);
int syncd_rows_set_bytes(syncd_rows *rows, int column, int is_text, const void *bytes, int count);

// Forgets the newest row; the memory of its bytes is used again when all are forgotten.
void syncd_rows_remove_newest(syncd_rows *rows);

// Forgets the rows, and frees what is much.
void syncd_rows_clear(syncd_rows *rows);

// The bytes that the rows take.
size_t syncd_rows_memory(const syncd_rows *rows);

// sqlite3_step() of a statement that reads these rows.
int syncd_rows_step(sqlite3_stmt *statement, const syncd_rows *rows);

#endif
