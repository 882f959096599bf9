/// The reader of the output has closed it, as `head` does. The command ends silently. An output
/// that cannot be written for another reason is a `SyncError`.
struct OutputClosed: Error {}
