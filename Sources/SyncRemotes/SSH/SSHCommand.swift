/// The command that connects to a store on another machine.
enum SSHCommand {
    /// ssh never asks anybody, gives up on a host that does not answer, and notices a connection
    /// that died: it ends 15 seconds later.
    private static let options = [
        "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
    ]

    /// Program and arguments.
    static func make(
        user: String?, host: String, port: Int?, path: String, _ options: SSHOptions
    ) -> [String] {
        var command = [options.program, "-T"]
        for option in Self.options { command += ["-o", option] }
        if let port { command += ["-p", String(port)] }
        if let user { command += ["-l", user] }
        // An IPv6 address stands in brackets in a URL alone.
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        command += ["--", isBracketed ? String(host.dropFirst().dropLast()) : host]
        // ssh hands this to the other side's shell, as one text.
        return command + ["exec \(quoted(options.synctool)) serve --stdio \(quoted(path))"]
    }

    /// A word that every shell (sh, csh, fish) reads as it is.
    ///
    /// Quotes and backslashes stand outside of the quotes, `!` too: csh looks for history
    /// everywhere else.
    static func quoted(_ word: String) -> String {
        var text = ""
        var plain = ""
        func flush() {
            if !plain.isEmpty { text += "'" + plain + "'" }
            plain = ""
        }
        for character in word.unicodeScalars {
            if "'\\!".unicodeScalars.contains(character) {
                flush()
                text += "\\" + String(character)
            } else {
                plain.unicodeScalars.append(character)
            }
        }
        flush()
        return text.isEmpty ? "''" : text
    }
}
