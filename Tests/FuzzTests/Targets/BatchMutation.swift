@testable import SyncMerge
@testable import SyncValues

/// Changes of a decoded batch, one after the other, as choices say. What the encoder cannot write
/// is not made: ``BatchTarget`` has it from raw bytes.
struct BatchMutation {
    private(set) var batch: Batch
    private let scene: MergeScene
    private static let stepsMax = 12

    init(_ batch: Batch, of scene: MergeScene) {
        self.batch = batch
        self.scene = scene
    }

    mutating func run(_ choices: inout FuzzChoices) {
        var isProvedAgain = false
        var steps = choices.below(Self.stepsMax)
        while steps > 0, !choices.isAtEnd {
            steps -= 1
            switch choices.byte() % 12 {
            case 0, 1: changeTransaction(&choices)
            case 2, 3, 4, 5: changeFact(&choices)
            case 6: addFact(&choices)
            case 7: changeVectors(&choices)
            case 8: changeExtras(&choices)
            case 9: changeEntities(&choices)
            case 10: changeChanges(&choices)
            default: isProvedAgain.toggle()
            }
        }
        normalize()
        if isProvedAgain { prove() }
    }

    // MARK: Transactions

    private mutating func changeTransaction(_ choices: inout FuzzChoices) {
        guard !batch.transactions.isEmpty else { return }
        let index = choices.below(batch.transactions.count)
        var transaction = batch.transactions[index]
        var header = transaction.header
        switch choices.byte() % 10 {
        case 0: header = TransactionHeader(dot(&choices), time: header.time, seen: header.seen)
        case 1:
            header = TransactionHeader(
                header.dot, time: HybridTime(rawValue: UInt64(bitPattern: choices.number())),
                seen: header.seen)
        case 2:
            header = TransactionHeader(
                header.dot, time: header.time,
                seen: header.seen.joined(VersionVector([dot(&choices)])))
        case 3: header = TransactionHeader(header.dot, time: header.time, seen: VersionVector())
        case 4: transaction.author = choices.flag() ? choices.text() : nil
        case 5: transaction.context = choices.text()
        case 6: (transaction.process, transaction.pid) = (choices.text(), choices.number())
        case 7: transaction.flags = UInt64(bitPattern: choices.number())
        case 8:
            batch.transactions.remove(at: index)
            return
        default:
            batch.transactions.insert(transaction, at: choices.below(batch.transactions.count))
            return
        }
        // Facts go along with their transaction, or lose it.
        if choices.flag() { rename(batch.transactions[index].header.dot, to: header.dot) }
        transaction.header = header
        batch.transactions[index] = transaction
    }

    private mutating func rename(_ old: Dot, to new: Dot) {
        batch.facts = batch.facts.map { $0.dot == old ? $0.with(dot: new) : $0 }
    }

    private mutating func changeChanges(_ choices: inout FuzzChoices) {
        guard !batch.transactions.isEmpty, !batch.entities.isEmpty else { return }
        let index = choices.below(batch.transactions.count)
        let kind = ChangeKind(rawValue: choices.below(3)) ?? .update
        let entity = choices.below(batch.entities.count)
        let change = Batch.Change(
            object(&choices), entity: entity, kind: kind,
            cells: kind == .update
                ? Array(0..<choices.below(batch.entities[entity].cells.count)) : [])
        if choices.flag() { batch.transactions[index].changes.removeAll() }
        batch.transactions[index].changes.append(change)
    }

    // MARK: Facts

    private mutating func changeFact(_ choices: inout FuzzChoices) {
        guard !batch.facts.isEmpty else { return }
        let index = choices.below(batch.facts.count)
        let fact = batch.facts[index]
        switch choices.byte() % 6 {
        case 0: batch.facts[index] = fact.with(dot: anyDot(&choices))
        case 1: batch.facts.remove(at: index)
        case 2: batch.facts[index] = fact.with(object: object(&choices))
        case 3: batch.facts[index] = fact.with(incarnation: incarnation(&choices))
        default:
            guard case .cell(let uid, let entity, let cell, let version) = fact else {
                if case .life(let uid, let entity, let life) = fact {
                    let kind = LifeKind(rawValue: choices.byte() % 3) ?? .deleted
                    batch.facts[index] = .life(
                        uid, entity: entity,
                        Life(life.dot, kind: kind, incarnation: life.incarnation))
                }
                return
            }
            var value = version.value
            let column = choices.below(value.count)
            value[column] = field(&choices)
            batch.facts[index] = .cell(
                uid, entity: entity, cell: cell,
                Version(version.dot, incarnation: version.incarnation, value: value))
        }
    }

    private mutating func addFact(_ choices: inout FuzzChoices) {
        let dot = anyDot(&choices)
        switch choices.byte() % 3 {
        case 0: batch.facts.append(.alias(object(&choices), object(&choices), dot))
        case 1:
            guard !batch.entities.isEmpty else { return }
            let kind = LifeKind(rawValue: choices.byte() % 3) ?? .created
            batch.facts.append(
                .life(
                    object(&choices), entity: choices.below(batch.entities.count),
                    Life(dot, kind: kind, incarnation: incarnation(&choices))))
        default:
            let entity = choices.below(batch.entities.count)
            guard batch.entities.indices.contains(entity) else { return }
            let cell = choices.below(batch.entities[entity].cells.count)
            guard batch.entities[entity].cells.indices.contains(cell) else { return }
            let value = batch.entities[entity].cells[cell].map { _ in field(&choices) }
            batch.facts.append(
                .cell(
                    object(&choices), entity: entity, cell: cell,
                    Version(dot, incarnation: incarnation(&choices), value: value)))
        }
    }

    private func incarnation(_ choices: inout FuzzChoices) -> Int {
        min(max(0, Int(choices.number())), Life.incarnationMax)
    }

    private func field(_ choices: inout FuzzChoices) -> Field {
        if choices.byte() % 4 == 0 {
            return .reference(object(&choices), part: choices.below(3))
        }
        return .value(choices.value())
    }

    private func object(_ choices: inout FuzzChoices) -> ObjectUID {
        let choice = choices.byte()
        let named = batch.facts.compactMap(\.object)
        if choice < 4 || named.isEmpty { return ObjectUID(high: 0, low: UInt64(choice)) }
        return named[Int(choice) % named.count]
    }

    private func dot(_ choices: inout FuzzChoices) -> Dot {
        let replica = choices.pick(scene.replicas) ?? scene.member
        let near = batch.upTo[replica]
        let number = choices.flag() ? near &+ Int64(choices.below(4)) : choices.number()
        return Dot(replica, max(1, number))
    }

    /// Mostly of a transaction of the batch: facts of others are refused by the decoder.
    private func anyDot(_ choices: inout FuzzChoices) -> Dot {
        if choices.byte() % 8 == 7 { return dot(&choices) }
        return choices.pick(batch.transactions)?.header.dot ?? dot(&choices)
    }

    // MARK: The rest

    private mutating func changeVectors(_ choices: inout FuzzChoices) {
        let vector = VersionVector([dot(&choices)])
        switch choices.byte() % 9 {
        case 0: batch.from.join(vector)
        case 1: batch.upTo.join(vector)
        case 2: batch.collected.join(vector)
        case 3: batch.collected = batch.upTo
        case 4: batch.hasGaps.toggle()
        case 5: batch.from = VersionVector()
        case 6: batch.goal = choices.flag() ? vector.joined(batch.upTo) : nil
        case 7: batch.sender = choices.pick(scene.replicas) ?? scene.member
        default:
            let sum = choices.some(16)
            batch.sums = BatchSums(fact: sum, shown: sum)
        }
    }

    private mutating func changeExtras(_ choices: inout FuzzChoices) {
        switch choices.byte() % 3 {
        case 0: batch.extras.policies = PolicyTarget.made(&choices)
        case 1: batch.extras.numbers[object(&choices)] = choices.number()
        default: batch.extras.schema.append(choices.text())
        }
    }

    private mutating func changeEntities(_ choices: inout FuzzChoices) {
        guard !batch.entities.isEmpty else { return }
        let index = choices.below(batch.entities.count)
        let names = ["note", "item", "tag", "absent", "syncd_log", "NOTE", ""]
        switch choices.byte() % 5 {
        case 0: batch.entities[index].name = choices.pick(names) ?? ""
        case 1: batch.entities[index].isPrivate.toggle()
        case 2: batch.entities[index].cells.reverse()
        case 3:
            let cell = choices.below(batch.entities[index].cells.count)
            guard batch.entities[index].cells.indices.contains(cell) else { return }
            let columns = ["id", "text", "num", "note", "tag", "name", "absent"]
            batch.entities[index].cells[cell] = batch.entities[index].cells[cell].map { _ in
                choices.pick(columns) ?? ""
            }
        default: batch.entities.swapAt(index, choices.below(batch.entities.count))
        }
    }

    // MARK: Validity

    /// Takes back what the encoder has no bytes for.
    private mutating func normalize() {
        batch.transactions = batch.transactions.compactMap { transaction in
            let header = transaction.header
            guard header.dot.number > 0 else { return nil }
            var result = transaction
            // A writer has not seen itself.
            let seen = VersionVector(
                header.seen.entries.filter {
                    $0.replica != header.dot.replica || $0.number < header.dot.number
                })
            result.header = TransactionHeader(header.dot, time: header.time, seen: seen)
            result.changes = transaction.changes.filter {
                batch.entities.indices.contains($0.entity)
                    && $0.cells.allSatisfy(batch.entities[$0.entity].cells.indices.contains)
            }
            return result
        }
        batch.facts = batch.facts.filter { fact in
            switch fact {
            case .alias: return true
            case .life(_, let entity, _): return batch.entities.indices.contains(entity)
            case .cell(_, let entity, let cell, let version):
                return batch.entities.indices.contains(entity)
                    && batch.entities[entity].cells.indices.contains(cell)
                    && batch.entities[entity].cells[cell].count == version.value.count
            }
        }
    }

    /// The member proves what it made, as it can: its own chain leads to what it says.
    private mutating func prove() {
        guard let key = scene.key, let old = batch.proofs[scene.member] else { return }
        let headers = batch.transactions.map(\.header)
            .filter { $0.dot.replica == scene.member }.sorted { $0.dot.number < $1.dot.number }
        let link = old.start.following(headers)
        guard
            let anchor = try? Anchor(link, store: batch.store, replica: scene.member, with: key)
        else { return }
        batch.sender = scene.member
        batch.proofs[scene.member] = SignerProof(
            key: key.verifying, first: old.first, start: old.start, anchor: anchor)
    }
}

extension Fact {
    fileprivate func with(dot: Dot) -> Fact {
        switch self {
        case .alias(let first, let second, _): return .alias(first, second, dot)
        case .life(let uid, let entity, let life):
            return .life(
                uid, entity: entity, Life(dot, kind: life.kind, incarnation: life.incarnation))
        case .cell(let uid, let entity, let cell, let version):
            return .cell(
                uid, entity: entity, cell: cell,
                Version(dot, incarnation: version.incarnation, value: version.value))
        }
    }

    fileprivate func with(object: ObjectUID) -> Fact {
        switch self {
        case .alias(_, let second, let dot): return .alias(object, second, dot)
        case .life(_, let entity, let life): return .life(object, entity: entity, life)
        case .cell(_, let entity, let cell, let version):
            return .cell(object, entity: entity, cell: cell, version)
        }
    }

    fileprivate func with(incarnation: Int) -> Fact {
        switch self {
        case .alias: return self
        case .life(let uid, let entity, let life):
            return .life(
                uid, entity: entity, Life(life.dot, kind: life.kind, incarnation: incarnation))
        case .cell(let uid, let entity, let cell, let version):
            return .cell(
                uid, entity: entity, cell: cell,
                Version(version.dot, incarnation: incarnation, value: version.value))
        }
    }
}
