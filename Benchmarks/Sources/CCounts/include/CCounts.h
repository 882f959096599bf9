// Counts what a program asks of the Swift runtime: loaded before it (LD_PRELOAD), its calls come here
// first. The program finds these by dlsym: without them nothing is counted, and nothing is slower.
#ifndef CCOUNTS_H
#define CCOUNTS_H

#include <stdint.h>

// Objects that were allocated since the program began: instances, arrays, strings, closures.
int64_t swift_counts_allocations(void);

// References that were counted up since the program began.
int64_t swift_counts_retains(void);

#endif
