import Glibc
import SyncClient
import syncd
import synctool

/// The one file that is installed as `syncd`, with `synctool` as a link to it: the name by which it
/// is called decides. Two programs would carry the same libraries twice.
@main
enum Programs {
    static func main() async {
        let called = CommandLine.arguments.first ?? ""
        switch Program(calledAs: called) {
        case .daemon: await syncd.EntryPoint.main()
        case .tool: await synctool.EntryPoint.main()
        case nil:
            let message =
                "\(called): this program is syncd, or synctool, by the name of its file. "
                + "Give it one of these names, or make a link: ln -s \(called) synctool\n"
            _ = message.withCString { write(STDERR_FILENO, $0, strlen($0)) }
            exit(64)
        }
    }
}
