import Foundation

/// The entities that records are stored under: `syncd_shape`. A number names an entity for ever;
/// its cells are those of the present schema.
///
/// Confined to its connection's queue; made anew when the schema changes.
final class Shapes {
    private let numbers: [Int64]
    private let positions: [Int64: Int]

    /// Reads the table and adds what is new, in the transaction that the connection is in.
    /// - Parameter changed: called for each entity whose cells are stored in another way, with
    ///   its number and these.
    init(
        _ connection: OpaquePointer, _ schema: MergeSchema,
        changed: (_ entity: Int, _ number: Int64, _ cells: [[String]]) throws -> Void
    ) throws {
        let select = try Statement(
            connection, "SELECT id, cells FROM syncd_shape WHERE name = ?1")
        let insert = try Statement(
            connection,
            """
            INSERT INTO syncd_shape(name, private, cells) VALUES (?1, ?2, ?3)
            ON CONFLICT(name) DO UPDATE SET private = excluded.private, cells = excluded.cells
            """)
        var numbers: [Int64] = []
        for (position, entity) in schema.entities.enumerated() {
            let name = SQLName.folded(entity.name)
            let cells = Self.cells(entity)
            let text = try Self.text(cells)
            select.bind(1, name)
            let isKnown = try select.step()
            let (number, stored) = (select.integer(0), select.text(1))
            select.reset()
            if isKnown, stored == text {
                numbers.append(number)
                continue
            }
            insert.bind(1, name)
            insert.bind(2, Int64(entity.isPrivate ? 1 : 0))
            insert.bind(3, text)
            try insert.run()
            select.bind(1, name)
            _ = try select.step()
            numbers.append(select.integer(0))
            select.reset()
            if isKnown, let stored {
                let cells = try JSONDecoder().decode([[String]].self, from: Data(stored.utf8))
                try changed(position, number, cells)
            }
        }
        self.numbers = numbers
        positions = Dictionary(zip(numbers, numbers.indices)) { first, _ in first }
    }

    private static func cells(_ entity: MergeEntity) -> [[String]] {
        entity.cells.map { $0.map { SQLName.folded(entity.columns[$0].name) } }
    }

    private static func text(_ cells: [[String]]) throws -> String {
        String(decoding: try JSONEncoder().encode(cells), as: UTF8.self)
    }

    /// The number of an entity.
    func number(of entity: Int) -> Int64 { numbers[entity] }

    /// The entity of a number; nil when its table is gone.
    func position(of number: Int64) -> Int? { positions[number] }
}
