#define _GNU_SOURCE 1
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int syncd_peer_credentials(int socket, struct syncd_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return errno;
    peer->pid = credentials.pid;
    peer->uid = credentials.uid;
    peer->gid = credentials.gid;
    return 0;
}

int syncd_peer_groups(int socket, gid_t *groups, int capacity) {
    socklen_t length = (socklen_t)(capacity * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length) != 0) return -errno;
    return (int)(length / sizeof(gid_t));
}

int syncd_identify(const char *path, struct syncd_file *file) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) {
        return errno;
    }
    file->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    file->inode = status.stx_ino;
    int known = (status.stx_mask & STATX_BTIME) != 0;
    file->birth_seconds = known ? status.stx_btime.tv_sec : 0;
    file->birth_nanoseconds = known ? status.stx_btime.tv_nsec : 0;
    file->write_seconds = status.stx_mtime.tv_sec;
    file->write_nanoseconds = status.stx_mtime.tv_nsec;
    file->length = status.stx_size;
    return 0;
}

void *syncd_share_mapping(const volatile void *address, size_t length) {
    void *copy = mremap((void *)address, 0, length, MREMAP_MAYMOVE);
    if (copy == MAP_FAILED) return NULL;
    syncd_guard_mapping(copy, length);
    return copy;
}

void syncd_unshare_mapping(void *address, size_t length) {
    syncd_forget_mapping(address);
    munmap(address, length);
}

int syncd_mapping_is_unlinked(const void *address) {
    static const char mark[] = " (deleted)\n";
    FILE *maps = address ? fopen("/proc/self/maps", "re") : NULL;
    if (!maps) return -1;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int result = -1;
    while (result < 0 && (length = getline(&line, &size, maps)) > 0) {
        uintptr_t begin, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
        if ((uintptr_t)address < begin || (uintptr_t)address >= end) continue;
        ssize_t rest = length - (ssize_t)strlen(mark);
        result = rest > 0 && strcmp(line + rest, mark) == 0;
    }
    free(line);
    fclose(maps);
    return result;
}

ssize_t syncd_write(int descriptor, const void *bytes, size_t count) {
    sigset_t pipe, blocked, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    // One that waits already is not ours to take.
    sigpending(&pending);
    int is_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &blocked);
    ssize_t written = write(descriptor, bytes, count);
    int error = errno;
    if (written < 0 && error == EPIPE && !is_pending) {
        struct timespec none = {0, 0};
        while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    errno = error;
    return written;
}

int syncd_set_timer_slack(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0) == 0 ? 0 : errno;
}

int syncd_poll(struct pollfd *descriptors, int count, int64_t nanoseconds) {
    struct timespec wait = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    return ppoll(descriptors, (nfds_t)count, nanoseconds < 0 ? NULL : &wait, NULL);
}

ssize_t syncd_get_attribute(const char *path, const char *name, void *value, size_t capacity) {
    return getxattr(path, name, value, capacity);
}

int syncd_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
}

int syncd_open_path(int directory, const char *name) {
    return openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int syncd_is_in_proc(int descriptor) {
    struct statfs system;
    return fstatfs(descriptor, &system) != 0 || system.f_type == PROC_SUPER_MAGIC;
}

int syncd_send_descriptor(int socket, int descriptor, const void *note, size_t length) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {.iov_base = (void *)note, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

ssize_t syncd_receive_descriptor(int socket, int *descriptor, void *note, size_t capacity) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {.iov_base = note, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    *descriptor = -1;
    ssize_t count;
    do {
        count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len >= CMSG_LEN(sizeof(int))) {
            memcpy(descriptor, CMSG_DATA(header), sizeof(int));
        }
    }
    return count;
}

int syncd_socket_pair(int type, int ends[2]) {
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0 ? 0 : errno;
}

int syncd_close_from(void *actions, int lowest) { return posix_spawn_file_actions_addclosefrom_np(actions, lowest); }

int syncd_open_process(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int syncd_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 ? 0 : errno; }

int syncd_limit_memory(uint64_t bytes) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return errno;
    if (bytes == 0) return 0;
    struct rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_DATA, &limit) == 0 ? 0 : errno;
}

void syncd_limit_heap(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void syncd_trim_memory(void) { malloc_trim(0); }

uint64_t syncd_private_bytes(void) {
    char text[128];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    unsigned long long size = 0, resident = 0, in_files = 0;
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &in_files) != 3) return 0;
    return (uint64_t)(resident - in_files) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t syncd_processor_nanoseconds(void) {
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
