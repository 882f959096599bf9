import SyncCore
import Testing
import Varlink

@testable import SyncClient

@Suite struct ErrorTableTests {
    /// The statuses that the command line promises; 70 is for faults of our own.
    private static let statuses: Set<Int32> = [1, 64, 65, 66, 69, 70, 74, 75, 77, 78]

    @Test func everyCodeTravelsOverTheWireAndBack() {
        for row in ErrorTable.rows {
            let name = ErrorTable.varlinkError(for: row.code)
            #expect(name.hasPrefix("org.syncd.Store."))
            #expect(ErrorTable.code(ofVarlinkError: name) == row.code)
            #expect(ErrorTable.code(named: row.code.name) == row.code)
            #expect(Self.statuses.contains(ErrorTable.exitStatus(for: row.code)))
        }
    }

    @Test func foreignErrorsHaveNoCode() {
        #expect(ErrorTable.code(ofVarlinkError: "org.varlink.service.MethodNotFound") == nil)
        #expect(ErrorTable.code(ofVarlinkError: "org.syncd.Store.Nonsense") == nil)
    }

    @Test func theInterfaceDeclaresEveryError() {
        for row in ErrorTable.rows {
            #expect(StoreInterface.description.contains("\nerror \(row.error) ("))
        }
    }
}

@Suite struct StoreInterfaceTests {
    @Test func theDefinitionIsVarlink() throws {
        let interface = try Interface(parsing: StoreInterface.description)
        #expect(interface.name == StoreInterface.name)
        #expect(interface.methods.count >= 16)
    }
}
