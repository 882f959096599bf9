// What Linux offers and the Glibc module does not: inotify, ppoll, peer credentials.
#ifndef SYNCD_CLINUX_H
#define SYNCD_CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>

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

#endif
