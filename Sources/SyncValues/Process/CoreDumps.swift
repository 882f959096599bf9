#if canImport(Glibc)
    import Glibc
#endif

/// Core dumps of a process that may have keys in its memory.
package enum CoreDumps {
    /// No core is written of this process, whatever the system's handler is: with a limit of one
    /// byte the kernel neither writes a file nor starts a program. A program that this process
    /// starts may raise the limit again.
    package static func disable() {
        var limit = rlimit()
        #if canImport(Glibc)
            guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
            limit.rlim_cur = min(1, limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        #endif
    }
}
