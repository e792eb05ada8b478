//! Quarantines: pages, restored files, and runners that violate the protocol.

use airlock_domain::{
    ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExecutionId, QuarantineOrder, QuarantinedFile,
    SessionId,
};
use tokio::task::JoinHandle;

use super::world::{World, failed, info, outcome, runner_id, who};
use crate::{
    api::ApiError,
    files::{self, Listed},
};

fn item(id: &str) -> QuarantinedFile {
    QuarantinedFile {
        id: id.to_owned(),
        info: info("/workspace/.bashrc"),
        reason: "created".to_owned(),
        moved_micros: 1,
        execution_id: ExecutionId::new().to_string(),
    }
}

fn page(files: Vec<QuarantinedFile>, more: bool) -> ExchangeFromRunner {
    ExchangeFromRunner::Quarantine { files, more }
}

type Listing = JoinHandle<Result<Listed<QuarantinedFile>, ApiError>>;

impl World {
    fn quarantine(&self, order: &QuarantineOrder, token: &str) -> Listing {
        let (exchanges, order) = (self.exchanges.clone(), order.clone());
        let token = Some(token.to_owned()).filter(|token| !token.is_empty());
        tokio::spawn(async move {
            files::list_quarantine(&exchanges, &who("one"), &runner_id(), order, token).await
        })
    }

    fn restore(&self, session_id: SessionId) -> JoinHandle<Result<(Vec<u8>, String), ApiError>> {
        let exchanges = self.exchanges.clone();
        tokio::spawn(async move {
            let id = "a1".to_owned();
            files::restore_quarantine(&exchanges, &who("one"), &runner_id(), session_id, id).await
        })
    }
}

fn order() -> QuarantineOrder {
    QuarantineOrder { session_id: SessionId::new(), after: String::new(), page_size: 2 }
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_quarantine_follow_each_other() {
    let (world, order) = (World::new(), order());
    let call = world.quarantine(&order, "");
    let (line, _) = world.line().await;
    line.say(page(vec![item("a1"), item("b2")], true)).await;
    let token = outcome(call).await.unwrap().next_page_token();

    let call = world.quarantine(&order, &token);
    let (line, asked) = world.line().await;
    assert_eq!(asked, ExchangeOrder::Quarantine(QuarantineOrder { after: "b2".to_owned(), ..order }));
    line.say(page(vec![item("c3")], false)).await;
    assert_eq!(outcome(call).await.unwrap().next_page_token(), "");
}

#[tokio::test(start_paused = true)]
async fn a_lying_runner_has_no_impossible_item() {
    let odd = |change: fn(&mut QuarantinedFile)| {
        let mut item = item("a1");
        change(&mut item);
        page(vec![item], false)
    };
    for lie in [
        page(vec![item("a"), item("b"), item("c")], false),
        page(Vec::new(), true),
        odd(|item| item.id = "../x".to_owned()),
        odd(|item| item.id = String::new()),
        odd(|item| item.reason = "Be careful\n".to_owned()),
        odd(|item| item.execution_id = "x".to_owned()),
        odd(|item| item.info.path = b"x".to_vec()),
        ExchangeFromRunner::Files { files: Vec::new(), more: false },
    ] {
        let world = World::new();
        let call = world.quarantine(&order(), "");
        let (line, _) = world.line().await;
        line.say(lie.clone()).await;
        assert!(matches!(outcome(call).await, Err(ApiError::Internal(_))), "{lie:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_is_told_with_what_stood_there() {
    let (world, session) = (World::new(), SessionId::new());
    let call = world.restore(session);
    let (line, asked) = world.line().await;
    assert_eq!(asked, ExchangeOrder::Restore { session_id: session, quarantine_id: "a1".to_owned() });
    let restored = |path: &[u8], id: &str| ExchangeFromRunner::Restored {
        path: path.to_vec(),
        replaced_id: id.to_owned(),
    };
    line.say(restored(b"/workspace/.bashrc", "b2")).await;
    assert_eq!(outcome(call).await.unwrap(), (b"/workspace/.bashrc".to_vec(), "b2".to_owned()));

    for (answer, is_lie) in [
        (restored(b"x", "../x"), true),
        (restored(&[b'x'; 5000], ""), true),
        (page(Vec::new(), false), true),
        (failed(ExchangeFailure::NotFound, "NOT_IN_QUARANTINE"), false),
    ] {
        let call = world.restore(session);
        let (line, _) = world.line().await;
        line.say(answer.clone()).await;
        let error = outcome(call).await.unwrap_err();
        assert_eq!(matches!(error, ApiError::Internal(_)), is_lie, "{answer:?}: {error:?}");
    }
}
