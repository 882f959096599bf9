import SyncValues

extension MergeState {
    /// The joined value of the concurrent versions of one register, for a cell that blends.
    /// - Parameter newest: the version that is shown where they do not blend.
    func blend(_ versions: [Version], newest: Version, policy: CellPolicy) -> Blend {
        let others = versions.filter { $0.dot != newest.dot }
            .sorted { (time($0.dot), $0.dot) > (time($1.dot), $1.dot) }
        switch policy {
        case .lastWriter, .firstWriter, .preferring:
            return Blend(value: BlendCoding.decoded(Self.onlyValue(newest)), reflected: [])
        case .counter:
            var state = counter(newest)
            for version in others { state.join(counter(version)) }
            return Blend(
                value: state.shown,
                reflected: others.filter { state.reflects(counter($0)) }.map(\.dot))
        case .set:
            var state = SetState(Self.onlyValue(newest), dot: newest.dot)
            guard state.isArray else { return Blend(value: state.literal, reflected: []) }
            var reflected: [Dot] = []
            for version in others {
                let other = SetState(Self.onlyValue(version), dot: version.dot)
                guard other.isArray else { continue }
                state.join(other)
                reflected.append(version.dot)
            }
            return Blend(value: state.literal, reflected: reflected)
        case .text:
            let states = ([newest] + others).map { TextState(Self.onlyValue($0), dot: $0.dot) }
            guard !others.isEmpty, let merged = TextState.merged(states) else {
                return Blend(value: states[0].literal, reflected: [])
            }
            let whole = zip(others, merged.isWhole.dropFirst()).filter(\.1)
            return Blend(value: merged.value, reflected: whole.map(\.0.dot))
        }
    }

    /// The values that an object may show in a cell that blends, by its own versions: each of them
    /// alone, and those together that are current.
    package func blendedValues(ofCell cell: Int, in record: ObjectRecord) -> Set<Value> {
        let policy = schema.entities[record.entity].policies[cell]
        var values = Set(record.cells[cell].map { BlendCoding.decoded(Self.onlyValue($0)) })
        for isAlive in [true, false] {
            let versions = candidates(record, cell: cell, alive: isAlive)
            guard !versions.isEmpty else { continue }
            let newest = newest(of: versions, dot: \.dot, name: \.dot)
            values.insert(blend(versions, newest: newest, policy: policy).value)
        }
        return values
    }

    /// The value of a new version whose writer saw what `versions` show.
    /// - Parameter versions: what the register holds of the incarnation that continues.
    func successor(
        of versions: [Version], writing value: Value, policy: CellPolicy, dot: Dot, time: HybridTime
    ) -> Value {
        guard policy.isBlending, !versions.isEmpty else { return BlendCoding.escaped(value) }
        let newest = newest(of: versions, dot: \.dot, name: \.dot)
        switch policy {
        case .lastWriter, .firstWriter, .preferring: return BlendCoding.escaped(value)
        case .counter:
            var state = counter(newest)
            for version in versions { state.join(counter(version)) }
            state.write(value, dot: dot, time: time)
            return state.packed
        case .set:
            var state = SetState(Self.onlyValue(newest), dot: newest.dot)
            for version in versions where version.dot != newest.dot {
                state.join(SetState(Self.onlyValue(version), dot: version.dot))
            }
            state.write(value, dot: dot)
            return state.packed
        case .text:
            let shown = blend(versions, newest: newest, policy: policy).value
            let last = TextState(Self.onlyValue(newest), dot: newest.dot)
            return TextState(value, dot: dot, over: last, shown: shown).packed
        }
    }

    /// The value of a version alone, as a writer would write it.
    package func literal(_ version: Version) -> [Field] {
        let isPlain = !version.value.contains { field in
            if case .value(.blob) = field { return true }
            return false
        }
        return isPlain ? version.value : version.value.map(Self.decoded)
    }

    /// A field, escaped so that it cannot be taken for a packed state.
    package static func escaped(_ field: Field) -> Field {
        guard case .value(let value) = field, case .blob = value else { return field }
        return .value(BlendCoding.escaped(value))
    }

    /// A field as a reader of the table sees it: packed states decoded.
    package static func decoded(_ field: Field) -> Field {
        guard case .value(let value) = field, case .blob = value else { return field }
        return .value(BlendCoding.decoded(value))
    }

    private func counter(_ version: Version) -> CounterState {
        CounterState(Self.onlyValue(version), dot: version.dot, time: time(version.dot))
    }

    /// The value of a cell of one column.
    private static func onlyValue(_ version: Version) -> Value {
        if case .value(let value)? = version.value.first { return value }
        return .null
    }
}
