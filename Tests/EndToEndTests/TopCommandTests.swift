import Foundation
import SyncTesting
import Testing

/// `synctool top` on a terminal: a pseudo-terminal, as another program shows it.
@Suite("top on a terminal", .timeLimit(.minutes(5)))
struct TopCommandTests {
    /// Runs `top` in a terminal of 100 columns and 20 lines, waits for pictures, and ends it.
    /// Prints a line for each thing that was seen.
    private static let program = """
        import fcntl, os, pty, re, signal, struct, subprocess, sys, termios, time

        tool, database, ending = sys.argv[1:4]
        master, slave = pty.openpty()
        def resize(columns, lines):
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        resize(100, 20)
        before = termios.tcgetattr(slave)
        process = subprocess.Popen([tool, "top"], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                                   env=dict(os.environ, TERM="xterm"))
        os.set_blocking(master, False)
        text, limit = "", time.monotonic() + 60

        def read():
            global text
            try:
                text += os.read(master, 65536).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.02)

        def pictures():
            found = re.findall("\\x1b\\[H(.*?)\\x1b\\[J", text, re.S)
            return [re.sub("\\x1b\\[[0-9;]*[A-Za-z]|\\r", "", one).split("\\n") for one in found]

        def wait(condition, what):
            while not condition():
                if time.monotonic() > limit or process.poll() is not None:
                    sys.exit(f"never: {what}: {text!r} {process.poll()}")
                read()
            print(what, flush=True)

        def has(word):
            return lambda: any(word in line for line in (pictures() or [[""]])[-1])

        wait(has(database), "the store")
        assert "\\x1b[?1049h" in text, "the alternate screen"
        assert not termios.tcgetattr(slave)[3] & termios.ECHO, "keys are shown"
        count = len(pictures())
        wait(lambda: len(pictures()) > count + 1, "redrawn")
        assert max(len(line) for line in pictures()[-1]) <= 100
        resize(40, 6)
        count = len(pictures())
        wait(lambda: len(pictures()) > count + 1, "resized")
        last = pictures()[-1]
        assert len(last) <= 6 and max(len(line) for line in last) <= 40, last
        if ending == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            os.write(master, {"q": b"q", "interrupt": b"\\x03"}[ending])
        while process.poll() is None:
            if time.monotonic() > limit:
                process.kill()
                sys.exit("it does not end")
            read()
        for _ in range(10):
            read()
        assert text.endswith("\\x1b[?25h\\x1b[?1049l"), repr(text[-60:])
        assert termios.tcgetattr(slave) == before, "the terminal is not as before"
        print("ended", process.returncode)
        """

    @Test(arguments: [("q", 0), ("interrupt", 0), ("signal", 143)])
    func itIsRedrawn_andLeavesTheTerminalAsItWas(ending: String, status: Int) async throws {
        try await Scene.with { scene in
            let daemon = try await scene.startDaemon()
            do {
                try await scene.sql("a.db", "CREATE TABLE note(id INTEGER PRIMARY KEY)")
                try await scene.tool("track", "a.db").expectSuccess()
                let run = try await scene.start(
                    Binaries.plainPython, "-c", Self.program, Binaries.synctool, "a.db", ending
                ).output(within: .seconds(120))
                #expect(run.status == 0, "\(run.errors)")
                #expect(
                    run.text == "the store\nredrawn\nresized\nended \(status)\n",
                    "\(run.text) \(run.errors)")
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }
}
