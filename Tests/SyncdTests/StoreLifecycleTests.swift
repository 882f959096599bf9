import Foundation
import SyncCore
import SyncTesting
import Testing

@testable import syncd

@Suite(.timeLimit(.minutes(1))) struct StoreLifecycleTests {
    private let directory: TemporaryFolder
    private let watcher: StoreWatcher

    init() throws {
        directory = try TemporaryFolder()
        watcher = try StoreWatcher()
    }

    private func opened(_ name: String, in life: inout StoreLifecycle) throws -> OpenedStore {
        let path = directory.file(name)
        if !FileManager.default.fileExists(atPath: path) {
            try sqlite3(path, "CREATE TABLE note(id INTEGER PRIMARY KEY)")
            _ = try Store.track(path, choosing: CaptureChoice())
        }
        let store = try Store.open(path)
        return OpenedStore(
            store: store, watcher: watcher, watch: watcher.add(path: path, index: nil) { _ in },
            generation: life.nextGeneration(),
            journal: BoundaryJournal(directory: directory.path, of: store))
    }

    /// Opens `name` as the caller who has the turn.
    private func open(
        _ name: String, in life: inout StoreLifecycle
    ) throws -> StoreLifecycle.Continuation? {
        _ = life.leave()
        let opened = try opened(name, in: &life)
        return life.finish(opened, end: try opened.store.head())
    }

    @Test func oneCallerHasTheTurn() throws {
        var life = StoreLifecycle()
        let turns = [life.beginOpening(), life.beginOpening()]
        #expect(turns == [true, false])
        #expect(try open("a.db", in: &life) == .first)
        let turnsAgain = [life.beginOpening(), life.beginOpening()]
        #expect(turnsAgain == [true, false])
    }

    @Test func anOpenStoreStaysInUseUntilItIsLeft() throws {
        var life = StoreLifecycle()
        _ = life.beginOpening()
        _ = try open("a.db", in: &life)
        _ = life.beginOpening()
        #expect(life.opened != nil && life.end != nil)
        guard case .left = life.leave() else {
            Issue.record("no store was left")
            return
        }
        #expect(life.opened == nil && life.end == nil)
    }

    @Test func aStoreContinuesTheOneBefore() throws {
        var life = StoreLifecycle()
        _ = life.beginOpening()
        #expect(try open("a.db", in: &life) == .first)
        _ = life.beginOpening()
        #expect(try open("a.db", in: &life) == .same(wasAbsent: false))
        _ = life.beginOpening()
        _ = life.leave()
        let wasOpen = life.fail(.missing)
        #expect(wasOpen)
        _ = life.beginOpening()
        let wasOpenAgain = life.fail(.missing)
        #expect(!wasOpenAgain)
        _ = life.beginOpening()
        #expect(try open("a.db", in: &life) == .same(wasAbsent: true))
        _ = life.beginOpening()
        #expect(try open("b.db", in: &life) == .other)
    }

    @Test func anAbandonedTurnChangesNothing() throws {
        var life = StoreLifecycle()
        _ = life.beginOpening()
        life.abandon()
        _ = life.beginOpening()
        _ = try open("a.db", in: &life)
        let generation = try #require(life.opened).generation
        _ = life.beginOpening()
        life.abandon()
        #expect(life.opened(of: generation) != nil)
        let mayBegin = life.beginOpening()
        #expect(mayBegin)
    }

    @Test func closedIsFinal() throws {
        var life = StoreLifecycle()
        _ = life.beginOpening()
        _ = life.leave()
        let late = try opened("a.db", in: &life)
        let open = life.close()
        #expect(open == nil)
        let result = life.finish(late, end: try late.store.head())
        #expect(result == nil)
        let wasOpen = life.fail(.missing)
        let mayBegin = life.beginOpening()
        #expect(!wasOpen && !mayBegin && life.opened == nil)
    }

    @Test func theEndOfHistoryBelongsToOneOpening() throws {
        var life = StoreLifecycle()
        _ = life.beginOpening()
        _ = try open("a.db", in: &life)
        let first = try #require(life.opened)
        try sqlite3(directory.file("a.db"), "INSERT INTO note VALUES (1)")
        let later = try first.store.head()
        life.loseEnd(generation: first.generation)
        guard case .unknown? = life.end else {
            Issue.record("the end is still known")
            return
        }
        let found = life.find(end: later, generation: first.generation)
        #expect(found && life.end == .known(later))
        _ = life.beginOpening()
        _ = try open("a.db", in: &life)
        life.loseEnd(generation: first.generation)
        let foundLate = life.find(end: later, generation: first.generation)
        #expect(!foundLate)
        guard case .known? = life.end else {
            Issue.record("an event of an earlier opening changed the end")
            return
        }
    }
}
