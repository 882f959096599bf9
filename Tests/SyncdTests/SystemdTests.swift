import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct SystemdTests {
    /// `scripts/systemd-test.sh` boots a systemd of its own; it ends with 77 where that is refused.
    @Test(.timeLimit(.minutes(5))) func startsActivatesReloadsAndRestartsUnderSystemd() throws {
        let ended = try run(
            "/bin/bash",
            [
                Programs.root.appendingPathComponent("scripts/systemd-test.sh").path,
                Programs.directory.path,
            ])
        if ended.status == 77 {
            print("systemd: \(ended.errors.trimmingCharacters(in: .whitespacesAndNewlines))")
            return
        }
        #expect(ended.status == 0, "\(ended.output)\n\(ended.errors)")
    }
}
