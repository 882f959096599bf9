import ArgumentParser
import Foundation
import SyncMerge
import SyncRemotes

/// Where key packets, passphrases and the user's identity are read from.
struct KeyInput: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the passphrase from the first line of this file (default: prompt for it).",
            valueName: "file"), completion: .file())
    var passphraseFile: String?

    /// The path of the user's key pair.
    static var identityPath: String {
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? NSHomeDirectory()
        let config = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        return (config ?? home + "/.config") + "/syncd/identity"
    }

    /// Opens a packet from a file, or from the standard input (`-`).
    /// - Throws: `noSuchFile`; as ``KeyPacket/open(_:with:)``.
    func ring(from file: String) throws -> (store: StoreID, ring: KeyRing) {
        let text = try Self.text(file)
        let wantsPassphrase: Bool
        do {
            wantsPassphrase = try KeyPacket.peek(text).wantsPassphrase
        } catch var error as SyncError {
            // Not that of the database which the key is for.
            error.path = file
            throw error
        }
        guard wantsPassphrase else {
            let identity = try Identity.atPath(Self.identityPath)
            return try KeyPacket.open(text, with: .identity(identity))
        }
        return try KeyPacket.open(text, with: .passphrase(try passphrase(twice: false)))
    }

    /// The passphrase, from the file or from a prompt.
    /// - Parameter twice: whether the prompt is repeated, to catch typing errors.
    /// - Throws: `invalidArgument` without a terminal, or when the two differ; `noSuchFile`.
    func passphrase(twice: Bool) throws -> String {
        if let passphraseFile {
            let text = try Self.text(passphraseFile)
            return text.split(separator: "\n", maxSplits: 1).first.map(String.init) ?? ""
        }
        // Without a terminal getpass() would read the standard input.
        guard Self.hasTerminal,
            let first = getpass("Passphrase: ").map({ String(cString: $0) })
        else {
            throw SyncError(
                .invalidArgument, "there is no terminal to prompt for the passphrase",
                hint: "Write it to a file and add: --passphrase-file FILE")
        }
        if twice {
            let second = getpass("Repeat the passphrase: ").map { String(cString: $0) }
            guard first == second else {
                throw SyncError(.invalidArgument, "the two passphrases differ", hint: "Try again")
            }
        }
        return first
    }

    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }

    private static func text(_ file: String) throws -> String {
        let descriptor = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw SyncError(
                .noSuchFile, "cannot read the file: \(String(cString: strerror(errno)))",
                path: file, hint: "Check the path and its permissions: ls -l \(Shell.quoted(file))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            let data = try handle.read(upToCount: KeyPacket.textBytesMax + 1)
            return String(decoding: data ?? Data(), as: UTF8.self)
        } catch {
            throw SyncError(
                .noSuchFile, "cannot read the file", path: file,
                hint: "Name a file that has the text: ls -l \(Shell.quoted(file))")
        }
    }
}
