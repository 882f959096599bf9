#ifndef SYNCD_CSYSTEMD_H
#define SYNCD_CSYSTEMD_H
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#endif
