//! Tasks of others.

use oxikit_wire::a2a::{PushConfig, TaskState};

use super::{Store, head, is_not_found, kept, next_turn, refused, status, task};
use crate::ports::{NewTask, Owner, PushTarget, TaskQuery, TaskScope};

pub(super) async fn a_task_of_another_scope_is_not_there(store: Store) {
    let id = "contract-task-own";
    let ada = || Owner::principal("ada").of_tenant("t1");
    let own = TaskScope::new(ada(), "agent-a");
    let new = NewTask { scope: own.clone(), ..task(id) };
    kept("create", store.create(new).await);
    let config = PushConfig { url: "https://example.com".to_owned(), ..PushConfig::default() };
    let target = PushTarget { id: "hook".to_owned(), config, version: "1.0".to_owned() };
    kept("put", store.put_push(&own, id, target.clone()).await);
    for (scope, id) in [
        (TaskScope::new(Owner::principal("bob").of_tenant("t1"), "agent-a"), id),
        (TaskScope::new(Owner::principal("ada").of_tenant("t2"), "agent-a"), id),
        (TaskScope::new(Owner::principal("ada"), "agent-a"), id),
        (TaskScope::new(Owner::nobody(), "agent-a"), id),
        (TaskScope::new(ada(), "agent-b"), id),
        (TaskScope::new(ada(), "agent-A"), id),
        (TaskScope::new(ada(), "agent-a "), id),
        (TaskScope::new(ada(), ""), id),
        (own.clone(), "contract-task-nowhere"),
    ] {
        let (turn, end) = (next_turn("runner-2", "more"), status(TaskState::Canceled));
        refused("head", store.head(&scope, id).await, is_not_found);
        refused("read", store.read(&scope, id, 0, 10).await, is_not_found);
        refused("wait", store.wait(&scope, id, 0).await, is_not_found);
        refused("receive", store.receive(&scope, id, turn).await, is_not_found);
        refused("end", store.end(&scope, id, end).await, is_not_found);
        refused("put", store.put_push(&scope, id, target.clone()).await, is_not_found);
        refused("targets", store.push_targets(&scope, id).await, is_not_found);
        refused("remove", store.remove_push(&scope, id, "hook").await, is_not_found);
        if scope != own {
            let query = TaskQuery { limit: 10, ..TaskQuery::default() };
            let list = kept("list", store.list(&scope, &query).await);
            assert!(list.tasks.iter().all(|task| task.id != id), "{scope:?}");
        }
    }
    let list = TaskQuery { limit: 10, ..TaskQuery::default() };
    let list = kept("list", store.list(&own, &list).await);
    assert_eq!((list.total, list.tasks.len()), (1, 1), "the owner's own list");
    let read = kept("the owner reads", store.head(&own, id).await);
    assert_eq!((read.position, read.status.state), (1, TaskState::Submitted));
    assert_eq!(kept("targets", store.push_targets(&own, id).await), [target]);
    assert!(store.head(&super::own(), id).await.is_err());
    // The scope of other cases has tasks of its own.
    super::created(&store, "contract-task-own-2").await;
    head(&store, "contract-task-own-2").await;
}
