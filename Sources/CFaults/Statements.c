#include "CFaults.h"
#include <sqlite3.h>

static _Thread_local void (*observer)(void *);
static _Thread_local void *observer_context;

static int begin_statement(unsigned event, void *context, void *statement, void *text) {
    (void)event, (void)context, (void)statement, (void)text;
    if (observer) observer(observer_context);
    return 0;
}

// SQLite calls it for each connection that is opened.
static int observe_connection(sqlite3 *connection, const char **message, const struct sqlite3_api_routines *api) {
    (void)message, (void)api;
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, begin_statement, (void *)0);
}

int syncd_statements_observe(void (*begins)(void *context), void *context) {
    observer = begins;
    observer_context = context;
    return sqlite3_auto_extension((void (*)(void))observe_connection);
}
