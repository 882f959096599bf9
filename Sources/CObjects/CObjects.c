#include "CObjects.h"

// Exported by libswiftCore: what the runtime itself loads weak references with.
void *swift_tryRetain(void *object);

void *syncd_try_retain(const void *object) { return swift_tryRetain((void *)object); }
