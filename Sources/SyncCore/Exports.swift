// A program that imports SyncCore names values, identifiers and errors without a second import.
@_exported import SyncValues
