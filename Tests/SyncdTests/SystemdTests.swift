import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct SystemdTests {
    /// `scripts/systemd-test.sh` boots a separate systemd; it exits with 77 where that is refused, and
    /// the test is then reported as skipped.
    @Test(.timeLimit(.minutes(5))) func startsActivatesReloadsAndRestartsUnderSystemd() throws {
        let ended = try run(
            "/bin/bash",
            [
                Programs.root.appendingPathComponent("scripts/systemd-test.sh").path,
                Programs.directory.path,
            ])
        if ended.status == 77 {
            let reason = ended.errors.trimmingCharacters(in: .whitespacesAndNewlines)
            try Test.cancel("systemd cannot be started here: \(reason)")
        }
        #expect(ended.status == 0, "\(ended.output)\n\(ended.errors)")
    }
}
