import Foundation
import Testing

/// The alert rules, as Prometheus reads them: `monitoring/alerts.yaml`, and its tests beside it.
@Suite(.timeLimit(.minutes(2))) struct AlertRuleTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL
    private static let folder = root.appending(path: "monitoring")

    private func names(in file: String, after key: String) throws -> [String] {
        let text = try String(contentsOf: Self.folder.appending(path: file), encoding: .utf8)
        return text.components(separatedBy: key).dropFirst().map {
            String($0.prefix { $0.isLetter })
        }
    }

    @Test func everyRuleHasTests_thatItFiresAndThatItDoesNot() throws {
        let rules = try names(in: "alerts.yaml", after: "- alert: ")
        #expect(rules.count == Set(rules).count && rules.count > 10)
        #expect(Set(try names(in: "alerts-test.yaml", after: "# ")).isSuperset(of: rules))
        #expect(Set(try names(in: "alerts-test.yaml", after: "        alertname: ")) == Set(rules))
        #expect(
            Set(try names(in: "alerts-test.yaml", after: "m, alertname: ")) == Set(rules))
    }

    @Test(arguments: [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts-test.yaml"]])
    func prometheusAgrees(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: try promtool())
        process.arguments = arguments
        process.currentDirectoryURL = Self.folder
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(
            decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
    }

    /// `make setup-tests` fetches it. Where it is missing the test is cancelled, and on a server that
    /// sets `CI` it fails.
    private func promtool() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let folders =
            [Self.root.appending(path: ".promtool").path]
            + (environment["PATH"] ?? "/usr/bin").split(separator: ":").map(String.init)
        for folder in folders {
            let path = folder + "/promtool"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        let reason = "there is no 'promtool': the alert rules were not checked (make setup-tests)"
        guard environment["CI"] == nil else { throw MissingTool(description: reason) }
        try Test.cancel("\(reason)")
    }

    struct MissingTool: Error, CustomStringConvertible {
        let description: String
    }
}
