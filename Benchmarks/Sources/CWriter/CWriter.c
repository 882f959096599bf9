#include "CWriter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char NOTE[] = "a note of some sixty characters, as a person would write it.";
static const unsigned char PAYLOAD[64] = {7};

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

struct writer_row *writer_make_rows(int count) {
    struct writer_row *rows = calloc(count, sizeof *rows);
    uint64_t state = 42;
    for (int i = 0; rows && i < count; i++) {
        struct writer_row *row = &rows[i];
        row->id = i + 1;
        snprintf(row->key, sizeof row->key, "key-%08x-%d", (unsigned)next(&state), i);
        for (int b = 0; b < 16; b++) row->uuid[b] = next(&state) & 255;
        snprintf(row->title, sizeof row->title, "title number %d", (int)(next(&state) % 100000000));
        row->done = i & 1;
        row->priority = next(&state) % 10;
    }
    return rows;
}

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void bind_key(sqlite3_stmt *statement, int index, const struct writer_row *row, int key) {
    if (key == WRITER_KEY_TEXT)
        sqlite3_bind_text(statement, index, row->key, -1, SQLITE_STATIC);
    else
        sqlite3_bind_int64(statement, index, row->id);
}

static void bind(sqlite3_stmt *statement, const struct writer_row *row, int action, int key) {
    switch (action) {
    case WRITER_INSERT:
        if (key == WRITER_KEY_CHOSEN)
            sqlite3_bind_null(statement, 1);
        else
            bind_key(statement, 1, row, key);
        sqlite3_bind_blob(statement, 2, row->uuid, sizeof row->uuid, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, row->title, -1, SQLITE_STATIC);
        sqlite3_bind_int(statement, 4, row->done);
        sqlite3_bind_int(statement, 5, row->priority);
        sqlite3_bind_text(statement, 6, NOTE, sizeof NOTE - 1, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 7, PAYLOAD, sizeof PAYLOAD, SQLITE_STATIC);
        break;
    case WRITER_UPDATE:
        sqlite3_bind_int(statement, 1, row->done + 2);
        bind_key(statement, 2, row, key);
        break;
    default: bind_key(statement, 1, row, key);
    }
}

static const char *sql(int action) {
    switch (action) {
    case WRITER_INSERT: return "INSERT INTO item VALUES(?, ?, ?, ?, ?, ?, ?)";
    case WRITER_UPDATE: return "UPDATE item SET done = ? WHERE id = ?";
    default: return "DELETE FROM item WHERE id = ?";
    }
}

static int step(sqlite3_stmt *statement) {
    int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status == SQLITE_DONE;
}

// What a writer with the session extension does: a session for each transaction, its changeset taken before COMMIT.
// Where it is stored is the writer's affair: not counted.
static int take_changeset(sqlite3_session *session) {
    int bytes = 0;
    void *changeset = 0;
    int status = sqlite3session_changeset(session, &bytes, &changeset);
    sqlite3_free(changeset);
    sqlite3session_delete(session);
    return status == SQLITE_OK && bytes > 0;
}

double writer_run(
    sqlite3 *db, const struct writer_row *rows, int count, int per_transaction, int action, int key, int with_session) {
    sqlite3_stmt *begin = 0, *commit = 0, *write = 0;
    sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, 0);
    sqlite3_prepare_v2(db, "COMMIT", -1, &commit, 0);
    sqlite3_prepare_v2(db, sql(action), -1, &write, 0);
    int is_right = begin && commit && write;
    double start = cpu_seconds();
    for (int i = 0; i < count && is_right; i += per_transaction) {
        sqlite3_session *session = 0;
        if (with_session)
            is_right = sqlite3session_create(db, "main", &session) == SQLITE_OK
                && sqlite3session_attach(session, "item") == SQLITE_OK;
        is_right = is_right && step(begin);
        for (int r = i; r < i + per_transaction && r < count && is_right; r++) {
            bind(write, &rows[r], action, key);
            is_right = step(write);
        }
        if (session) is_right = take_changeset(session) && is_right;
        is_right = is_right && step(commit);
    }
    double seconds = cpu_seconds() - start;
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(write);
    return is_right ? seconds : -1;
}
