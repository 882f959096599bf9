// A program that imports SyncMerge names values, identifiers and errors without a second import.
@_exported import SyncValues
