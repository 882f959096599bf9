import GRDB
import SyncCore

/// Keeps derived attributes up to date by triggers in the store, so that they equal what they are
/// derived from at every read, whatever wrote: this layer, another program, a delete rule or a
/// merge.
///
/// Text functions (`canonical:`, `uppercase:`, `lowercase:`) need Unicode, which SQLite alone does
/// not know: those are set by this layer's saves, and another program's edit of their source shows
/// after the next one.
struct DerivedAttributes {
    let model: ManagedObjectModel

    /// A table of this connection alone: rows whose derived columns were set since the last save.
    static let touchedTable = "temp.syncd_derived"

    /// One derived attribute where it is declared.
    private struct Item {
        let entity: EntityLayout
        let column: String
        let expression: DerivedExpression
        let coding: AttributeCoding

        var table: String { entity.table.name }
    }

    private func items() throws -> [Item] {
        var items: [Item] = []
        for entity in model.layouts.values.sorted(by: { $0.name < $1.name })
        where entity.table.isManaged {
            for attribute in entity.description.attributes {
                guard let text = attribute.derivation,
                    let column = entity.slot(attribute.name)?.column
                else { continue }
                items.append(
                    Item(
                        entity: entity, column: entity.table.columns[column].name,
                        expression: try DerivedExpression(text), coding: attribute.coding))
            }
        }
        return items
    }

    var isEmpty: Bool {
        model.entities.allSatisfy { $0.attributes.allSatisfy { $0.derivation == nil } }
    }

    // MARK: Installing

    /// Removes the triggers of this model, before its tables change. Called on the model that the
    /// store was written under.
    ///
    /// A trigger is one of these when its name is a derived attribute's and a number, as `install`
    /// names them. SQL is not compared: SQLite rewrites it when a table or a column is renamed.
    ///
    /// - Throws: ``ObjectError/Code/invalidModel`` for an expression that cannot be read; GRDB's
    ///   error when the triggers cannot be dropped.
    func remove(from db: Database) throws {
        let prefixes = try items().map { Self.triggerPrefix($0) }
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for name in names where prefixes.contains(where: { Self.isName(name, of: $0) }) {
            try db.execute(sql: "DROP TRIGGER \(SQLText.quoted(name))")
        }
    }

    /// What the names of an attribute's triggers begin with; a number follows. Stores have triggers
    /// of these names, and `syncd_` is for those of change capture.
    private static func triggerPrefix(_ item: Item) -> String {
        "derived_\(item.table)_\(item.column)_"
    }

    private static func isName(_ name: String, of prefix: String) -> Bool {
        let number = name.dropFirst(prefix.count)
        return name.hasPrefix(prefix) && !number.isEmpty
            && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Makes the triggers, and computes what is there.
    func install(_ db: Database) throws {
        for item in try items() {
            for (number, trigger) in try triggers(item).enumerated() {
                let name = Self.triggerPrefix(item) + String(number)
                try db.execute(
                    sql: "CREATE TRIGGER \(SQLText.quoted(name)) \(trigger.event) BEGIN "
                        + "\(try update(of: item, rows: trigger.rows)); END")
            }
            if item.expression != .now { try db.execute(sql: try update(of: item, rows: nil)) }
        }
    }

    /// Makes this connection record the rows whose derived columns are set.
    func follow(_ db: Database) throws {
        guard !isEmpty else { return }
        try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS syncd_derived(entity, id)")
        for item in try items() {
            let name = SQLText.quoted("syncd_note_\(item.table)_\(item.column)")
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS \(name) AFTER UPDATE OF
                    \(SQLText.quoted(item.column)) ON main.\(SQLText.quoted(item.table)) BEGIN
                    INSERT INTO syncd_derived VALUES (\(Value.text(item.entity.root)), NEW.id); END
                    """)
        }
    }

    /// Sets the attributes of these rows that no trigger can compute.
    func setTexts(of keys: [String: Set<Int64>], in db: Database) throws {
        for item in try items() where isText(item.expression) {
            guard let ids = keys[item.entity.root], !ids.isEmpty else { continue }
            let list = ids.sorted().map(String.init).joined(separator: ", ")
            try db.execute(sql: try update(of: item, rows: "IN (\(list))"))
        }
    }

    private func isText(_ expression: DerivedExpression) -> Bool {
        switch expression {
        case .canonical, .uppercase, .lowercase: return true
        case .copy, .count, .sum, .now: return false
        }
    }

    // MARK: SQL

    /// Rows that already have the value are left alone, so that nothing is recorded of them.
    private func update(of item: Item, rows: String?) throws -> String {
        let value = try expression(item)
        let column = SQLText.quoted(item.column)
        var conditions = ["\(column) IS NOT \(value)"]
        if let rows { conditions.insert("id \(rows)", at: 0) }
        if let kind = item.entity.table.kindColumn {
            conditions.append(family(of: item.entity, column: kind))
        }
        return "UPDATE \(SQLText.quoted(item.table)) SET \(column) = \(value)"
            + " WHERE \(conditions.joined(separator: " AND "))"
    }

    private func family(of entity: EntityLayout, column kind: String) -> String {
        let names = entity.family.sorted().map { "\(Value.text($0))" }.joined(separator: ", ")
        return "\(SQLText.quoted(kind)) IN (\(names))"
    }

    private func own(of item: Item, column: String) -> String {
        "\(SQLText.quoted(item.table)).\(SQLText.quoted(column))"
    }

    private func column(_ name: String, of entity: EntityLayout) throws -> String {
        guard let column = entity.slot(name)?.column else {
            throw ObjectError(
                .invalidModel, "derived from “\(name)”, which is not stored", entity: entity.name)
        }
        return entity.table.columns[column].name
    }

    private func column(slot: Int, of entity: EntityLayout) -> String {
        entity.slots[slot].column.map { entity.table.columns[$0].name } ?? ""
    }

    private func expression(_ item: Item) throws -> String {
        switch item.expression {
        case .now: return Self.now(item.coding.dates)
        case .copy(let path):
            guard path.count > 1 else {
                return own(of: item, column: try column(path[0], of: item.entity))
            }
            let (relation, other) = try relation(path[0], of: item)
            let value = SQLText.quoted(try column(path[1], of: other))
            let rows = try source(of: item, relation: relation, to: other)
            return "(SELECT x.\(value) FROM \(rows) LIMIT 1)"
        case .canonical(let path): return "syncd_fold(\(try source(of: item, path: path)), 3)"
        case .uppercase(let path): return "syncd_case(\(try source(of: item, path: path)), 1)"
        case .lowercase(let path): return "syncd_case(\(try source(of: item, path: path)), 0)"
        case .count(let name, let condition):
            let (relation, other) = try relation(name, of: item)
            var sql = "(SELECT count(*) FROM \(try source(of: item, relation: relation, to: other))"
            if let condition { sql += " AND \(try self.condition(condition, on: other))" }
            return sql + ")"
        case .sum(let name, let attribute):
            let (relation, other) = try relation(name, of: item)
            let value = SQLText.quoted(try column(attribute, of: other))
            return "(SELECT coalesce(sum(x.\(value)), 0) FROM"
                + " \(try source(of: item, relation: relation, to: other)))"
        }
    }

    private static func now(_ dates: DateStorage) -> String {
        switch dates {
        case .text: return "strftime('%Y-%m-%d %H:%M:%f', 'now')"
        case .unixSeconds: return "((julianday('now') - 2440587.5) * 86400.0)"
        case .referenceSeconds: return "((julianday('now') - 2451910.5) * 86400.0)"
        }
    }

    private func source(of item: Item, path: [String]) throws -> String {
        guard path.count == 1 else {
            throw ObjectError(
                .invalidModel, "a text function can use only attributes of the object itself",
                entity: item.entity.name, property: item.column)
        }
        return own(of: item, column: try column(path[0], of: item.entity))
    }

    private func relation(
        _ name: String, of item: Item
    ) throws -> (EntityLayout.Relation, EntityLayout) {
        guard let relation = item.entity.relation(name),
            let other = model.layouts[relation.description.destination]
        else { throw item.entity.unknownProperty(name) }
        return (relation, other)
    }

    /// The related rows as `x`, up to and with their condition.
    private func source(
        of item: Item, relation: EntityLayout.Relation, to other: EntityLayout
    ) throws -> String {
        let table = SQLText.quoted(other.table.name)
        var sql: String
        switch relation.storage {
        case .reference(let slot):
            let reference = column(slot: slot, of: item.entity)
            sql = "\(table) x WHERE x.id = \(own(of: item, column: reference))"
        case .inverse(let name, let slot, _):
            let child = model.layouts[name] ?? other
            sql =
                "\(table) x WHERE x.\(SQLText.quoted(column(slot: slot, of: child)))"
                + " = \(own(of: item, column: "id"))"
        case .join(let join, let isSource):
            let (mine, theirs) = Self.columns(of: join, isSource: isSource)
            sql =
                "\(SQLText.quoted(join.table)) j JOIN \(table) x ON x.id = j.\(theirs)"
                + " WHERE j.\(mine) = \(own(of: item, column: "id"))"
        }
        if let kind = other.table.kindColumn, other.name != other.root {
            sql += " AND x.\(family(of: other, column: kind))"
        }
        return sql
    }

    private static func columns(of join: JoinLayout, isSource: Bool) -> (String, String) {
        let (source, target) = (
            SQLText.quoted(join.sourceColumn), SQLText.quoted(join.targetColumn)
        )
        return isSource ? (source, target) : (target, source)
    }

    /// A trigger is stored in the database: it has no parameters, and can call only SQLite's own
    /// functions.
    private func condition(_ text: String, on entity: EntityLayout) throws -> String {
        let bound = try PredicateBinder(model: model).bind(try FetchPredicate(text), to: entity)
        var sql = PredicateSQL(inlinesValues: true)
        let condition = try sql.condition(bound, on: "x")
        guard bound.visited.isEmpty, !condition.contains("syncd_") else {
            throw ObjectError(
                .invalidModel, "the condition “\(text)” cannot be used in a count",
                hint: "Compare attributes of the counted objects, without [c], [d] or LIKE",
                entity: entity.name)
        }
        return condition
    }

    // MARK: Triggers

    private struct Trigger {
        let event: String
        /// The condition on the id of the rows to compute.
        let rows: String
    }

    private func triggers(_ item: Item) throws -> [Trigger] {
        guard !isText(item.expression) else { return [] }
        let table = SQLText.quoted(item.table)
        var triggers = [Trigger(event: "AFTER INSERT ON \(table)", rows: "= NEW.id")]
        switch item.expression {
        case .now:
            let derived = Set(try items().filter { $0.table == item.table }.map(\.column))
            let others = item.entity.table.columns.map(\.name).filter { !derived.contains($0) }
            triggers.append(
                Trigger(
                    event: "AFTER UPDATE OF \(SQLText.list(others)) ON \(table)", rows: "= NEW.id"))
        case .copy(let path) where path.count == 1:
            let source = SQLText.quoted(try column(path[0], of: item.entity))
            triggers.append(
                Trigger(event: "AFTER UPDATE OF \(source) ON \(table)", rows: "= NEW.id"))
        case .copy(let path):
            let (relation, other) = try relation(path[0], of: item)
            triggers += try related(
                item, relation: relation, to: other, source: column(path[1], of: other))
        case .count(let name, let condition):
            let (relation, other) = try relation(name, of: item)
            triggers += try related(
                item, relation: relation, to: other, source: condition == nil ? nil : "*")
        case .sum(let name, let attribute):
            let (relation, other) = try relation(name, of: item)
            triggers += try related(
                item, relation: relation, to: other, source: column(attribute, of: other))
        case .canonical, .uppercase, .lowercase: break
        }
        return triggers
    }

    /// When related rows come, go and change. `source`: their column that matters; `*`: any.
    private func related(
        _ item: Item, relation: EntityLayout.Relation, to other: EntityLayout, source: String?
    ) throws -> [Trigger] {
        let own = SQLText.quoted(item.table)
        let theirs = SQLText.quoted(other.table.name)
        let change = { (columns: [String]) in
            source == "*"
                ? "AFTER UPDATE ON \(theirs)"
                : "AFTER UPDATE OF \(SQLText.list(columns)) ON \(theirs)"
        }
        switch relation.storage {
        case .reference(let slot):
            let reference = SQLText.quoted(column(slot: slot, of: item.entity))
            return [
                Trigger(event: "AFTER UPDATE OF \(reference) ON \(own)", rows: "= NEW.id"),
                Trigger(
                    event: change([source].compactMap { $0 }),
                    rows: "IN (SELECT id FROM \(own) WHERE \(reference) = NEW.id)"),
            ]
        case .inverse(let name, let slot, _):
            let name = column(slot: slot, of: model.layouts[name] ?? other)
            let reference = SQLText.quoted(name)
            let columns = [name] + (source == "*" ? [] : [source].compactMap { $0 })
            return [
                Trigger(event: "AFTER INSERT ON \(theirs)", rows: "= NEW.\(reference)"),
                Trigger(event: "AFTER DELETE ON \(theirs)", rows: "= OLD.\(reference)"),
                Trigger(
                    event: change(columns), rows: "IN (OLD.\(reference), NEW.\(reference))"),
            ]
        case .join(let join, let isSource):
            let (mine, far) = Self.columns(of: join, isSource: isSource)
            let pairs = SQLText.quoted(join.table)
            var triggers = [
                Trigger(event: "AFTER INSERT ON \(pairs)", rows: "= NEW.\(mine)"),
                Trigger(event: "AFTER DELETE ON \(pairs)", rows: "= OLD.\(mine)"),
            ]
            if let source {
                triggers.append(
                    Trigger(
                        event: change([source]),
                        rows: "IN (SELECT \(mine) FROM \(pairs) WHERE \(far) = NEW.id)"))
            }
            return triggers
        }
    }
}
