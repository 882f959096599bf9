#include "CFaults.h"
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// One change of a file that is not synced yet.
struct change {
    int64_t offset;  // of the bytes; or the new size
    int64_t count;   // of the bytes; -1: the size changes; -2: the file is removed
    unsigned char *bytes;
    struct change *next;
};

// What a file has on the disk, and what is to come.
struct image {
    char *path;
    unsigned char *bytes;
    int64_t size;  // -1: there is no such file
    struct change *first, *last;
    struct image *next;
};

struct syncd_disk {
    char *folder;
    int64_t writes, syncs;
    int64_t fill_at, fail_syncs_at, die_at;  // counts of operations; negative: never
    int is_dead;
    uint64_t random;
    struct image *images;
    struct syncd_disk *next;
};

// A file that SQLite has open.
struct opened {
    sqlite3_file *file;
    const sqlite3_io_methods *real;
    struct syncd_disk *disk;
    struct image *image;  // null: nothing of it is kept (a temporary file)
    int syncs_folder;     // with its first sync: as SQLite does for a journal or WAL that it creates
    struct opened *next;
};

// Guards everything here.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct syncd_disk *disks;
static struct opened *files;
static int (*real_open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
static int (*real_delete)(sqlite3_vfs *, const char *, int);

// SQLite's tables of methods, and ours in their place.
static struct { const sqlite3_io_methods *real; sqlite3_io_methods ours; } tables[8];
static int table_count;

static void forget_changes(struct image *image) {
    while (image->first) {
        struct change *change = image->first;
        image->first = change->next;
        free(change->bytes);
        free(change);
    }
    image->last = 0;
}

static void resize(struct image *image, int64_t size) {
    if (size > image->size) {
        int64_t old = image->size < 0 ? 0 : image->size;
        image->bytes = realloc(image->bytes, (size_t)size + 1);
        memset(image->bytes + old, 0, (size_t)(size - old));
    }
    image->size = size;
}

static void apply(struct image *image, const struct change *change) {
    if (change->count == -2) {
        image->size = -1;
    } else if (change->count == -1) {
        resize(image, change->offset);
    } else {
        if (image->size < change->offset + change->count) resize(image, change->offset + change->count);
        memcpy(image->bytes + change->offset, change->bytes, (size_t)change->count);
    }
}

static void note(struct image *image, int64_t offset, int64_t count, const void *bytes) {
    if (!image) return;
    struct change *change = calloc(1, sizeof *change);
    change->offset = offset;
    change->count = count;
    if (count > 0) {
        change->bytes = malloc((size_t)count);
        memcpy(change->bytes, bytes, (size_t)count);
    }
    if (image->last) image->last->next = change;
    else image->first = change;
    image->last = change;
}

static void settle(struct image *image) {
    if (!image) return;
    if (image->size < 0) resize(image, 0);
    for (struct change *change = image->first; change; change = change->next) apply(image, change);
    forget_changes(image);
}

// The folder is synced: what was removed in it stays removed.
static void settle_folder(struct syncd_disk *disk) {
    for (struct image *image = disk->images; image; image = image->next) {
        struct change *removal = 0;
        for (struct change *change = image->first; change; change = change->next)
            if (change->count == -2) removal = change;
        while (removal) {
            struct change *change = image->first;
            apply(image, change);
            image->first = change->next;
            if (!image->first) image->last = 0;
            if (change == removal) removal = 0;
            free(change->bytes);
            free(change);
        }
    }
}

static void load(struct image *image) {
    int descriptor = open(image->path, O_RDONLY | O_CLOEXEC);
    image->size = -1;
    if (descriptor < 0) return;
    struct stat status;
    if (fstat(descriptor, &status) == 0) {
        resize(image, status.st_size);
        if (pread(descriptor, image->bytes, (size_t)status.st_size, 0) < 0) image->size = 0;
    }
    // Nobody has it open yet: closing it drops no lock.
    close(descriptor);
}

static struct syncd_disk *disk_of(const char *path) {
    for (struct syncd_disk *disk = disks; disk; disk = disk->next)
        if (path && strncmp(path, disk->folder, strlen(disk->folder)) == 0) return disk;
    return 0;
}

static struct image *image_of(struct syncd_disk *disk, const char *path) {
    for (struct image *image = disk->images; image; image = image->next)
        if (strcmp(image->path, path) == 0) return image;
    struct image *image = calloc(1, sizeof *image);
    image->path = strdup(path);
    load(image);
    image->next = disk->images;
    disk->images = image;
    return image;
}

static struct opened *find(sqlite3_file *file) {
    for (struct opened *opened = files; opened; opened = opened->next)
        if (opened->file == file) return opened;
    return 0;
}

static uint64_t next_random(struct syncd_disk *disk) {
    uint64_t word = disk->random += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

// The power has failed, or fails now: of the changes that are under way some reach the disk.
static int is_dead(struct syncd_disk *disk) {
    if (disk->is_dead) return 1;
    if (disk->die_at < 0 || disk->writes + disk->syncs < disk->die_at) return 0;
    disk->is_dead = 1;
    for (struct image *image = disk->images; image; image = image->next) {
        uint64_t kind = next_random(disk) % 3;
        // Nothing, all up to some write, or any of them.
        uint64_t count = 0, position = 0;
        for (struct change *change = image->first; change; change = change->next) count++;
        uint64_t end = kind == 1 && count ? next_random(disk) % (count + 1) : count;
        for (struct change *change = image->first; change; change = change->next, position++) {
            if (kind == 0 || position >= end) break;
            int is_lost = kind == 2 && next_random(disk) & 1;
            // What was written after a removal went to another file: where the removal is lost, the
            // name is that of the former file, and what it held is never mixed with the new one.
            if (is_lost && change->count == -2) break;
            if (!is_lost) apply(image, change);
        }
        forget_changes(image);
    }
    return 1;
}

// MARK: Methods

static int write_file(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    pthread_mutex_lock(&mutex);
    struct opened *opened = find(file);
    struct syncd_disk *disk = opened->disk;
    const sqlite3_io_methods *real = opened->real;
    int status = SQLITE_OK, is_full = 0;
    if (is_dead(disk)) {
        status = SQLITE_IOERR_WRITE;
    } else {
        is_full = disk->fill_at >= 0 && disk->writes >= disk->fill_at;
        disk->writes++;
        if (is_full) {
            count /= 2;
            status = SQLITE_FULL;
        }
        if (count > 0) note(opened->image, offset, count, bytes);
    }
    pthread_mutex_unlock(&mutex);
    if (status == SQLITE_OK) return real->xWrite(file, bytes, count, offset);
    if (is_full && count > 0) real->xWrite(file, bytes, count, offset);
    return status;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) {
    pthread_mutex_lock(&mutex);
    struct opened *opened = find(file);
    const sqlite3_io_methods *real = opened->real;
    int status = is_dead(opened->disk) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
    if (status == SQLITE_OK) {
        opened->disk->writes++;
        note(opened->image, size, -1, 0);
    }
    pthread_mutex_unlock(&mutex);
    return status == SQLITE_OK ? real->xTruncate(file, size) : status;
}

static int sync_file(sqlite3_file *file, int flags) {
    (void)flags;
    pthread_mutex_lock(&mutex);
    struct opened *opened = find(file);
    struct syncd_disk *disk = opened->disk;
    int status = SQLITE_OK;
    if (is_dead(disk) || (disk->fail_syncs_at >= 0 && disk->syncs >= disk->fail_syncs_at)) {
        status = SQLITE_IOERR_FSYNC;
    } else {
        // The real disk need not have it: only this one fails.
        settle(opened->image);
        if (opened->syncs_folder) settle_folder(disk);
        opened->syncs_folder = 0;
    }
    if (!disk->is_dead) disk->syncs++;
    pthread_mutex_unlock(&mutex);
    return status;
}

static int close_file(sqlite3_file *file) {
    pthread_mutex_lock(&mutex);
    const sqlite3_io_methods *real = 0;
    for (struct opened **place = &files; *place; place = &(*place)->next) {
        struct opened *opened = *place;
        if (opened->file != file) continue;
        real = opened->real;
        *place = opened->next;
        free(opened);
        break;
    }
    pthread_mutex_unlock(&mutex);
    file->pMethods = real;
    return real->xClose(file);
}

// Hints would have SQLite write past xWrite, or map the file.
static int control_file(sqlite3_file *file, int operation, void *argument) {
    if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_MMAP_SIZE) return SQLITE_OK;
    pthread_mutex_lock(&mutex);
    const sqlite3_io_methods *real = find(file)->real;
    pthread_mutex_unlock(&mutex);
    return real->xFileControl(file, operation, argument);
}

static const sqlite3_io_methods *table_for(const sqlite3_io_methods *real) {
    for (int index = 0; index < table_count; index++)
        if (tables[index].real == real) return &tables[index].ours;
    if (table_count == sizeof tables / sizeof *tables) return 0;
    sqlite3_io_methods ours = *real;
    ours.xWrite = write_file;
    ours.xTruncate = truncate_file;
    ours.xSync = sync_file;
    ours.xClose = close_file;
    ours.xFileControl = control_file;
    if (ours.iVersion > 2) ours.iVersion = 2;
    tables[table_count].real = real;
    tables[table_count].ours = ours;
    return &tables[table_count++].ours;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out) {
    pthread_mutex_lock(&mutex);
    struct syncd_disk *disk = disk_of(path);
    struct image *image = disk ? image_of(disk, path) : 0;
    int is_refused = disk && is_dead(disk);
    pthread_mutex_unlock(&mutex);
    if (is_refused) {
        file->pMethods = 0;
        return SQLITE_CANTOPEN;
    }
    int status = real_open(vfs, path, file, flags, out);
    if (!disk || status != SQLITE_OK || !file->pMethods) return status;
    pthread_mutex_lock(&mutex);
    const sqlite3_io_methods *ours = table_for(file->pMethods);
    if (ours) {
        struct opened *opened = calloc(1, sizeof *opened);
        opened->file = file;
        opened->real = file->pMethods;
        opened->disk = disk;
        opened->image = image;
        int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
        opened->syncs_folder = flags & SQLITE_OPEN_CREATE && flags & journals;
        opened->next = files;
        files = opened;
        file->pMethods = ours;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync_folder) {
    pthread_mutex_lock(&mutex);
    struct syncd_disk *disk = disk_of(path);
    int status = SQLITE_OK;
    if (disk && is_dead(disk)) {
        status = SQLITE_IOERR_DELETE;
    } else if (disk) {
        disk->writes++;
        struct image *image = image_of(disk, path);
        note(image, 0, -2, 0);
        if (sync_folder) settle_folder(disk);
    }
    pthread_mutex_unlock(&mutex);
    return status == SQLITE_OK ? real_delete(vfs, path, 0) : status;
}

// MARK: Disks

syncd_disk *syncd_disk_make(const char *folder) {
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs) return 0;
    struct syncd_disk *disk = calloc(1, sizeof *disk);
    disk->folder = strdup(folder);
    disk->fill_at = disk->fail_syncs_at = disk->die_at = -1;
    pthread_mutex_lock(&mutex);
    if (!real_open) {
        real_open = vfs->xOpen;
        real_delete = vfs->xDelete;
        vfs->xOpen = open_file;
        vfs->xDelete = delete_file;
    }
    disk->next = disks;
    disks = disk;
    pthread_mutex_unlock(&mutex);
    return disk;
}

void syncd_disk_free(syncd_disk *disk) {
    pthread_mutex_lock(&mutex);
    for (struct syncd_disk **place = &disks; *place; place = &(*place)->next) {
        if (*place != disk) continue;
        *place = disk->next;
        break;
    }
    pthread_mutex_unlock(&mutex);
    while (disk->images) {
        struct image *image = disk->images;
        disk->images = image->next;
        forget_changes(image);
        free(image->bytes);
        free(image->path);
        free(image);
    }
    free(disk->folder);
    free(disk);
}

void syncd_disk_fill(syncd_disk *disk, int64_t count) {
    pthread_mutex_lock(&mutex);
    disk->fill_at = count < 0 ? -1 : disk->writes + count;
    pthread_mutex_unlock(&mutex);
}

void syncd_disk_fail_syncs(syncd_disk *disk, int64_t count) {
    pthread_mutex_lock(&mutex);
    disk->fail_syncs_at = count < 0 ? -1 : disk->syncs + count;
    pthread_mutex_unlock(&mutex);
}

void syncd_disk_lose_power(syncd_disk *disk, int64_t count, uint64_t seed) {
    pthread_mutex_lock(&mutex);
    disk->random = seed;
    disk->die_at = count < 0 ? -1 : disk->writes + disk->syncs + count;
    pthread_mutex_unlock(&mutex);
}

int syncd_disk_is_dead(syncd_disk *disk) {
    pthread_mutex_lock(&mutex);
    int result = disk->is_dead;
    pthread_mutex_unlock(&mutex);
    return result;
}

static int put_back(struct image *image) {
    if (image->size < 0) {
        unlink(image->path);
        return 0;
    }
    // In place: the same inode, as a file has after a power failure.
    int descriptor = open(image->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) return -1;
    int64_t count = pwrite(descriptor, image->bytes, (size_t)image->size, 0);
    close(descriptor);
    return count == image->size ? 0 : -1;
}

int syncd_disk_restart(syncd_disk *disk) {
    pthread_mutex_lock(&mutex);
    int status = 0;
    // SQLite keeps the memory that the connections to a file share as long as one has it open.
    for (struct opened *opened = files; opened; opened = opened->next)
        if (opened->disk == disk) status = -1;
    for (struct image *image = disk->images; disk->is_dead && image; image = image->next) {
        if (put_back(image)) status = -1;
        // Memory that processes shared.
        char shared[4096];
        strncpy(shared, image->path, sizeof shared - 5);
        shared[sizeof shared - 5] = 0;
        unlink(strcat(shared, "-shm"));
    }
    disk->is_dead = 0;
    disk->fill_at = disk->fail_syncs_at = disk->die_at = -1;
    pthread_mutex_unlock(&mutex);
    return status;
}
