/// The command that connects to a store on another machine.
enum SSHCommand {
    /// ssh never prompts, gives up on a host that does not answer, and ends 15 seconds after the
    /// connection has died.
    private static let options = [
        "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
    ]

    /// The program and its arguments.
    static func make(for address: SSHAddress, options: SSHOptions) -> [String] {
        var command = [options.program, "-T"]
        for option in Self.options { command += ["-o", option] }
        if let port = address.port { command += ["-p", String(port)] }
        if let user = address.user { command += ["-l", user] }
        command += ["--", address.hostOfSSH]
        // ssh passes this to the remote shell as one string.
        return command + ["exec \(quoted(options.synctool)) serve --stdio \(quoted(address.path))"]
    }

    /// A word that every shell (sh, csh, fish) reads literally.
    ///
    /// Quotes, backslashes and `!` are escaped outside of the quotes: csh expands history inside
    /// them.
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
