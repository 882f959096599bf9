// The system's zstd. The functions used are stable since 1.4.
#include <zstd.h>
#include <zstd_errors.h>
