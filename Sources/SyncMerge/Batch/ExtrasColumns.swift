import SyncValues

/// The end of the content where the envelope's flags say so: schema, policies, private numbers.
enum ExtrasColumns {
    static func write(
        _ extras: Batch.Extras, tables: BatchTables, to content: inout ByteWriter
    ) {
        content.append(varint: UInt64(extras.schema.count))
        for statement in extras.schema { content.append(counted: Array(statement.utf8)) }
        content.append(counted: Array(extras.policies.utf8))
        var present = ByteWriter()
        var numbers = ByteWriter()
        var last: Int64 = 0
        for number in self.numbers(extras, tables) {
            guard let number else {
                present.append(byte: 0)
                continue
            }
            present.append(byte: 1)
            numbers.append(signed: number &- last)
            last = number
        }
        content.append(counted: present.bytes)
        content.append(counted: numbers.bytes)
    }

    /// By position among the batch's objects.
    private static func numbers(_ extras: Batch.Extras, _ tables: BatchTables) -> [Int64?] {
        if extras.columnNumbers.isEmpty { return tables.objects.map { extras.numbers[$0] } }
        var numbers = [Int64?](repeating: nil, count: tables.objects.count)
        for (place, number) in zip(tables.placesOfColumns, extras.columnNumbers) where place >= 0 {
            // An object may be among those of the columns twice.
            if let number { numbers[Int(place)] = number }
        }
        return numbers
    }

    static func read(
        from reader: inout ByteReader, tables: BatchTables
    ) throws -> Batch.Extras {
        var extras = Batch.Extras()
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            extras.schema.append(try reader.text())
        }
        extras.policies = try reader.text()
        var present = try reader.column()
        var numbers = try reader.column()
        var last: Int64 = 0
        for object in tables.objects where try present.index(below: 2) == 1 {
            last &+= try numbers.signed()
            extras.numbers[object] = last
        }
        try present.finish()
        try numbers.finish()
        return extras
    }
}
