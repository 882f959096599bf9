/// The reader of the output has closed it, as `head` does. The command ends silently.
struct OutputClosed: Error {}
