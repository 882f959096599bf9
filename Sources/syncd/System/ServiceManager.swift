import CSystemd
import Glibc

/// The service manager that started the daemon, where there is one: systemd's notifications,
/// sockets and watchdog (sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3)). Without one every
/// call does nothing.
enum ServiceManager {
    /// A listening socket that was passed in.
    struct PassedSocket: Sendable {
        let descriptor: Int32
        /// `FileDescriptorName=` of its unit.
        let name: String
    }

    /// The sockets passed in. To be called once: it removes them from the environment, so that
    /// child processes do not take them for theirs.
    static func takeSockets() -> [PassedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).map { index in
            let name = names[index].map { String(cString: $0) } ?? ""
            free(names[index])
            return PassedSocket(
                descriptor: SD_LISTEN_FDS_START + Int32(index), name: name)
        }
    }

    /// How often the watchdog expects ``pingWatchdog()``; nil without a watchdog.
    static func watchdogInterval() -> Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// The daemon serves.
    static func ready(status: String) { notify("READY=1\nSTATUS=\(status)") }

    /// What `systemctl status` shows.
    static func status(_ text: String) { notify("STATUS=\(text)") }

    /// The daemon rereads the configuration; ``ready(status:)`` ends it.
    static func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)\nSTATUS=Reading the configuration")
    }

    /// The daemon is stopping.
    static func stopping() { notify("STOPPING=1\nSTATUS=Writing what is kept in memory") }

    /// The thread that calls this is alive.
    static func pingWatchdog() { notify("WATCHDOG=1") }

    private static func notify(_ state: String) { _ = sd_notify(0, state) }
}
