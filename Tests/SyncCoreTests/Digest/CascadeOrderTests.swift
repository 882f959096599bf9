import Testing

@testable import SyncCore
@testable import SyncValues

@Suite struct CascadeOrderTests {
    private typealias Draft = TransactionBuilder.Draft

    private static let artist = TrackedEntity(
        id: 1, name: "Artist", layout: .keyed("id", columns: ["id"]), isRetired: false)
    private static let album = entity(2, "Album", parent: "artist")
    private static let track = entity(3, "Track", parent: "ALBUM")

    /// A table whose second column refers to the key of its parent.
    private static func entity(_ id: Int64, _ name: String, parent: String) -> TrackedEntity {
        let cascade = CaptureLayout.Cascade(columns: [1], parent: parent)
        return TrackedEntity(
            id: id, name: name,
            layout: .keyed("id", columns: ["id", "parent"], kept: [1], cascades: [cascade]),
            isRetired: false)
    }

    private func deleted(
        _ entity: TrackedEntity, _ key: Int64, of parent: Value? = nil, seq: Int64,
        time: Double? = 1
    ) -> Draft {
        Draft(
            entity: entity, key: ObjectKey(.integer(key)), seq: seq, state: .deleted,
            kept: parent.map { [$0] } ?? [], time: time)
    }

    /// `Album/10 < 1`: its cause is the delete of `1`.
    private func texts(_ drafts: [Draft]) -> [String] {
        drafts.map { draft in
            let text = "\(draft.entity.name)/\(draft.key)"
            guard case .cascade(_, let key) = draft.cause else { return text }
            return "\(text) < \(key)"
        }
    }

    @Test func parentsComeFirstAndChildrenInTheirOrder() {
        let arranged = CascadeOrder.arrange([
            deleted(Self.track, 100, of: 10, seq: 1), deleted(Self.track, 101, of: 11, seq: 2),
            deleted(Self.album, 10, of: 1, seq: 3), deleted(Self.album, 11, of: 1, seq: 4),
            deleted(Self.artist, 1, seq: 5),
        ])
        #expect(
            texts(arranged) == [
                "Artist/1", "Album/10 < 1", "Track/100 < 10", "Album/11 < 1", "Track/101 < 11",
            ])
        #expect(arranged.map(\.seq) == [1, 2, 3, 4, 5])
    }

    @Test func otherChangesKeepTheirPlace() {
        let insert = Draft(
            entity: Self.album, key: ObjectKey(.integer(12)), seq: 2, state: .inserted, time: 1)
        let arranged = CascadeOrder.arrange([
            deleted(Self.album, 10, of: 1, seq: 1), insert, deleted(Self.artist, 1, seq: 3),
        ])
        #expect(texts(arranged) == ["Album/12", "Artist/1", "Album/10 < 1"])
    }

    /// What a program deletes by itself is not taken for a cascade.
    @Test func deletesThatAreNoCascadeStay() {
        let cases: [[Draft]] = [
            // Of two statements.
            [
                deleted(Self.album, 10, of: 1, seq: 1, time: 1),
                deleted(Self.artist, 1, seq: 2, time: 2),
            ],
            // The parent went first.
            [deleted(Self.artist, 1, seq: 1), deleted(Self.album, 10, of: 1, seq: 2)],
            // Of another parent, of none, and with a reference that was not kept.
            [deleted(Self.album, 10, of: 2, seq: 1), deleted(Self.artist, 1, seq: 2)],
            [deleted(Self.album, 10, of: .null, seq: 1), deleted(Self.artist, 1, seq: 2)],
            [deleted(Self.album, 10, seq: 1), deleted(Self.artist, 1, seq: 2)],
            // Nothing says when.
            [
                deleted(Self.album, 10, of: 1, seq: 1, time: nil),
                deleted(Self.artist, 1, seq: 2, time: nil),
            ],
        ]
        for drafts in cases {
            let arranged = CascadeOrder.arrange(drafts)
            #expect(texts(arranged) == texts(drafts))
            #expect(arranged.map(\.seq) == drafts.map(\.seq))
        }
    }

    @Test func aTableMayReferToItself() {
        let node = Self.entity(4, "Node", parent: "node")
        let arranged = CascadeOrder.arrange([
            deleted(node, 3, of: 2, seq: 1), deleted(node, 2, of: 1, seq: 2),
            deleted(node, 1, of: .null, seq: 3),
        ])
        #expect(texts(arranged) == ["Node/1", "Node/2 < 1", "Node/3 < 2"])
    }
}
