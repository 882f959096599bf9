#define _GNU_SOURCE 1
#include "CNotice.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t notice_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct notice_times *notice_map(const char *name, int create) {
    int file = open(name, O_RDWR | (create ? O_CREAT | O_TRUNC : 0), 0600);
    if (file < 0) return NULL;
    if (create && ftruncate(file, sizeof(struct notice_times)) != 0) return NULL;
    void *memory = mmap(NULL, sizeof(struct notice_times), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

int notice_make_store(const char *path) {
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
    int status = sqlite3_exec(
        db,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE t(id INTEGER PRIMARY KEY, uuid BLOB, title TEXT, done INTEGER);"
        "CREATE TABLE syncd_log(seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL, pk, v0, v1, v2, v3, v4, v5);"
        "CREATE TRIGGER ti AFTER INSERT ON t BEGIN"
        " INSERT INTO syncd_log(op, ts, pk) VALUES (9, julianday('now'), NEW.id); END;",
        NULL, NULL, NULL);
    sqlite3_close(db);
    return status;
}

static void pause_us(int64_t us) {
    struct timespec wait = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

int notice_write(const char *path, struct notice_times *times, int64_t count, int64_t gap_us, double seconds) {
    sqlite3 *db;
    sqlite3_stmt *begin, *insert, *commit;
    if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(db, 10000);
    sqlite3_exec(db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, NULL);
    sqlite3_prepare_v2(
        db, "INSERT INTO t(uuid, title, done) VALUES (randomblob(16), 'a title of twenty ch', 0)", -1, &insert, NULL);
    sqlite3_prepare_v2(db, "COMMIT", -1, &commit, NULL);
    while (!times->ready) pause_us(500);
    pause_us(100000);
    int64_t end = notice_now() + (int64_t)(seconds * 1e9);
    for (int64_t i = 1; i <= NOTICE_COMMITS_MAX; i++) {
        if (seconds > 0 ? notice_now() >= end : i > count) break;
        if (seconds <= 0) pause_us(gap_us / 2 + rand() % gap_us);
        sqlite3_step(begin);
        sqlite3_reset(begin);
        sqlite3_step(insert);
        sqlite3_reset(insert);
        times->started[i] = notice_now();
        int status = sqlite3_step(commit);
        times->committed[i] = notice_now();
        sqlite3_reset(commit);
        if (status != SQLITE_DONE) return 1;
        times->commits = i;
    }
    times->done = 1;
    sqlite3_finalize(begin);
    sqlite3_finalize(insert);
    sqlite3_finalize(commit);
    sqlite3_close(db);
    return 0;
}

// Waits for one client at `socket_path` and for the first bytes of its call.
static int notice_accept(const char *socket_path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char call[4096];
    strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 || listen(listening, 1) != 0) return -1;
    int client = accept(listening, NULL, NULL);
    close(listening);
    if (client >= 0 && read(client, call, sizeof call) <= 0) return -1;
    return client;
}

static void notice_send(int client, int64_t number) {
    char message[64];
    int length = snprintf(message, sizeof message, "{\"number\":%lld}", (long long)number);
    if (write(client, message, length + 1) < 0) perror("send");
}

int notice_floor(const char *path, struct notice_times *times, const char *socket_path) {
    static const int64_t waits_us[] = {15, 15, 20, 30, 50, 100, 200, 400, 800, 1600, 3200};
    const int steps = sizeof waits_us / sizeof *waits_us;
    sqlite3 *db;
    sqlite3_file *file = NULL;
    void volatile *region = NULL;
    char wal[4096], buffer[16384];
    if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
    sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (file->pMethods->xShmMap(file, 0, 32768, 0, &region) != SQLITE_OK) return 1;
    volatile uint32_t *count = (volatile uint32_t *)region + 2;
    snprintf(wal, sizeof wal, "%s-wal", path);
    int notify = inotify_init1(IN_NONBLOCK);
    if (inotify_add_watch(notify, wal, IN_MODIFY) < 0) return 1;
    prctl(PR_SET_TIMERSLACK, 1000);
    uint32_t first = *count, last = first;
    int step = steps;
    int client = socket_path ? notice_accept(socket_path) : -1;
    if (socket_path && client < 0) return 1;
    if (client >= 0) notice_send(client, 0);
    times->ready = 1;
    while (!times->done || last - first < (uint32_t)times->commits) {
        struct pollfd descriptor = {notify, POLLIN, 0};
        struct timespec wait = {0, step < steps ? waits_us[step] * 1000 : 250000000};
        if (ppoll(&descriptor, 1, &wait, NULL) > 0) {
            while (read(notify, buffer, sizeof buffer) > 0) {}
            step = 0;
            times->wakes++;
        } else if (step < steps) {
            step++;
        }
        uint32_t now = *count;
        if (now == last) continue;
        int64_t time = notice_now();
        for (uint32_t i = last - first + 1; i <= now - first; i++) {
            times->seen[i] = time;
            if (client >= 0) notice_send(client, i);
        }
        last = now;
    }
    if (client >= 0) close(client);
    close(notify);
    sqlite3_close(db);
    return 0;
}

int notice_make_plain(const char *path) {
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
    int status = sqlite3_exec(
        db,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE t(id INTEGER PRIMARY KEY, uuid BLOB, title TEXT, done INTEGER);",
        NULL, NULL, NULL);
    sqlite3_close(db);
    return status;
}

int notice_client(const char *path, const char *call, struct notice_times *times, int64_t base) {
    static char buffer[1 << 20];
    size_t used = 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) return 1;
    size_t length = strlen(call) + 1;
    if (write(connection, call, length) != (ssize_t)length) return 1;
    for (;;) {
        ssize_t count = read(connection, buffer + used, sizeof buffer - used - 1);
        if (count <= 0) return 1;
        int64_t now = notice_now();
        used += count;
        char *message = buffer, *end;
        while ((end = memchr(message, 0, buffer + used - message)) != NULL) {
            char *number = strstr(message, "\"number\":");
            int64_t index = number ? atoll(number + 9) - base : 0;
            if (index >= 1 && index <= NOTICE_COMMITS_MAX) times->seen[index] = now;
            times->wakes++;
            times->ready = 1;
            message = end + 1;
        }
        used -= message - buffer;
        memmove(buffer, message, used);
    }
}

int notice_write_rows(const char *path, int64_t first, int64_t count) {
    sqlite3 *db;
    sqlite3_stmt *insert;
    if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(db, 60000);
    sqlite3_exec(db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO t(id, title) VALUES (?, 'c')", -1, &insert, NULL);
    int status = SQLITE_DONE;
    for (int64_t n = 1; n <= count && status == SQLITE_DONE; n++) {
        sqlite3_bind_int64(insert, 1, first + n);
        status = sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return status == SQLITE_DONE ? 0 : 1;
}
