import Foundation
import GRDB
import SyncCore
import Testing

/// The Swift code of the pages is the code of `FiveMinutes.swift`, which is compiled and run here.
@Suite("Swift code in pages", .timeLimit(.minutes(3)))
struct FiveMinutesTests {
    private func run(
        _ body: (FiveMinutes, Workplace) async throws -> Void
    ) async throws -> [String] {
        let workplace = try Workplace()
        let output = Output()
        let path = workplace.path
        let code = FiveMinutes(path: path, output: output) { try Workplace.sql(path, $0) }
        try await body(code, workplace)
        return output.lines
    }

    @Test func historyIsRead() async throws {
        let lines = try await run { code, _ in try code.readHistory() }
        #expect(lines == ["1 update Album/348 [\"Title\"]"])
    }

    @Test func subscriptionSaysWhatHappensToHeldObjects() async throws {
        let lines = try await run { code, workplace in
            try await workplace.startDaemon()
            try await code.subscribe(socket: workplace.socket)
        }
        #expect(
            lines == [
                "at 0", "1 1", "Album/348 [\"Title\"]", "2 1",
                "Album/348 was deleted by an unknown author",
            ])
    }

    @Test func observationsSeeOtherProcesses() async throws {
        let lines = try await run { code, workplace in
            try await workplace.startDaemon()
            try await code.observe(socket: workplace.socket)
        }
        #expect(lines == ["counted"])
    }

    @Test func signaturesAreInTheHistory() async throws {
        let workplace = try Workplace()
        try Store.track(workplace.path)
        let code = FiveMinutes(path: workplace.path, output: Output()) { _ in }
        let database = try DatabaseQueue(path: workplace.path)
        try await code.sign(database)
        try database.close()
        let store = try Store.open(workplace.path)
        let transactions = try store.history()
        #expect(transactions.map(\.author) == ["editor"])
        #expect(transactions.map(\.context) == ["album window"])
        try store.close()
    }

    @Test func deletedObjectsAnswer() async throws {
        let workplace = try Workplace()
        let output = Output()
        let url = workplace.folder.appendingPathComponent("objects.db")
        let code = FiveMinutes(path: workplace.path, output: output) {
            try Workplace.sql(url.path, $0)
        }
        try await code.objects(at: url)
        #expect(output.lines == ["deleted: Load deleted"])
    }

    /// The blocks of code between `// page:` and `// end`, without their common indentation.
    private func blocks(of source: String) -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("// page:") {
                block = []
            } else if text == "// end", let lines = block {
                let indent =
                    lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
                blocks.append(
                    lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n"))
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }

    /// The blocks ```swift of a page, but for those that a manifest holds and imports alone.
    private func swiftBlocks(of page: String) -> [String] {
        page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }.filter { !$0.contains(".package(") }
            .map { block in
                block.split(separator: "\n", omittingEmptySubsequences: false)
                    .drop { $0.hasPrefix("import ") || $0.isEmpty }.joined(separator: "\n")
            }
            .filter { !$0.isEmpty }
    }

    private func text(_ name: String) throws -> String {
        try String(
            contentsOf: Workplace.root.appendingPathComponent(name), encoding: .utf8)
    }

    static let pages = ["README.md", "docs/swift-in-five-minutes.md", "docs/writers.md"]

    @Test(arguments: pages)
    func pagesShowTheCodeThatIsRun(page: String) throws {
        let run = Set(blocks(of: try text("Tests/DocumentationTests/FiveMinutes.swift")))
        let shown = swiftBlocks(of: try text(page))
        #expect(!shown.isEmpty)
        for block in shown {
            #expect(run.contains(block), "\(page) shows code that FiveMinutes.swift does not run")
        }
    }

    @Test func everyBlockIsShown() throws {
        let shown = try Self.pages.flatMap { swiftBlocks(of: try text($0)) }
        for block in blocks(of: try text("Tests/DocumentationTests/FiveMinutes.swift")) {
            #expect(shown.contains(block), "no page shows:\n\(block)")
        }
    }

    /// Each `.product(name:` that a page names is a product of the manifest.
    @Test func pagesNameProductsThatExist() throws {
        let manifest = try text("Package.swift")
        let names = try text("docs/swift-in-five-minutes.md").components(
            separatedBy: ".product(name: \""
        ).dropFirst()
            .compactMap { $0.components(separatedBy: "\"").first }
        #expect(!names.isEmpty)
        for name in names { #expect(manifest.contains(".library(name: \"\(name)\"")) }
    }
}
