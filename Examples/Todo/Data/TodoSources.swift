import SyncObjects

/// Where the lists get their objects from: one property for each list.
struct TodoSources: ObjectsDataSource {
    var groups: FetchDataSource<TodoGroup>
    var tasks: FetchDataSource<TodoTask>

    /// From a store.
    static let live = TodoSources(groups: .fetchRequest, tasks: .fetchRequest)

    /// From nowhere: for a look at the views without any store.
    static let mock = TodoSources(
        groups: .mockObjects(
            EquatableObjects([
                MockObject(TodoGroup(id: .string("home"), title: "Home", openTasks: 1))
                    .eraseToAny()
            ])),
        tasks: .mockObjects(
            EquatableObjects([
                MockObject(
                    TodoTask(
                        id: .string("plants"), title: "Water the plants", priority: 1,
                        isCompleted: false, memo: "not the cactus")
                ).eraseToAny(),
                MockObject(
                    TodoTask(
                        id: .string("ada"), title: "Call Ada", priority: 0, isCompleted: true,
                        memo: nil)
                ).eraseToAny(),
            ])))
}
