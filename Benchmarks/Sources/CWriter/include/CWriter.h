// A writer that knows nothing of syncd and costs nothing itself: rows made before the clock starts, prepared statements.
#ifndef CWRITER_H
#define CWRITER_H

// The library of Debian has it, its header hides it.
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <malloc.h>
#include <sqlite3.h>
#include <stdint.h>

enum writer_key { WRITER_KEY_INTEGER, WRITER_KEY_CHOSEN, WRITER_KEY_TEXT };
enum writer_action { WRITER_INSERT, WRITER_UPDATE, WRITER_DELETE };

struct writer_row {
    int64_t id;
    char key[24];
    unsigned char uuid[16];
    char title[24];
    int done, priority;
};

// `count` rows, the same for the same count; release with free. NULL: no memory.
struct writer_row *writer_make_rows(int count);

// Writes all rows, `per_transaction` in each, and returns the CPU seconds of this process, or -1 on an error of
// SQLite's. `with_session`: each transaction's changeset is taken by the session extension.
double writer_run(
    sqlite3 *db, const struct writer_row *rows, int count, int per_transaction, int action, int key, int with_session);

#endif
