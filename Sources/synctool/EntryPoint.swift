import CLinux
import SyncCore
import SyncStorage

#if canImport(Glibc)
    import Glibc
#endif

/// Where `synctool` begins; the program that calls it is target `Programs`.
package enum EntryPoint {
    package static func main() async {
        // A reader that closes the pipe, as `head` does, is an error of write(), not a signal.
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.disable()
        syncd_limit_heap()
        DatabaseOpener.countNoMemory()
        DatabaseOpener.leaveSuperJournals()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let error = UnreadablePath.error(in: UnreadablePath.arguments) {
            let isJSON = ParsedCommand.wantsJSON(arguments)
            exit(Failure(command: "", isJSON: isJSON).report(error))
        }
        exit(await CommandRun.status(of: arguments))
    }
}
