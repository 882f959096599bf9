// A program that imports SyncReplica names stores, batches and remotes without further imports.
@_exported import SyncCore
@_exported import SyncMerge
