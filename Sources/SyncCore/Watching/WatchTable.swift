import CLinux
import SyncValues

/// Which inotify watch belongs to which stores, and what its events mean to them. Confined to the
/// watch thread.
///
/// A folder has one watch however many stores are in it, and a file one however often it was added.
/// Where the system has no watch left, none is set: the safety check covers the store.
final class WatchTable {
    /// What an event means to a store.
    enum Notice {
        /// The -wal, the -journal or, in a rollback mode, the database was written.
        case written(WatchedStore)
        /// The -journal was removed: a commit or a rollback is done.
        case journalEnded(WatchedStore)
        case walAppeared(WatchedStore)
        case walVanished(WatchedStore)
        /// The path may name another file.
        case fileChanged(WatchedStore)
        /// Events were lost.
        case overflow
    }

    let inotify: Inotify
    private var folders: [Int32: Folder] = [:]
    private var files: [Int32: [WatchedStore]] = [:]

    private final class Folder {
        var stores: ExactMap<[WatchedStore]> = [:]
    }

    private static let folderMask = UInt32(
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR)

    init(_ inotify: Inotify) { self.inotify = inotify }

    // MARK: Watches

    func add(_ store: WatchedStore) {
        if let watch = inotify.add(store.file.folder, mask: Self.folderMask) {
            store.folderWatch = watch
            let folder = folders[watch] ?? Folder()
            folder.stores[store.file.name, default: []].append(store)
            folders[watch] = folder
        }
        addJournalWatches(of: store)
    }

    func remove(_ store: WatchedStore) {
        removeJournalWatches(of: store)
        guard let watch = store.folderWatch, let folder = folders[watch] else { return }
        store.folderWatch = nil
        folder.stores[store.file.name]?.removeAll { $0 === store }
        if folder.stores[store.file.name]?.isEmpty ?? false {
            folder.stores[store.file.name] = nil
        }
        if folder.stores.isEmpty {
            folders[watch] = nil
            inotify.remove(watch)
        }
    }

    /// Watches the -wal; in a rollback mode the database and its -journal too, and the -wal of one
    /// that is being switched.
    func addJournalWatches(of store: WatchedStore) {
        let names = store.index == nil ? ["", "-journal", "-wal"] : ["-wal"]
        for name in names { addFile(store.file.path + name, for: store) }
    }

    func removeJournalWatches(of store: WatchedStore) {
        for watch in store.fileWatches {
            files[watch]?.removeAll { $0 === store }
            if files[watch]?.isEmpty ?? false {
                files[watch] = nil
                inotify.remove(watch)
            }
        }
        store.fileWatches = []
    }

    private func addFile(_ path: String, for store: WatchedStore) {
        guard let watch = inotify.add(path, mask: UInt32(IN_MODIFY)) else { return }
        guard !store.fileWatches.contains(watch) else { return }
        store.fileWatches.append(watch)
        files[watch, default: []].append(store)
    }

    // MARK: Events

    func read(_ body: (Notice) -> Void) {
        inotify.read { event in
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                body(.overflow)
            } else if let folder = folders[event.watch] {
                handle(event, in: folder, body)
            } else if let stores = files[event.watch] {
                if event.mask & UInt32(IN_IGNORED) != 0 {
                    files[event.watch] = nil
                    for store in stores { store.fileWatches.removeAll { $0 == event.watch } }
                } else {
                    for store in stores { body(.written(store)) }
                }
            }
        }
    }

    private func handle(
        _ event: Inotify.Event, in folder: Folder, _ body: (Notice) -> Void
    ) {
        if event.name.isEmpty {
            // The folder itself was moved or removed.
            if event.mask & UInt32(IN_IGNORED) != 0 { folders[event.watch] = nil }
            for store in folder.stores.values.joined() { body(.fileChanged(store)) }
            return
        }
        let isThere = event.mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0
        if let stores = folder.stores[event.name] {
            for store in stores { body(.fileChanged(store)) }
        } else if event.name.hasSuffix("-wal"),
            let stores = folder.stores[String(event.name.dropLast(4))]
        {
            for store in stores {
                if isThere, store.mode == .watching { addJournalWatches(of: store) }
                body(isThere ? .walAppeared(store) : .walVanished(store))
            }
        } else if event.name.hasSuffix("-journal"),
            let stores = folder.stores[String(event.name.dropLast(8))]
        {
            for store in stores where store.index == nil {
                if isThere {
                    addFile(store.file.path + "-journal", for: store)
                } else {
                    body(.journalEnded(store))
                }
            }
        }
    }
}
