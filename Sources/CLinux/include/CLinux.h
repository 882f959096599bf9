// What Linux offers and the Glibc module does not: inotify, ppoll, peer credentials.
#ifndef SYNCD_CLINUX_H
#define SYNCD_CLINUX_H

// No _GNU_SOURCE here: with it glibc spells some types (fd_set) in another way than the modules that Swift has
// already read, and neither can be imported beside the other. What needs it stands in CLinux.c.
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/xattr.h>

// Credentials of the process at the other end of a Unix socket, as they were at connect().
struct syncd_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

// Fills `peer` from SO_PEERCRED. Returns 0, or errno.
int syncd_peer_credentials(int socket, struct syncd_peer *peer);

// Fills `groups` with the peer's supplementary groups (SO_PEERGROUPS, Linux 4.13). Returns their number,
// or -errno; ERANGE when `capacity` is too small.
int syncd_peer_groups(int socket, gid_t *groups, int capacity);

// Which file a path names: device, inode and time of birth (0 where the file system keeps none); and when it was
// last written, and its length.
struct syncd_file {
    uint64_t device;
    uint64_t inode;
    int64_t birth_seconds;
    int64_t write_seconds;
    uint64_t length;
    uint32_t birth_nanoseconds;
    uint32_t write_nanoseconds;
};

// Fills `file` without opening the file. Returns 0, or errno.
int syncd_identify(const char *path, struct syncd_file *file);

// Maps the first `length` bytes of a shared mapping a second time, without a file descriptor, so that the
// copy outlives the first. Returns NULL on failure.
void *syncd_share_mapping(const volatile void *address, size_t length);

// Unmaps what syncd_share_mapping() made.
void syncd_unshare_mapping(void *address, size_t length);

// Whether the file that is mapped at this address has no name any more; -1: it is not known.
int syncd_mapping_is_unlinked(const void *address);

// From now on SIGBUS does not end the process when it reads or writes memory of these mappings beyond the end of
// their file, which another user has truncated: the page is then memory of this process, full of zeros, until it is
// unmapped. Every other SIGBUS is handled as before. To be called once. Returns 0, or errno.
int syncd_survive_truncation(void);

// Adds a mapping to those, or removes it. Beyond 65,536 mappings nothing is added.
void syncd_guard_mapping(void *address, size_t length);
void syncd_forget_mapping(void *address);

// Whether a page of the guarded mapping at this address was replaced.
int syncd_mapping_is_truncated(const void *address);

// How many pages were replaced since the process began.
uint64_t syncd_truncated_pages(void);

// Where the calling thread's work is noted if the thread ends the process by a fault or a trap: this byte is written
// at this offset of the file. Below 0: nowhere.
struct syncd_crash_mark {
    int64_t offset;
    uint8_t byte;
};

// From now on that is done. To be called once, before syncd_survive_truncation(). Returns 0, or -1 and errno.
int syncd_note_crashes(void);

// The file, which stays open; -1: none.
void syncd_set_crash_file(int file);

// The mark of the calling thread from now on; returns the former one.
struct syncd_crash_mark syncd_set_crash_mark(struct syncd_crash_mark mark);

// ppoll(2) on one or more descriptors with a time-out in nanoseconds; below 0: none. Returns what ppoll returns.
int syncd_poll(struct pollfd *descriptors, int count, int64_t nanoseconds);

// write(2) that answers a closed pipe with EPIPE alone: no SIGPIPE, whatever the process does with it.
ssize_t syncd_write(int descriptor, const void *bytes, size_t count);

// pipe2(2) with O_CLOEXEC: a program that another thread starts meanwhile gets neither end. Returns 0, or errno.
int syncd_pipe(int ends[2]);

// The timer slack of the calling thread. Returns 0, or errno.
int syncd_set_timer_slack(unsigned long nanoseconds);

// A load that the compiler neither repeats, tears nor moves over the ones that follow it.
static inline uint32_t syncd_load_u32(const void *address) {
    return __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE);
}

// Sends an open descriptor over a Unix socket, with a note of `length` bytes, which is one packet. Does not wait.
// Returns 0, or errno.
int syncd_send_descriptor(int socket, int descriptor, const void *note, size_t length);

// Waits for such a packet, and puts its descriptor (close-on-exec; -1: none) and its note into place. Returns the
// length of the note, 0 when the other side has closed, -1 on an error.
ssize_t syncd_receive_descriptor(int socket, int *descriptor, void *note, size_t capacity);

// Two connected Unix sockets of this type, closed on exec, that do not block. Returns 0, or errno.
int syncd_socket_pair(int type, int ends[2]);

// Has a child process that is started with these actions (posix_spawn_file_actions_t) close all descriptors from
// `lowest` on. Returns 0, or errno.
int syncd_close_from(void *actions, int lowest);

// A descriptor that becomes readable when the child process ends; -1 and errno on failure.
int syncd_open_process(pid_t process);

// Has the kernel end this process (SIGKILL) when the thread that started it ends. Returns 0, or errno.
int syncd_end_with_parent(void);

// Limits the memory that this process may write to (RLIMIT_DATA; 0: no limit), and has it leave no core dump. Returns
// 0, or errno.
int syncd_limit_memory(uint64_t bytes);

// The value of an extended attribute of a file, links followed. Returns its length, or -1.
ssize_t syncd_get_attribute(const char *path, const char *name, void *value, size_t capacity);

// A descriptor that only names a file of a directory, or a symbolic link itself: O_PATH | O_NOFOLLOW | O_CLOEXEC,
// which needs _GNU_SOURCE. -1 and errno on failure.
int syncd_open_path(int directory, const char *name);

// Whether a file is in a /proc: its links lead elsewhere for each process, and some where no path does.
// 1 also where that cannot be found out.
int syncd_is_in_proc(int descriptor);

// Has malloc take blocks of a mebibyte and more from the system and return them at once, and keep no more than that
// at the end of each heap. Without it glibc learns from the first large block to keep up to 64 MiB for each thread,
// which malloc_trim does not return.
void syncd_limit_heap(void);

// Returns what malloc keeps for later to the system. Takes some milliseconds.
void syncd_trim_memory(void);

// The pages of this process in memory that are in no file, in bytes; 0 where /proc cannot be read.
uint64_t syncd_private_bytes(void);

// The processor time that this process has used.
uint64_t syncd_processor_nanoseconds(void);

#endif
