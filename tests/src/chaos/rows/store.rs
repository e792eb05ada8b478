//! The store is gone for a while: somebody else holds its lock for longer than the server waits.

use std::time::Duration;

use airlock_cli::client::{Client, ClientError, Patience, Settings};
use sqlx::Connection as _;
use tonic::Code;

use super::Row;
use crate::chaos::{
    actor::{Actor, GATE, Part, Permits, allow_once, eventually, lines, persist},
    cast::Cast,
    plan::Plan,
    scene::{Scene, Setting},
};

/// What happens while it is gone, besides a start.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    /// Nothing.
    Nothing,
    /// Everything that runs ends.
    Ends,
    /// An approval is answered.
    Answer,
}

/// A client that says what the first answer was.
pub(super) fn impatient(scene: &Scene) -> Client {
    let patience = Patience { call: Duration::ZERO, view: Duration::ZERO, ..Patience::default() };
    Client::connect_lazy(Settings { patience, ..scene.site.settings() }).unwrap()
}

pub(super) async fn gone(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    for (index, meanwhile) in plan.choose(&[Meanwhile::Nothing, Meanwhile::Ends, Meanwhile::Answer]) {
        let key = Row::StoreGone.note(plan, index, &meanwhile);
        let mut cast = Cast::enter(&scene, &key).await;
        let approval = cast.open_approval(&scene).await;

        let mut store = scene.store().await;
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut store).await.unwrap();
        match meanwhile {
            Meanwhile::Ends => {
                scene.open_gate(GATE);
                goes_on(&scene).await;
            }
            Meanwhile::Nothing | Meanwhile::Answer => {}
        }
        let part = Part::new("late", "seq 1 10; exit 7", lines(1, 10));
        let refused = impatient(&scene).start(part.spec(&cast.session, &key)).await.unwrap_err();
        is_unavailable(&refused);
        if matches!(meanwhile, Meanwhile::Answer) {
            is_unavailable(&impatient(&scene).decide(allow_once(&approval)).await.unwrap_err());
        }
        sqlx::query("ROLLBACK").execute(&mut store).await.unwrap();
        drop(store.close().await);

        scene.ready().await;
        assert_eq!(cast.open_approval(&scene).await.approval_id, approval.approval_id, "it stands as it was");
        persist(|| scene.client.session(&cast.session)).await;
        // The one that was refused was not written down in part.
        let late = Actor::start(&scene.client, &cast.session, &key, part).await;
        cast.actors.push(late);
        cast.bow(&scene, Permits::default()).await;
    }
    scene.end().await;
}

/// What runs went past the gate.
async fn goes_on(scene: &Scene) {
    eventually("a running command goes on", async || {
        scene.workspaces().iter().any(|workspace| workspace.join("on.txt").exists()).then_some(())
    })
    .await;
}

fn is_unavailable(error: &ClientError) {
    let error = match error {
        ClientError::StartUnknown { last, .. } => last,
        other => other,
    };
    let ClientError::Rejected(no) = error else { panic!("it says nothing of why: {error:?}") };
    assert_eq!(no.code, Code::Unavailable, "{no:?}");
    assert!(no.retry_after.is_some() && !no.reason.is_empty(), "it says when to try again: {no:?}");
}
