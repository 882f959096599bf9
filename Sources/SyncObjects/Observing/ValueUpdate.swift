// Writing through a value: the object is looked up again, and the save compares its row.

extension ManagedObjectContext {
    /// Changes the object that a value represents, and saves.
    ///
    /// Checked twice: the object must exist when it is looked up, and its row must be unchanged
    /// when it is written. Nothing is inserted, and nothing is saved if either check fails.
    ///
    /// - Throws: ``ObjectError/Code/noSuchObject``, ``ObjectError/Code/staleIncarnation``,
    ///   ``ObjectError/Code/classMismatch``, and the errors of ``ManagedObjectContext/save()``.
    public func update<Object: ManagedObject>(
        _ type: Object.Type, id: WrappedID, applying body: (Object) throws -> Void
    ) throws {
        try performAndWait {
            let object = try confirmed(type, id: id)
            do {
                try body(object)
                try save()
            } catch {
                if object.phase == .live { forget(object) }
                dropEdits(of: object)
                throw error
            }
        }
    }

    /// Deletes the object that a value represents, and saves.
    ///
    /// - Throws: as `update`
    public func delete<Object: ManagedObject>(_ type: Object.Type, id: WrappedID) throws {
        try performAndWait {
            try delete(try confirmed(type, id: id))
            try save()
        }
    }

    /// The object that a value represents.
    ///
    /// - Throws: ``ObjectError/Code/noSuchObject``, ``ObjectError/Code/staleIncarnation``,
    ///   ``ObjectError/Code/classMismatch``
    public func confirmed<Object: ManagedObject>(
        _: Object.Type, id: WrappedID
    ) throws -> Object {
        guard let objectID = id.objectID else {
            throw ObjectError(.noSuchObject, "“\(id)” is the identity of a mock, not of an object")
        }
        let object = try existingObject(with: objectID)
        guard let typed = object as? Object else {
            throw ObjectError(
                .classMismatch, "“\(id)” is a \(Swift.type(of: object)), not a \(Object.self)",
                object: objectID)
        }
        return typed
    }
}
