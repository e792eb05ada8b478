//! The runner's disk is full, because of a command or of another process on its host.

use std::{fs, io::Write as _, path::PathBuf};

use airlock_client::v1::{self, ExecutionState};

use super::{clients::impatient, row::Row};
use crate::{
    chaos::{
        actor::{Actor, GATE, Part, Permits, WAIT, eventually, follow, lines},
        consistency_check,
        plan::Plan,
        scenario::open_session,
        scene::{Scene, Setting},
    },
    reader::cause,
};

/// The size of the runner's disk, in MiB.
const DISK: u32 = 96;
/// The configuration of the runner's reserve.
const LIMITS: &str =
    "[limits]\ndisk_reserve_bytes = 16777216\n[workspace]\nbackend = \"watch\"\nwatch_every = \"50ms\"\n";

/// The cause of the full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// A command that writes to its workspace.
    Workspace,
    /// A command that writes to its HOME.
    Home,
    /// Another process, up to the runner's reserve.
    Reserve,
    /// Another process, to the last byte.
    LastByte,
    /// Another process, to the last byte, while a command writes output.
    Spool,
}

pub(super) async fn full(plan: &Plan) {
    let setting = Setting { runner: LIMITS.to_owned(), small_disk: Some(DISK), ..Setting::default() };
    let scene = Scene::new(setting).await;
    for (index, by) in plan.choose(&[By::Workspace, By::Home, By::Reserve, By::LastByte, By::Spool]) {
        let key = Row::DiskFull.note(plan, index, &by);
        let session = open_session(&scene.client, &key).await;
        let halves = format!("seq 1 5000; {WAIT}; seq 5001 9000; exit 7");
        let bystander = Part::new("bystander", halves, lines(1, 9000));
        let bystander = Actor::start(&scene.client, &session, &key, bystander).await;
        let before = Part::new("before", "seq 1 5000; exit 7", lines(1, 5000));
        let before = Actor::start(&scene.client, &session, &key, before).await;
        before.reaches(&scene.client, ExecutionState::Finished).await;
        bystander.reaches(&scene.client, ExecutionState::Running).await;
        match by {
            By::Workspace => fill_by_command(&scene, &key, "/workspace/fill").await,
            By::Home => fill_by_command(&scene, &key, "/home/agent/fill").await,
            By::Spool => Box::pin(fill_while_it_writes(&scene, &key)).await,
            By::Reserve | By::LastByte => fill_by_somebody(&scene, &session, &key, by).await,
        }
        scene.open_gate(GATE);
        consistency_check::check(&scene, &session, &mut [before, bystander], Permits::default()).await;
    }
    scene.end().await;
}

/// The command is ended with a clear cause before it affects others.
async fn fill_by_command(scene: &Scene, key: &str, file: &str) {
    let session = open_session(&scene.client, &format!("{key}-filler")).await;
    let body =
        format!("seq 1 10; for i in $(seq 1 400); do head -c 1000000 /dev/zero >> {file}; sleep 0.02; done");
    // A write outside the workspace needs an approval.
    let filler = Part { asks: true, ..Part::new("filler", body, lines(1, 10)) };
    let mut filler = Actor::start(&scene.client, &session, key, filler).await;
    filler.allow(&scene.client).await;
    let (end, told) = filler.ended(&scene.client).await;
    assert_eq!(cause(&end), v1::CauseCode::DiskLimit, "{:?}", end.result);
    assert_eq!(told.stdout.bytes, lines(1, 10), "its output is there");
    consistency_check::close(&scene.client, &session).await;
}

/// Output that cannot be stored ends its command with a clear cause. Earlier output remains
/// readable.
async fn fill_while_it_writes(scene: &Scene, key: &str) {
    let session = open_session(&scene.client, &format!("{key}-writer")).await;
    let body = "seq 1 5000; until [ -e /workspace/flood ]; do sleep 0.1; done; seq 5001 300000; sleep 600";
    let writer = Part::new("writer", body, lines(1, 300_000));
    let mut writer = Actor::start(&scene.client, &session, key, writer).await;
    writer.reaches(&scene.client, ExecutionState::Running).await;
    let ballast = scene.seen_state().join("ballast");
    fill(&ballast, By::Spool);
    scene.open_gate("flood");
    let (end, told) = writer.ended(&scene.client).await;
    assert_eq!(cause(&end), v1::CauseCode::DiskLimit, "{:?}", end.result);
    let result = end.result.unwrap_or_default();
    let why = result.violations.iter().find(|found| (&*found.layer, &*found.kind) == ("disk", "spool"));
    let why = why.unwrap_or_else(|| panic!("it names the full disk: {:?}", result.violations));
    assert!(why.detail.contains("the disk of kept output is full"), "{}", why.detail);
    let (kept, script) = (&told.stdout.bytes, lines(1, 300_000));
    assert!(kept.len() >= lines(1, 5000).len() && script.starts_with(kept), "{} bytes", kept.len());
    assert_eq!((result.stdout_bytes, told.stdout.gaps.len()), (kept.len() as u64, 0));
    consistency_check::stored(scene, &writer).await;
    let again = follow(scene.client.clone(), writer.id.clone()).await.unwrap();
    assert!(again.stdout.bytes == *kept, "the stored output is the reported output");
    fs::remove_file(&ballast).unwrap();
    consistency_check::close(&scene.client, &session).await;
}

/// New commands are refused, and earlier output remains readable. When there is space again, commands work as before.
async fn fill_by_somebody(scene: &Scene, session: &str, key: &str, by: By) {
    let ballast = scene.seen_state().join("ballast");
    fill(&ballast, by);
    let part = Part::new("refused", "exit 7", Vec::new());
    let refused = scene.client.start(part.spec(session, key)).await.unwrap();
    let end = eventually("it is refused", async || {
        let now = scene.client.wait(&refused.execution_id, std::time::Duration::from_secs(5)).await.ok()?;
        (now.state() == ExecutionState::Finished).then_some(now)
    })
    .await;
    let result = end.result.unwrap_or_default();
    let said = result.cause.clone().unwrap_or_default();
    assert_eq!((said.code(), result.started()), (v1::CauseCode::Refused, v1::Started::No), "{said:?}");
    assert!(said.message.contains("disk_reserve_bytes"), "{said:?}");
    let request = v1::SessionServiceCreateRequest { profile: "chaos".to_owned(), ..Default::default() };
    let error = impatient(scene).create_session(request).await.unwrap_err();
    assert!(error.rejection().is_some_and(|no| no.message.contains("disk_reserve_bytes")), "{error:?}");
    let none = follow(scene.client.clone(), refused.execution_id).await.unwrap();
    assert!(none.stdout.bytes.is_empty());
    fs::remove_file(&ballast).unwrap();
}

fn fill(ballast: &PathBuf, by: By) {
    let mut file = fs::File::create(ballast).unwrap();
    let piece = vec![1; 1 << 20];
    let most = if by == By::Reserve { DISK - 12 } else { DISK * 2 };
    for _ in 0..most {
        if file.write_all(&piece).is_err() {
            break;
        }
    }
}
