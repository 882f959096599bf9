import SyncMerge

/// The values of the slice, read in place: a column of a batch that is held meanwhile costs more
/// than the value that is read from it.
extension FastLane {
    /// A value of a fact about a cell.
    struct FieldPlace {
        fileprivate let group: Int
        fileprivate let column: Int
        fileprivate let row: Int
    }

    /// The fact of an object about a cell.
    func place(of cell: Int, _ arrival: Arrival) -> ArrivingFacts.Place? {
        for index in arrival.facts {
            let place = order[index]
            if place.group >= 2, self.cell(of: place) == cell { return place }
        }
        return nil
    }

    /// The cell that a fact is about.
    func cell(of place: ArrivingFacts.Place) -> Int {
        facts.versions[Int(place.group) - 2].cell
    }

    /// The transaction of a fact about a cell.
    func transaction(of place: ArrivingFacts.Place) -> Int32 {
        facts.versions[Int(place.group) - 2].transactions[Int(place.row)]
    }

    /// The incarnation of a fact about a cell.
    func incarnation(of place: ArrivingFacts.Place) -> Int {
        Int(facts.versions[Int(place.group) - 2].incarnations[Int(place.row)])
    }

    /// The value of a fact in a column of its cell.
    func field(_ place: ArrivingFacts.Place, _ column: Int) -> FieldPlace {
        FieldPlace(group: Int(place.group) - 2, column: column, row: Int(place.row))
    }

    func tag(_ field: FieldPlace) -> ValueSpans.Tag {
        facts.versions[field.group].values[field.column].tags[field.row]
    }

    func word(_ field: FieldPlace) -> UInt64 {
        facts.versions[field.group].values[field.column].words[field.row]
    }

    func length(_ field: FieldPlace) -> Int {
        Int(facts.versions[field.group].values[field.column].lengths[field.row])
    }

    /// As ``ValueSpans/isState(at:)``.
    func isState(_ field: FieldPlace) -> Bool {
        facts.versions[field.group].values[field.column].isState(at: field.row)
    }

    /// Calls `body` with the bytes of text or of a blob.
    func withBytes<Result>(
        _ field: FieldPlace, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let start = Int(word(field))
        let end = start + length(field)
        return try facts.versions[field.group].values[field.column].bytes.withUnsafeBytes {
            try body(UnsafeRawBufferPointer(rebasing: $0[start..<end]))
        }
    }
}
