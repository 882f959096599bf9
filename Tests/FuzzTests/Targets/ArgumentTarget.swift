@testable import SyncCore
@testable import SyncRemotes
@testable import SyncValues
@testable import synctool

/// What a person writes on the command line: dates, positions, leases, addresses, public keys.
enum ArgumentTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let kind = choices.byte() % 6
        let text = String(decoding: choices.rest, as: UTF8.self)
        switch kind {
        case 0: try refusing("date") { try Timestamp(option: "--since", value: text) }
        case 1: try refusing("position") { try Position(option: "--at", value: text) }
        case 2: _ = Lease(argument: text)?.defaultValueDescription
        case 3: try refusing("address") { try RemoteAddress(text) }
        case 4: try refusing("public key") { try Identity.Public(text) }
        default: try refusing("object") { try ObjectName(path: text) }
        }
        // What is shown of a moment that a file may have.
        _ = LocalTime.text(Timestamp(milliseconds: choices.number()))
    }
}
