import Glibc

/// Keys of a terminal, one by one, without being shown. The terminal is as before when this is
/// released; Ctrl-C is a key.
final class KeyPress: Sendable {
    private let former: termios

    /// Nil where standard input is no terminal.
    init?() {
        var former = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &former) == 0 else { return nil }
        var raw = former
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 else { return nil }
        self.former = former
    }

    deinit { restore() }

    /// The terminal is as before: for a process that ends without releasing anything.
    func restore() {
        var former = former
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }

    /// Waits for a key; nil when none came in time.
    func next(within milliseconds: Int32) -> UInt8? {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, milliseconds) > 0 else { return nil }
        var key: UInt8 = 0
        // The end of the input ends the program, as q does.
        return read(STDIN_FILENO, &key, 1) == 1 ? key : UInt8(ascii: "q")
    }
}
