import Foundation
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

@Suite struct AttributeCodingTests {
    @Test func datesRoundTripExactly() throws {
        let coding = AttributeCoding(.date)
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<2000 {
            let seconds = Double.random(in: 1e7...2e9, using: &random)
            let date = Date(timeIntervalSinceReferenceDate: seconds)
            let stored = try coding.encode(date)
            #expect(coding.decode(stored) as? Date == date, "\(seed): \(seconds)")
        }
    }

    @Test func dateTextsSortAsDatesDo() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        let dates = (0..<500).map { _ in
            Date(timeIntervalSinceReferenceDate: Double.random(in: -3e9...3e9, using: &random))
        }
        let texts = dates.sorted().map { DateCoding.text($0) }
        #expect(texts == texts.sorted(), "\(seed)")
    }

    @Test func dateTextIsWhatSQLiteWrites() {
        let date = Date(timeIntervalSince1970: 1_767_268_800.125)
        #expect(DateCoding.text(date) == "2026-01-01 12:00:00.125")
        #expect(DateCoding.date("2026-01-01T14:00:00.125+02:00") == date)
        #expect(DateCoding.date("2026-01-01") == Date(timeIntervalSince1970: 1_767_225_600))
        #expect(DateCoding.date("1969-12-31 23:59:59") == Date(timeIntervalSince1970: -1))
        #expect(DateCoding.date("soon") == nil)
    }

    @Test func everyTypeRoundTrips() throws {
        let uuid = UUID()
        let url = try #require(URL(string: "https://example.org/a%20b?q=%C3%A9"))
        let id = ManagedObjectID(
            .init(store: uuid, entity: "Item"), key: .text("a/ä,#"), incarnation: 3)
        let values: [(AttributeType, any Sendable & Equatable)] = [
            (.integer16, Int16.min), (.integer32, Int32.max), (.integer64, Int64.min),
            (.float, Float(1.5)), (.double, 0.1), (.decimal, Decimal(string: "0.10") ?? 0),
            (.string, "é"), (.boolean, true), (.binary, Data([0, 255])), (.uuid, uuid), (.uri, url),
            (.objectID, id),
        ]
        for (type, value) in values {
            let coding = AttributeCoding(type)
            let decoded = coding.decode(try coding.encode(value))
            let isEqual = Self.isEqual(decoded, value)
            #expect(isEqual, "\(type)")
            #expect(coding.decode(try coding.encode(nil)) == nil)
        }
    }

    @Test func optionalInsideAnyIsNil() throws {
        let none: Int? = nil
        #expect(try AttributeCoding(.integer16).encode(none) == .null)
        #expect(try AttributeCoding(.integer16).encode(Int?.some(0)) == .integer(0))
    }

    @Test func otherTypesAreRefused() {
        let wrong: [(AttributeType, any Sendable)] = [
            (.integer16, 70_000), (.integer16, "1"), (.string, 1), (.boolean, 2), (.date, "x"),
            (.double, Double.nan), (.integer64, true), (.uuid, "x"),
        ]
        for (type, value) in wrong {
            #expect(throws: ObjectError(.typeMismatch, "")) {
                try AttributeCoding(type).encode(value)
            }
        }
    }

    @Test func objectIDsRoundTripAsURIs() {
        let origin = SyncObjects.ManagedObjectID.Origin(store: UUID(), entity: "Ein gang")
        let keys: [SyncObjects.ManagedObjectKey] = [
            .integer(-7), .text("a/b#c,%"), .temporary(3),
            .values([.text("x,y"), .integer(1), .blob([0, 200]), .real(0.1), .null]),
        ]
        for key in keys {
            let id = SyncObjects.ManagedObjectID(origin, key: key)
            #expect(ManagedObjectID(uri: id.uriRepresentation) == id)
        }
        #expect(URL(string: "syncd://x/y").flatMap(ManagedObjectID.init(uri:)) == nil)
    }

    @Test func identitiesOfTwoStoresDiffer() {
        let one = ManagedObjectID(.init(store: UUID(), entity: "Item"), key: .integer(1))
        let other = ManagedObjectID(.init(store: UUID(), entity: "Item"), key: .integer(1))
        #expect(one != other)
        #expect(one != one.with(incarnation: 2))
    }

    private static func isEqual<T: Equatable>(_ left: Any?, _ right: T) -> Bool {
        (left as? T) == right
    }
}
