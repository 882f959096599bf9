// What the object layer needs of Swift's runtime and cannot say in Swift.
#ifndef SYNCD_COBJECTS_H
#define SYNCD_COBJECTS_H

// Takes a strong reference to a Swift object, as `swift_retain` does, unless nobody owns it any more:
// then NULL. The memory must still be there, that is, its `deinit` must not have ended.
void *_Nullable syncd_try_retain(const void *_Nonnull object);

#endif
