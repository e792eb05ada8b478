//! The store is unavailable for a while: another process holds its lock, for writers or for all, its disk returns
//! errors, or its files were moved away.

use std::{fs, path::PathBuf};

use airlock_client::{ClientError, v1::event::Event as Kind};
use sqlx::{Connection as _, SqliteConnection};
use tokio::task::JoinHandle;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::{
    clients::{impatient, view},
    row::Row,
};
use crate::{
    chaos::{
        actor::{Actor, GATE, Part, Permits, allow_once, eventually, lines, persist},
        actors::Actors,
        plan::Plan,
        scene::{Scene, Setting, Side},
    },
    process::Process,
};

/// The cause of the outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Another process writes for longer than the server waits.
    Writers,
    /// Reads are blocked, too: all reader locks are taken.
    Everybody,
    /// Every operation fails, as with a failing disk.
    Broken,
    /// The files are moved away. Open files remain usable.
    Moved,
}

/// The event during the outage, in addition to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// No event.
    Nothing,
    /// All running executions end.
    Ends,
    /// An approval is answered.
    Answer,
}

const LIST: [(How, Meanwhile); 10] = [
    (How::Writers, Meanwhile::Nothing),
    (How::Writers, Meanwhile::Ends),
    (How::Writers, Meanwhile::Answer),
    (How::Everybody, Meanwhile::Nothing),
    (How::Everybody, Meanwhile::Ends),
    (How::Everybody, Meanwhile::Answer),
    (How::Broken, Meanwhile::Nothing),
    (How::Broken, Meanwhile::Ends),
    (How::Broken, Meanwhile::Answer),
    (How::Moved, Meanwhile::Ends),
];

/// The bytes of the WAL index that readers lock (`WAL_READ_LOCK`): the first, and their number.
const READERS: (u32, u32) = (123, 5);
/// A script that holds these locks.
const LOCKER: &str = "import fcntl, sys\n\
    file = open(sys.argv[1], 'r+b')\n\
    fcntl.lockf(file, fcntl.LOCK_EX, int(sys.argv[3]), int(sys.argv[2]))\n\
    print('held', flush=True)\n\
    import time\n\
    time.sleep(600)\n";

/// An unavailable store, until it is restored.
enum Gone {
    Writers(Box<SqliteConnection>),
    Everybody(Process),
    Broken(PathBuf),
    Moved(Vec<(PathBuf, PathBuf)>),
}

impl Gone {
    async fn take(scene: &Scene, how: How) -> Self {
        match how {
            How::Writers => {
                let mut store = scene.store().await;
                sqlx::query("BEGIN EXCLUSIVE").execute(&mut store).await.unwrap();
                Self::Writers(Box::new(store))
            }
            How::Everybody => {
                let log = scene.site.path().join("locker.log");
                drop(fs::remove_file(&log));
                let mut locker = std::process::Command::new("python3");
                locker.args(["-c", LOCKER]).arg(scene.site.path().join("airlock.db-shm"));
                locker.args([READERS.0.to_string(), READERS.1.to_string()]);
                let locker = Process::start(&mut locker, &log);
                eventually("readers are locked out", async || locker.output().contains("held").then_some(()))
                    .await;
                Self::Everybody(locker)
            }
            How::Broken => {
                fs::write(away(scene), "").unwrap();
                Self::Broken(away(scene))
            }
            How::Moved => {
                let directory = scene.site.path().join("moved");
                fs::create_dir_all(&directory).unwrap();
                let files = ["airlock.db", "airlock.db-wal", "airlock.db-shm"];
                let files = files.map(|name| (scene.site.path().join(name), directory.join(name)));
                for (from, to) in &files {
                    fs::rename(from, to).unwrap();
                }
                Self::Moved(files.into())
            }
        }
    }

    async fn give_back(self) {
        match self {
            Self::Writers(mut store) => {
                sqlx::query("ROLLBACK").execute(&mut *store).await.unwrap();
                drop(store.close().await);
            }
            Self::Everybody(locker) => locker.kill(),
            Self::Broken(file) => fs::remove_file(file).unwrap(),
            Self::Moved(files) => {
                for (from, to) in files {
                    assert!(!from.exists(), "no other store was created in its place");
                    fs::rename(to, from).unwrap();
                }
            }
        }
    }
}

fn away(scene: &Scene) -> PathBuf {
    scene.site.path().join("store-is-away")
}

pub(super) async fn gone(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    scene.restart(Side::Server, &[("AIRLOCK_FAULT_STORE", &away(&scene).display().to_string())]);
    scene.ready().await;
    for (index, (how, meanwhile)) in plan.choose(&LIST) {
        let key = Row::StoreGone.note(plan, index, &(how, meanwhile));
        let mut actors = Actors::enter(&scene, &key).await;
        let approval = actors.open_approval(&scene).await;
        let attached = attach(&scene, &actors).await;

        let gone = Gone::take(&scene, how).await;
        if meanwhile == Meanwhile::Ends {
            scene.open_gate(GATE);
            goes_on(&scene).await;
            attached.sees_or_is_told(lines(1, 200).len()).await;
        }
        let part = Part::new("late", "seq 1 10; exit 7", lines(1, 10));
        let started = impatient(&scene).start(part.spec(&actors.session, &key)).await;
        match (how, started) {
            (How::Moved, Ok(_)) => {}
            (_, Err(refused)) => is_unavailable(&refused),
            (_, Ok(execution)) => panic!("it was accepted without a store: {execution:?}"),
        }
        if meanwhile == Meanwhile::Answer {
            is_unavailable(&impatient(&scene).decide(allow_once(&approval)).await.unwrap_err());
        }
        gone.give_back().await;

        scene.ready().await;
        if how != How::Moved {
            assert_eq!(
                actors.open_approval(&scene).await.approval_id,
                approval.approval_id,
                "the state is unchanged"
            );
        }
        persist(|| scene.client.session(&actors.session)).await;
        // No part of the refused execution was written.
        let late = Actor::start(&scene.client, &actors.session, &key, part).await;
        actors.all.push(late);
        actors.stop(&scene, Permits::default()).await;
        attached.ended_with_a_word().await;
    }
    scene.end().await;
}

/// A view that is not reopened automatically.
struct Attached {
    bytes: tokio::sync::watch::Receiver<usize>,
    reads: JoinHandle<()>,
}

/// Attaches to a command that waits for the file.
async fn attach(scene: &Scene, actors: &Actors) -> Attached {
    let mut view = view(scene, actors.quiet()).await;
    let (told, bytes) = tokio::sync::watch::channel(0);
    let reads = tokio::spawn(async move {
        loop {
            match view.message().await {
                Ok(Some(answer)) => match answer.event.and_then(|event| event.event) {
                    Some(Kind::Output(output)) => told.send_modify(|bytes| *bytes += output.data.len()),
                    Some(Kind::Finished(_)) => {
                        assert!(matches!(view.message().await, Ok(None)), "the end is the last");
                        return;
                    }
                    _ => {}
                },
                Ok(None) => panic!("a view ended without a closing event"),
                Err(status) => {
                    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                    assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
                    return;
                }
            }
        }
    });
    Attached { bytes, reads }
}

impl Attached {
    /// Waits until this number of bytes was received, or the view ended with a status that permits a retry.
    async fn sees_or_is_told(&self, count: usize) {
        let mut bytes = self.bytes.clone();
        let seen = tokio::time::timeout(crate::site::PATIENCE, bytes.wait_for(|bytes| *bytes >= count)).await;
        // The sender is dropped with a view that has ended.
        drop(seen.expect("the running command and its output continue"));
    }

    async fn ended_with_a_word(self) {
        tokio::time::timeout(crate::site::PATIENCE, self.reads).await.expect("a view ends").unwrap();
    }
}

/// Checks that running commands have continued.
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
    let ClientError::Rejected(no) = error else { panic!("the error contains no internal reason: {error:?}") };
    assert_eq!(no.code, Code::Unavailable, "{no:?}");
    assert!(no.retry_after.is_some() && !no.reason.is_empty(), "the error states when to retry: {no:?}");
}
