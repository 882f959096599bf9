import ArgumentParser
import CLinux
import Foundation
import Glibc
import Logging

/// `syncd worker`: what the daemon starts for the stores of another user (``Worker``). Not for
/// people: without the sockets that it inherits it does nothing. What the daemon is configured to
/// do is not for every user: it comes through a pipe, and not in the arguments, which `ps` shows.
struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker", abstract: "Serves the stores of one user, for the daemon.",
        shouldDisplay: false)

    @Option(help: "Whose stores it serves; shown by ps.")
    var owner: UInt32

    func run() async throws {
        _ = syncd_end_with_parent()
        for descriptor in WorkerSettings.descriptors {
            guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw ValidationError("only the daemon starts workers")
            }
        }
        let settings = try WorkerSettings.received()
        // The manager may send these to all processes of a unit, a terminal to all of a group: the
        // daemon decides. With handlers, not ignored: programs that are started do not inherit
        // them.
        for number in [SIGTERM, SIGINT, SIGHUP] { signal(number) { _ in } }
        Syncd.prepareProcess()
        let level = settings.configuration.logLevel
        LoggingSystem.bootstrap { _ -> any LogHandler in WorkerLog(logLevel: level) }
        let log = Logger(label: "syncd")
        let memory = settings.configuration.workers.memoryBytes
        let error = syncd_limit_memory(UInt64(clamping: memory))
        if error != 0 {
            log.warning("the memory is not limited: \(String(cString: strerror(error)))")
        }
        // When memory is short, one owner's stores go before everybody's.
        try? "300".write(toFile: "/proc/self/oom_score_adj", atomically: false, encoding: .utf8)
        try await Worker(settings: settings, log: log).run()
    }
}
