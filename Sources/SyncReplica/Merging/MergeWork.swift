import CSQLite
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// One write transaction of merging: what was committed is stated, batches are joined, the tables
/// become the view, history and conflicts are told.
///
/// Invariant: after each step the tables are the image of the view of the stored state.
final class MergeWork {
    let session: MergeSession
    let prepared: MergeSession.Prepared
    private var clock: HybridClock
    private var place: Int64
    /// The places of the transactions that were appended by this work.
    private var places: [Dot: Int64] = [:]

    /// Rounds in which a region grows. More would mean that half of the store hangs together, round
    /// by round: then the whole is computed.
    private static let roundsMax = 20

    var schema: ReplicaSchema { prepared.schema }

    init(_ session: MergeSession, _ prepared: MergeSession.Prepared) throws {
        self.session = session
        self.prepared = prepared
        prepared.objects.begin()
        try prepared.history.digest(try session.environment.boundaries())
        let last = try prepared.history.settings.integer(.clock)
        clock = HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: last)))
        place = try prepared.headers.newestPlace()
    }

    // MARK: Local transactions

    /// States what writers have committed since the last time.
    func stateLocal() throws {
        let settings = prepared.history.settings
        let isFirst = try settings.value(.stated) == .null
        let entries = try prepared.tail.entries(after: try settings.position(.stated))
            .filter(\.isLocal)
        guard isFirst || !entries.isEmpty else { return }
        var headers = try self.headers(of: entries)
        if isFirst { headers.append(try headerOfTheBeginning(after: headers.last)) }
        guard let last = headers.last else { return }
        let salt = try FormerReplicas(settings.value(.former), present: session.identity.replica)
        let statement = LocalStatement(
            entries: entries, headers: headers, last: last, schema: schema,
            identity: session.identity, salt: salt,
            joined: isFirst ? try JoinedNames(session.connection, schema) : nil)
        let outcome: LocalStatement.Outcome
        if isFirst {
            let region = try RegionLoader.whole(prepared)
            outcome = try statement.stated(on: region, View(region.state))
        } else {
            outcome = try state(statement, try RegionLoader(prepared))
        }
        for transaction in statement.transactions(outcome, isFirst: isFirst) {
            try append(transaction)
        }
        if isFirst { try JoinedNames.drop(session.connection) }
        try settings.set(.stated, .integer(prepared.history.head))
        try adopt(outcome.region, outcome.recorded.state, outcome.recorded.view, outcome.keys)
        try verify("stating local transactions")
    }

    /// States on a region that grows until it holds all that the statement needs.
    private func state(
        _ statement: LocalStatement, _ loader: RegionLoader
    ) throws -> LocalStatement.Outcome {
        let touched = statement.touchedKeys
        try loader.add(keys: touched)
        _ = try loader.addTargets(ofRows: touched)
        for key in touched.sorted(by: { $0.precedes($1) })
        where loader.region.rows[key] == nil && loader.region.names[key] != nil {
            _ = try loader.addReferrers(of: key)
        }
        for _ in 0..<Self.roundsMax {
            let region = loader.region
            let before = View(region.state)
            let outcome = try statement.stated(on: region, before)
            // An identity that was given may have been used before.
            var isNew = try loader.add(
                outcome.recorded.names.values.filter { region.objects[$0] == nil }.sorted())
            let image = try self.image(outcome.recorded.view, region)
            isNew =
                try loader.complete(outcome.recorded.state, outcome.recorded.view, image) || isNew
            isNew =
                try loader.addTargets(
                    ofRows: loader.region.names.keys.filter {
                        !(loader.region.names[$0].map(loader.region.state.boundaryRows.contains)
                            ?? true)
                    }.sorted { $0.precedes($1) }) || isNew
            if !isNew {
                try requireSpelt(image)
                return outcome
            }
        }
        let region = try RegionLoader.whole(prepared)
        return try statement.stated(on: region, View(region.state))
    }

    private func headers(of entries: [HistoryTail.Entry]) throws -> [TransactionHeader] {
        var seen = try prepared.headers.vector()
        return entries.map { entry in
            let header = TransactionHeader(
                Dot(session.identity.replica, entry.number),
                time: clock.reading(wall: entry.time.milliseconds), seen: seen)
            seen.advance(to: header.dot)
            return header
        }
    }

    /// The rows that no transaction tells of were there before history: they are as old as the
    /// store.
    private func headerOfTheBeginning(after last: TransactionHeader?) throws -> TransactionHeader {
        let number = prepared.history.allocate(1).upperBound
        var seen = try prepared.headers.vector()
        if let last { seen.advance(to: last.dot) }
        let created = try prepared.history.settings.integer(.created)
        return TransactionHeader(
            Dot(session.identity.replica, number), time: HybridTime(milliseconds: created),
            seen: seen)
    }

    // MARK: Merging

    /// Joins what a batch tells and shows it.
    /// - Returns: false when it starts after what is here.
    func merge(_ batch: Batch) throws -> Bool {
        var (delta, unknown) = batch.resolved(in: schema.merge)
        delta = delta.adding(batch.defaults(in: schema.merge))
        let merged = try prepared.headers.vector()
        guard merged.covers(delta.since) else { return false }
        try requireOwn(batch, merged)
        let fresh = batch.transactions.filter { !merged.covers($0.header.dot) }
        let gone = try self.gone(by: batch, merged)
        guard !fresh.isEmpty || !gone.isEmpty else {
            try passGaps(of: batch, merged)
            return true
        }
        // Before the transactions are appended: their facts are not known yet.
        let loader = try RegionLoader(prepared)
        let changes = try ArrivingChanges(batch, schema.merge, prepared.shapes)
        for transaction in fresh {
            _ = clock.observe(
                transaction.header.time, wall: session.environment.wall(),
                driftMax: session.environment.driftMax)
            try append(transaction.header, changes.details(transaction))
        }
        var uids: Set<ObjectUID> = []
        for fact in delta.facts where !merged.covers(fact.dot) {
            switch fact {
            case .alias(let first, let second, _): uids.formUnion([first, second])
            case .life(let uid, _, _), .cell(let uid, _, _, _): uids.insert(uid)
            }
        }
        uids.formUnion(gone.keys)
        try loader.add(uids.sorted())
        for fact in unknown where !merged.covers(fact.dot) {
            let number = fact.object.flatMap { batch.extras.numbers[$0] }
            try prepared.unknown.write(fact, batch.entities, number: number)
            // What is dead here may be alive where the fact has a place.
            try prepared.marks.void(fact.named)
        }
        let shown = fresh.map(changes.shown)
        try show(loader, transactions: shown, hints: batch.extras.numbers) { state in
            for (uid, record) in gone { state.objects[uid] = record }
            guard state.merge(delta) else {
                throw SyncError(.internalFault, "a batch that fits does not fit its region")
            }
        }
        try forget(gone.keys)
        try passGaps(of: batch, merged)
        return true
    }

    /// Shows the whole store anew: its view has become another one.
    func showAll() throws {
        try show(try RegionLoader.everything(prepared), transactions: []) { _ in }
    }

    /// Joins what had no place in the schema before, and has one now.
    func adoptUnknown() throws {
        let (taken, hints) = try prepared.unknown.take { self.schema.merge.place(of: $0) }
        guard !taken.isEmpty else { return }
        let facts = taken + schema.merge.defaults(of: taken, besides: try prepared.unknown.all())
        let loader = try RegionLoader(prepared)
        try loader.add(facts.compactMap(\.object))
        for dot in Set(facts.map(\.dot)) {
            try loader.rememberHeader(dot)
            // Who lacks the transaction is to get these facts with it.
            places[dot] = try prepared.headers.place(of: dot)
        }
        try show(loader, transactions: [], hints: hints) { state in
            for fact in facts { state.insert(fact) }
        }
        try logOverwritten(taken)
    }

    /// What was written here while a fact waited has overwritten it by the rules: this replica had
    /// merged its transaction. But its writer could not see it, so that the log must have it.
    private func logOverwritten(_ taken: [Fact]) throws {
        let facts = Dictionary(grouping: taken) { $0.object }
        for case .cell(let uid, let entity, let cell, let version) in taken {
            guard let object = try prepared.objects.object(uid) else { continue }
            let dots = object.record.cells[cell].map(\.dot)
            if dots.contains(version.dot) { continue }
            let rivals = (facts[uid] ?? []).compactMap { fact -> Dot? in
                guard case .cell(_, _, cell, let other) = fact else { return nil }
                return other.dot
            }
            func hasSeen(_ later: Dot) throws -> Bool {
                guard later != version.dot, let header = try prepared.headers.header(later) else {
                    return false
                }
                return header.seen.covers(version.dot)
            }
            guard try !rivals.contains(where: hasSeen),
                let met = try dots.first(where: {
                    try $0.replica == session.identity.replica && hasSeen($0)
                })
            else { continue }
            let shown = object.record.cells[cell].first { $0.dot == met }
            if shown?.value == version.value { continue }
            try prepared.conflicts.remember(
                VersionID(uid, cell: cell, dot: version.dot), version.value, of: entity,
                schema.merge,
                key: object.key, met: met, number: prepared.history.head)
        }
    }

    /// Writes the view of a state with more facts into the tables and tells history.
    private func show(
        _ loader: RegionLoader, transactions: [Batch.Transaction],
        hints: [ObjectUID: Int64] = [:], _ join: (inout MergeState) throws -> Void
    ) throws {
        var state = loader.region.state
        try join(&state)
        var shown = View(state)
        var image = try self.image(shown, loader.region, hints)
        var rounds = 0
        while try loader.complete(state, shown, image) {
            rounds += 1
            guard rounds < Self.roundsMax else {
                throw SyncError(.internalFault, "the region of a merge does not end")
            }
            state = loader.region.state
            try join(&state)
            shown = View(state)
            image = try self.image(shown, loader.region, hints)
        }
        try requireSpelt(image)
        let region = loader.region
        let differences = TableWriter.differences(from: region.rows, to: image.rows)
        try TableWriter(schema.tables, prepared.statements, prepared.triggers).write(differences)
        let before = Self.keys(region.names)
        let after = Self.keys(image.names)
        lazy var view = View(region.state)
        try MergedHistory(
            schema, prepared.history, replica: session.identity.replica,
            wall: session.environment.wall(),
            before: { uid in
                // A plain row stands for one object; of one that is new there was no row.
                guard let object = region.objects[uid] else { return nil }
                if object.state == .plain { return before[uid] }
                return view.shownAs[uid].flatMap { before[$0] }
            },
            after: { shown.shownAs[$0].flatMap { after[$0] } }
        ).write(transactions, differences)
        try adopt(region, state, shown, after)
        try verify("a merge")
    }

    /// Rather no merge than a reference that is lost.
    private func requireSpelt(_ image: TableImage) throws {
        guard let name = image.unspelt.min() else { return }
        throw SyncError(.internalFault, "\(name) refers to an object that is not shown")
    }

    private static func keys(_ names: [RowKey: ObjectUID]) -> [ObjectUID: [Value]] {
        var keys: [ObjectUID: [Value]] = [:]
        for (key, name) in names { keys[name] = key.values }
        return keys
    }

    func image(
        _ view: View, _ region: AffectedRegion, _ hints: [ObjectUID: Int64] = [:]
    ) throws -> TableImage {
        try TableImage(
            view, schema.merge, before: region.names, numbering(region, hints),
            isAround: region.state.boundaryRows.contains, held: region.row(of:))
    }

    private func numbering(
        _ region: AffectedRegion, _ hints: [ObjectUID: Int64]
    ) -> TableImage.Numbering {
        TableImage.Numbering(
            known: { region.objects[$0]?.number },
            hint: { hints[$0] },
            isTaken: { entity, number, uid in
                let key = RowKey(entity: entity, [.integer(number)])
                if let holder = try self.prepared.objects.uid(of: key) { return holder != uid }
                let holder = try self.prepared.objects.holder(ofNumber: number, entity)
                return holder.map { $0 != uid } ?? false
            },
            greatest: { entity in
                let select = try self.prepared.statements.statement(
                    self.schema.tables[entity].greatestNumber)
                defer { select.reset() }
                let shown = try select.step() ? select.integer(0) : 0
                return try max(0, shown, self.prepared.objects.greatestNumber(of: entity))
            })
    }

    // MARK: Conflicts

    /// States facts in the name of a person, and shows what becomes of them.
    /// - Parameters:
    ///   - objects: what it is about, beside all that is unresolved.
    ///   - body: states them; gets the view as it is.
    func speak(
        of objects: [ObjectUID], author: String?, context: String?,
        _ body: (inout FactRecorder, View) throws -> Void
    ) throws {
        let number = prepared.history.allocate(1).upperBound
        let dot = Dot(session.identity.replica, number)
        let time = clock.reading(wall: session.environment.wall())
        let loader = try RegionLoader(prepared)
        try loader.add(objects)
        let region = try completed(loader)
        var recorder = FactRecorder(region.state, dot: dot, time: time)
        try body(&recorder, View(region.state))
        try show(recorder, loader, author: author, context: context)
    }

    private func show(
        _ recorder: FactRecorder, _ loader: RegionLoader, author: String?, context: String?
    ) throws {
        var transaction = Batch.Transaction(recorder.header, author: author, context: context)
        transaction.changes = recorder.changes
        try append(transaction)
        try show(loader, transactions: [transaction]) { state in
            state.insert(recorder.header)
            for fact in recorder.facts { state.insert(fact) }
        }
    }

    /// The region of all that is unresolved, with what stands around it.
    private func completed(_ loader: RegionLoader) throws -> AffectedRegion {
        for _ in 0..<Self.roundsMax {
            let view = View(loader.region.state)
            let image = try self.image(view, loader.region)
            if try !loader.complete(loader.region.state, view, image) { return loader.region }
        }
        throw SyncError(.internalFault, "the region of the conflicts does not end")
    }

    /// What is current and not shown.
    func openConflicts() throws -> [VersionID: Conflict] {
        let loader = try RegionLoader(prepared)
        try loader.add(try disputed())
        return View(try completed(loader).state).conflicts
    }

    private func disputed() throws -> [ObjectUID] {
        Set(try prepared.conflicts.open().map(\.object)).sorted()
    }

    /// Turns every open repair into facts; the tables do not change.
    func close(author: String?) throws {
        let number = prepared.history.allocate(1).upperBound
        let dot = Dot(session.identity.replica, number)
        let time = clock.reading(wall: session.environment.wall())
        let region = try RegionLoader.whole(prepared)
        let view = View(region.state)
        let closed = try region.state.close(
            view: view, names: region.names, dot: dot, time: time)
        let transaction = Batch.Transaction(closed.header, author: author, context: "settle")
        try append(transaction)
        let image = try self.image(closed.view, region)
        guard image.rows == region.rows else {
            throw SyncError(.internalFault, "settling would change the tables")
        }
        let history = MergedHistory(
            schema, prepared.history, replica: session.identity.replica,
            wall: session.environment.wall(), before: { _ in nil }, after: { _ in nil })
        try history.write([transaction], [:])
        try adopt(region, closed.state, closed.view, Self.keys(image.names))
        // What was lost to something newer is no repair: it ends when somebody who saw it writes.
        guard !closed.view.conflicts.isEmpty else { return }
        try speak(of: try disputed(), author: author, context: "settle") { recorder, view in
            var view = view
            for _ in 0..<CommitFixpoint.checksMax where !view.conflicts.isEmpty {
                for id in view.conflicts.keys.sorted() { recorder.accept(id, view) }
                view = View(recorder.state)
            }
        }
    }

    // MARK: Storing

    private func append(_ transaction: Batch.Transaction) throws {
        let details = HeaderDetails.encode(transaction) { self.prepared.shapes.number(of: $0) }
        try append(transaction.header, details)
    }

    private func append(_ header: TransactionHeader, _ details: [UInt8]) throws {
        place += 1
        places[header.dot] = place
        try prepared.headers.append(header, place: place, details: details)
    }

    /// Stores what has changed of a region, and how its objects stand in the tables.
    private func adopt(
        _ region: AffectedRegion, _ state: MergeState, _ shown: View, _ keys: [ObjectUID: [Value]]
    ) throws {
        var written: [(ObjectUID, StoredObject)] = []
        for (uid, record) in state.objects {
            var object =
                region.objects[uid]
                ?? StoredObject(record: record, key: nil, number: nil, state: .plain, place: 0)
            if object.record != record || object.place == 0 {
                object.record = record
                object.place = max(object.place, record.dots.compactMap { places[$0] }.max() ?? 0)
            }
            object.key = keys[uid]
            if state.schema.entities[record.entity].isPrivate, let key = object.key,
                case .integer(let number) = key[0]
            {
                if object.number != number {
                    try prepared.objects.takeNumber(number, record.entity, for: uid)
                }
                object.number = number
            }
            object.state = StoredObject.state(uid, record, state, shown)
            if region.objects[uid] != object { written.append((uid, object)) }
        }
        for (uid, object) in written.sorted(by: { $0.0 < $1.0 }) {
            try prepared.objects.write(uid, reserving(object, for: uid))
        }
        for (alias, dot) in state.aliases where region.state.aliases[alias] != dot {
            try prepared.objects.write(alias, dot)
        }
        try prepared.conflicts.update(shown, state, keys: keys, number: prepared.history.head)
    }

    /// A hidden object keeps its number in mind unless a row has taken it.
    private func reserving(_ object: StoredObject, for uid: ObjectUID) throws -> StoredObject {
        guard object.key == nil, let number = object.number else { return object }
        let key = RowKey(entity: object.record.entity, [.integer(number)])
        guard let holder = try prepared.objects.uid(of: key), holder != uid else { return object }
        var object = object
        object.number = nil
        return object
    }

    /// In a simulation: the tables are the image of the view of the whole state, and what is called
    /// plain is plain.
    private func verify(_ step: String) throws {
        guard session.environment.isVerifying else { return }
        let region = try RegionLoader.whole(prepared)
        let view = View(region.state)
        let image = try self.image(view, region)
        try requireSpelt(image)
        guard image.rows == region.rows, image.names == region.names else {
            throw SyncError(.internalFault, "after \(step) the tables are not the view")
        }
        try verifyReferences(view, image, step)
        for (uid, object) in region.objects {
            let state = StoredObject.state(uid, object.record, region.state, view)
            guard state == object.state else {
                throw SyncError(
                    .internalFault, "after \(step) \(uid) is \(state), not \(object.state)")
            }
        }
        guard try prepared.conflicts.open() == Set(view.conflicts.keys) else {
            throw SyncError(.internalFault, "after \(step) the conflict log is wrong")
        }
    }

    /// What refers to a row was stated as a reference to it.
    private func verifyReferences(_ view: View, _ image: TableImage, _ step: String) throws {
        for (key, row) in image.rows {
            guard let name = image.names[key], let fields = view.rows[name]?.fields else {
                continue
            }
            for reference in schema.merge.entities[key.entity].references {
                let target = RowKey(
                    entity: reference.target, reference.columns.map { row[$0] })
                guard image.rows[target] == nil || fields[reference.columns[0]].target != nil
                else {
                    throw SyncError(
                        .internalFault, "after \(step) \(name) refers to a mere number")
                }
            }
        }
    }

    /// Makes what was done last.
    func finish() throws {
        try prepared.history.finish()
        let settings = prepared.history.settings
        let clock = Int64(bitPattern: clock.last.rawValue)
        if try settings.integer(.clock) != clock { try settings.set(.clock, .integer(clock)) }
        if try settings.position(.stated) < prepared.history.head {
            try settings.set(.stated, .integer(prepared.history.head))
        }
    }
}

extension ObjectRecord {
    /// The transactions of all its facts.
    var dots: [Dot] { life.map(\.dot) + cells.joined().map(\.dot) }
}
