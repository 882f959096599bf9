// A table of rows in memory for SQLite to read: docs of the functions in CSQLite.h.
#include "CSQLite.h"
#include <stdlib.h>
#include <string.h>

struct cell {
    // SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB or SQLITE_NULL.
    int type;
    // Of its bytes.
    int count;
    union {
        int64_t integer;
        double real;
        // Where its bytes begin.
        size_t start;
    } value;
};

struct syncd_rows {
    int width;
    size_t count, capacity;
    struct cell *cells;
    size_t length, bytes_capacity;
    char *bytes;
};

// What is kept between two uses, in bytes.
enum { memory_kept = 1 << 16 };

syncd_rows *syncd_rows_make(int width) {
    syncd_rows *rows = calloc(1, sizeof *rows);
    if (rows) rows->width = width;
    return rows;
}

void syncd_rows_free(syncd_rows *rows) {
    if (!rows) return;
    free(rows->cells);
    free(rows->bytes);
    free(rows);
}

void syncd_rows_clear(syncd_rows *rows) {
    rows->count = 0;
    rows->length = 0;
    if (rows->bytes_capacity > memory_kept) {
        free(rows->bytes);
        rows->bytes = 0;
        rows->bytes_capacity = 0;
    }
    if (rows->capacity * rows->width * sizeof *rows->cells > memory_kept) {
        free(rows->cells);
        rows->cells = 0;
        rows->capacity = 0;
    }
}

int syncd_rows_add(syncd_rows *rows) {
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity * 2 : 16;
        struct cell *cells = realloc(rows->cells, capacity * rows->width * sizeof *cells);
        if (!cells) return SQLITE_NOMEM;
        rows->cells = cells;
        rows->capacity = capacity;
    }
    struct cell *cells = rows->cells + rows->count * rows->width;
    for (int column = 0; column < rows->width; column++) cells[column] = (struct cell){.type = SQLITE_NULL};
    rows->count++;
    return SQLITE_OK;
}

void syncd_rows_remove_newest(syncd_rows *rows) { rows->count--; }

static struct cell *newest_cell(syncd_rows *rows, int column) {
    return rows->cells + (rows->count - 1) * rows->width + column;
}

void syncd_rows_set_null(syncd_rows *rows, int column) {
    *newest_cell(rows, column) = (struct cell){.type = SQLITE_NULL};
}

void syncd_rows_set_integer(syncd_rows *rows, int column, int64_t value) {
    *newest_cell(rows, column) = (struct cell){.type = SQLITE_INTEGER, .value.integer = value};
}

void syncd_rows_set_real(syncd_rows *rows, int column, double value) {
    *newest_cell(rows, column) = (struct cell){.type = SQLITE_FLOAT, .value.real = value};
}

int syncd_rows_set_bytes(syncd_rows *rows, int column, int is_text, const void *bytes, int count) {
    if (rows->bytes_capacity - rows->length < (size_t)count) {
        size_t capacity = rows->bytes_capacity ? rows->bytes_capacity : 4096;
        while (capacity - rows->length < (size_t)count) capacity *= 2;
        char *grown = realloc(rows->bytes, capacity);
        if (!grown) return SQLITE_NOMEM;
        rows->bytes = grown;
        rows->bytes_capacity = capacity;
    }
    if (count > 0) memcpy(rows->bytes + rows->length, bytes, count);
    *newest_cell(rows, column) =
        (struct cell){.type = is_text ? SQLITE_TEXT : SQLITE_BLOB, .count = count, .value.start = rows->length};
    rows->length += count;
    return SQLITE_OK;
}

size_t syncd_rows_memory(const syncd_rows *rows) {
    return rows->count * rows->width * sizeof *rows->cells + rows->length;
}

// MARK: The virtual table (sqlite.org/vtab.html)

struct rows_cursor {
    sqlite3_vtab_cursor base;
    size_t row;
};

// The rows of the statement that this thread is in: a step runs on one thread.
static _Thread_local const syncd_rows *shown;

static int connect_rows(sqlite3 *connection, void *context, int argc, const char *const *argv, sqlite3_vtab **made,
                        char **error) {
    (void)argc, (void)argv, (void)error;
    int width = (int)(intptr_t)context;
    sqlite3_str *sql = sqlite3_str_new(connection);
    sqlite3_str_appendall(sql, "CREATE TABLE x(c1");
    for (int column = 2; column <= width; column++) sqlite3_str_appendf(sql, ",c%d", column);
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    if (!text) return SQLITE_NOMEM;
    int status = sqlite3_declare_vtab(connection, text);
    sqlite3_free(text);
    if (status != SQLITE_OK) return status;
    // Not for the triggers and views of a schema.
    sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
    *made = sqlite3_malloc(sizeof **made);
    if (!*made) return SQLITE_NOMEM;
    memset(*made, 0, sizeof **made);
    return SQLITE_OK;
}

static int disconnect_rows(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

// The rows are always the outer loop: they are read once, in their order.
static int plan_rows(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table;
    for (int index = 0; index < info->nConstraint; index++)
        if (info->aConstraint[index].usable) return SQLITE_CONSTRAINT;
    info->estimatedCost = 1;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **made) {
    (void)table;
    struct rows_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *made = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int begin_rows(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc, sqlite3_value **argv) {
    (void)plan, (void)text, (void)argc, (void)argv;
    ((struct rows_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *cursor) {
    ((struct rows_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int is_after_last(sqlite3_vtab_cursor *cursor) {
    return !shown || ((struct rows_cursor *)cursor)->row >= shown->count;
}

static int read_cell(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const struct cell *cell = shown->cells + ((struct rows_cursor *)cursor)->row * shown->width + column;
    // What has no bytes is not NULL.
    const char *bytes = cell->count > 0 ? shown->bytes + cell->value.start : "";
    switch (cell->type) {
    case SQLITE_INTEGER: sqlite3_result_int64(context, cell->value.integer); break;
    case SQLITE_FLOAT: sqlite3_result_double(context, cell->value.real); break;
    case SQLITE_TEXT: sqlite3_result_text(context, bytes, cell->count, SQLITE_STATIC); break;
    case SQLITE_BLOB: sqlite3_result_blob(context, bytes, cell->count, SQLITE_STATIC); break;
    default: break;
    }
    return SQLITE_OK;
}

static int read_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid) {
    *rowid = (sqlite3_int64)((struct rows_cursor *)cursor)->row + 1;
    return SQLITE_OK;
}

// No xCreate: the table is there by its name alone, and in no schema.
static const sqlite3_module rows_module = {
    .xConnect = connect_rows,
    .xBestIndex = plan_rows,
    .xDisconnect = disconnect_rows,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = begin_rows,
    .xNext = next_row,
    .xEof = is_after_last,
    .xColumn = read_cell,
    .xRowid = read_rowid,
};

int syncd_rows_register(sqlite3 *connection, int width) {
    char *name = sqlite3_mprintf("syncd_rows_%d", width);
    if (!name) return SQLITE_NOMEM;
    sqlite3_stmt *find = 0;
    int status =
        sqlite3_prepare_v2(connection, "SELECT 1 FROM pragma_module_list WHERE name = ?1", -1, &find, (const char **)0);
    if (status == SQLITE_OK) {
        sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
        status = sqlite3_step(find);
        sqlite3_finalize(find);
    }
    if (status == SQLITE_DONE)
        status = sqlite3_create_module(connection, name, &rows_module, (void *)(intptr_t)width);
    else if (status == SQLITE_ROW)
        status = SQLITE_OK;
    sqlite3_free(name);
    return status;
}

int syncd_rows_step(sqlite3_stmt *statement, const syncd_rows *rows) {
    const syncd_rows *former = shown;
    shown = rows;
    int status = sqlite3_step(statement);
    shown = former;
    return status;
}
