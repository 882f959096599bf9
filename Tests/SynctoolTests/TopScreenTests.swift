import SyncClient
import SyncReplica
import Testing

@testable import synctool

/// `synctool top`: what one picture shows.
@Suite struct TopScreenTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func store(_ path: String, number: Int64, notices: Int64 = 0) throws -> StoreOverview {
        let token = try Token("1.98cae9c923b24d1b1048cb1dfbb607e1.1.\(number).0")
        var store = StoreOverview(
            store: StoreSummary(
                path: path, state: .open, id: nil, replica: nil, head: token, subscribers: 3,
                error: nil), databaseBytes: 1, walBytes: 0)
        store.traffic.notices = notices
        if notices > 0 { store.traffic.latency.note(.microseconds(400), count: notices) }
        return store
    }

    private func overview(_ stores: StoreOverview...) -> DaemonOverview {
        DaemonOverview(
            process: .init(
                version: "1.2", started: now, clients: 4, dropped: 0, refused: 0, workers: 0,
                memoryBytes: 12_000_000), stores: stores)
    }

    @Test func whatDoesMostIsFirstAndFitsInEightyColumns() throws {
        let long = "/srv/" + String(repeating: "a very long folder/", count: 8) + "end.db"
        let before = try overview(store("/srv/quiet.db", number: 5), store(long, number: 100))
        var busy = try store(long, number: 350, notices: 500)
        var remote = RemoteStatus(
            name: "origin", url: "dir:/x", state: .idle, lastSync: nil,
            behindSince: Timestamp(milliseconds: now.milliseconds - 200_000), error: nil)
        remote.behind = 14
        busy.remotes = [remote]
        let after = try overview(store("/srv/quiet.db", number: 5), busy)
        let screen = TopScreen(after, after: before, elapsed: .seconds(2), now: now)
        let lines = screen.lines(width: 80, height: 24)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
        #expect(
            lines[0]
                == "syncd 1.2, 2 of 2 stores open, 4 clients, 125 commits/s, 250 notices/s, 12 MB")
        #expect(lines[3].hasPrefix("     125      250    0.4ms    3       14 tx 3m     0  …"))
        #expect(lines[3].hasSuffix("/end.db"))
        #expect(lines[4].hasSuffix("/srv/quiet.db"))
    }

    @Test(arguments: [10, 17, 25, 40, 60, 79])
    func narrowWindowsShowTheStoreAndTheColumnsThatFit(width: Int) throws {
        let whole = overview(try store("/srv/a/long/path/music.db", number: 1))
        let lines = TopScreen(whole, after: nil, elapsed: .seconds(1), now: now)
            .lines(width: width, height: nil)
        for line in lines { #expect(line.count <= width, "\(line)") }
        #expect(lines.last?.hasSuffix("music.db") == true, "\(lines)")
        #expect(lines[2].hasSuffix("STORE"), "\(lines)")
        #expect(lines[2].contains("COMMIT/S") == (width >= 26), "\(lines)")
    }

    @Test func moreStoresThanLinesAreCounted() throws {
        var stores = try (0..<30).map { try store("/srv/\($0).db", number: 1) }
        stores.append(
            StoreOverview(
                store: StoreSummary(
                    path: "/srv/gone.db", state: .missing, id: nil, replica: nil, head: nil,
                    subscribers: 0, error: nil), databaseBytes: 0, walBytes: 0))
        let whole = DaemonOverview(process: overview().process, stores: stores)
        let screen = TopScreen(whole, after: nil, elapsed: .seconds(1), now: now)
        let lines = screen.lines(width: 80, height: 10)
        #expect(lines.count == 10 && lines.last == "and 25 more")
        let all = screen.lines(width: 80, height: nil)
        #expect(all.count == 34)
        #expect(all.contains { $0.contains("missing") && $0.hasSuffix("/srv/gone.db") })
    }
}
