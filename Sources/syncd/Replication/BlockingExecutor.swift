import Dispatch

/// Runs tasks that block, as merging does, on threads of their own: the few threads that all async
/// functions share stay free for those that answer clients.
final class BlockingExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "syncd.replication", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}
