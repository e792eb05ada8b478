//! Stat, listings and comparisons: pages, page tokens, and runners that violate the protocol.

use airlock_domain::{
    ChangeKind, DiffOrder, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, FileChange, FileFilter,
    FileInfo, ListOrder, SessionId,
};
use tokio::task::JoinHandle;

use super::world::{World, chunk_from, failed, info, outcome, runner_id, who};
use crate::{
    api::ApiError,
    files::{self, Listed},
};

fn list_order(session_id: SessionId) -> ListOrder {
    ListOrder {
        session_id,
        path: Vec::new(),
        recursive: true,
        after: Vec::new(),
        page_size: 2,
        filter: FileFilter::default(),
    }
}

fn page(paths: &[&str], more: bool) -> ExchangeFromRunner {
    ExchangeFromRunner::Files { files: paths.iter().map(|path| info(path)).collect(), more }
}

impl World {
    fn list(&self, order: ListOrder, token: &str) -> JoinHandle<Result<Listed<FileInfo>, ApiError>> {
        let (exchanges, token) =
            (self.exchanges.clone(), Some(token.to_owned()).filter(|token| !token.is_empty()));
        tokio::spawn(async move { files::list(&exchanges, &who("one"), &runner_id(), order, token).await })
    }

    fn diff(&self) -> JoinHandle<Result<Listed<FileChange>, ApiError>> {
        let exchanges = self.exchanges.clone();
        let order = DiffOrder {
            session_id: SessionId::new(),
            path: Vec::new(),
            after: Vec::new(),
            page_size: 2,
            filter: FileFilter::default(),
            patch: true,
        };
        tokio::spawn(async move { files::diff(&exchanges, &who("one"), &runner_id(), order, None).await })
    }
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other_by_their_tokens() {
    let world = World::new();
    let order = list_order(SessionId::new());
    let call = world.list(order.clone(), "");
    let (line, _) = world.line().await;
    line.say(page(&["/workspace/a", "/workspace/b"], true)).await;
    let token = outcome(call).await.unwrap().next_page_token();

    let call = world.list(order.clone(), &token);
    let (line, asked) = world.line().await;
    assert_eq!(asked, ExchangeOrder::List(ListOrder { after: b"/workspace/b".to_vec(), ..order.clone() }));
    line.say(page(&["/workspace/c"], false)).await;
    assert_eq!(outcome(call).await.unwrap().next_page_token(), "");

    let others = [
        list_order(SessionId::new()),
        ListOrder { recursive: false, ..order.clone() },
        ListOrder { path: b"a".to_vec(), ..order.clone() },
        ListOrder {
            filter: FileFilter { include: vec!["*".to_owned()], ..FileFilter::default() },
            ..order.clone()
        },
    ];
    for other in others {
        let error = outcome(world.list(other, &token)).await.unwrap_err();
        assert!(matches!(&error, ApiError::Invalid(bad) if bad[0].field == "page.page_token"), "{error:?}");
    }
    // Only the page size differs, so the token stays valid.
    let call = world.list(ListOrder { page_size: 9, ..order }, &token);
    let (line, _) = world.line().await;
    line.say(page(&[], false)).await;
    outcome(call).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_into_a_message_is_left_to_the_next_page() {
    let world = World::new();
    let call = world.list(list_order(SessionId::new()), "");
    let (line, _) = world.line().await;
    line.say(page(&["/workspace/a", "/workspace/b"], false)).await;
    let mut listed = outcome(call).await.unwrap();
    assert_eq!(listed.next_page_token(), "");
    listed.shorten();
    assert_eq!(listed.items, [info("/workspace/a")]);
    assert!(!listed.next_page_token().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lying_runner_has_no_endless_or_overlong_list() {
    let mut long = info("/workspace/a");
    long.link_target = vec![b'x'; 5000];
    let lies = [
        ("more than asked for", page(&["/workspace/a", "/workspace/b", "/workspace/c"], false)),
        ("more after nothing", page(&[], true)),
        ("the same place again", page(&["/workspace/0"], true)),
        ("a relative path", page(&["a"], false)),
        ("what no token can name", page(&["/workspace/a\0b"], true)),
        ("a long target", ExchangeFromRunner::Files { files: vec![long], more: false }),
        ("changes", ExchangeFromRunner::Changes { changes: Vec::new(), more: false }),
        ("bytes", chunk_from(0, b"x")),
    ];
    for (name, lie) in lies {
        let world = World::new();
        let order = list_order(SessionId::new());
        let call = world.list(order.clone(), "");
        let (line, _) = world.line().await;
        line.say(page(&["/workspace/0"], true)).await;
        let token = outcome(call).await.unwrap().next_page_token();

        let call = world.list(order, &token);
        let (line, _) = world.line().await;
        line.say(lie).await;
        let error = outcome(call).await.unwrap_err();
        assert!(matches!(error, ApiError::Internal(_)), "{name}: {error:?}");
        assert_eq!(line.rest().await, [], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_of_one_file_each_and_their_patches_bounded() {
    let change = |kind, patch: usize| FileChange {
        kind,
        patch: vec![b'+'; patch],
        patch_omitted: "\u{1b}binary".to_owned(),
    };
    let modified =
        |before: &str, after: &str| ChangeKind::Modified { before: info(before), after: info(after) };
    let say = |change: FileChange| ExchangeFromRunner::Changes { changes: vec![change], more: false };

    let world = World::new();
    let call = world.diff();
    let (line, _) = world.line().await;
    line.say(say(change(modified("/workspace/a", "/workspace/a"), 64 * 1024))).await;
    let listed = outcome(call).await.unwrap();
    assert_eq!(listed.items[0].patch_omitted, "\\u{1b}binary");

    for lie in [
        change(modified("/workspace/a", "/workspace/b"), 0),
        change(modified("/workspace/a", "/workspace/a"), 64 * 1024 + 1),
        change(ChangeKind::Added { after: info("a") }, 0),
    ] {
        let call = world.diff();
        let (line, _) = world.line().await;
        line.say(say(lie)).await;
        assert!(matches!(outcome(call).await.unwrap_err(), ApiError::Internal(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_not_there_is_not_found() {
    let world = World::new();
    let exchanges = world.exchanges.clone();
    let call = tokio::spawn(async move {
        files::stat(&exchanges, &who("one"), &runner_id(), SessionId::new(), b"a".to_vec()).await
    });
    let (line, _) = world.line().await;
    line.say(failed(ExchangeFailure::NotFound, "NOT_FOUND")).await;
    let error = outcome(call).await.unwrap_err();
    let ApiError::Exchange(refusal) = error else { panic!("{error:?}") };
    assert_eq!((refusal.failure, refusal.message.as_str()), (ExchangeFailure::NotFound, "no"));
}
