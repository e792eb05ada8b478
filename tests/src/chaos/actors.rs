//! One execution in each state at the same time, so that a fault affects all of them.

use std::fmt::Write as _;

use airlock_client::v1::{self, ExecutionState};

use super::{
    actor::{Actor, Ending, GATE, Part, Permits, WAIT, eventually, follow, lines, persist},
    consistency_check,
    scenario::open_session,
    scene::Scene,
};
use crate::reader::cause;

/// The executions.
#[derive(Debug)]
pub struct Actors {
    /// Their session.
    pub session: String,
    /// The executions, in the order of [`parts`].
    pub all: Vec<Actor>,
}

/// The output of one execution that was certainly written when its runner died.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    told: u64,
    kept: Option<(u64, u64)>,
}

/// The indices of the [`parts`] that have a special role.
const QUIET: usize = 0;
const QUEUED: usize = 1;
const PENDING: usize = 2;
const BACKGROUND: usize = 3;
const GRACE: usize = 4;
const STDIN: usize = 5;
const DONE: usize = 6;
/// Its output is longer than that of all others together.
const HARD: usize = 8;

fn parts() -> Vec<Part> {
    let two = |name, body: String| Part::new(name, body, lines(1, 200));
    let halves = format!("seq 1 100; {WAIT}; seq 101 200; exit 7");
    let serial = |part: Part| Part { serial: true, ..part };
    let ignores = "trap '' TERM; seq 1 100; while :; do sleep 0.1; done".to_owned();
    let both = format!("seq 1 1000; seq 1 500 >&2; {WAIT}; seq 1001 2000; seq 501 1000 >&2; exit 7");
    let mut hard = String::from("for i in ");
    for round in 0..30 {
        let _ = write!(hard, "{} ", round * 3000);
    }
    hard.push_str("; do seq $((i + 1)) $((i + 3000)); sleep 0.05; done; exit 7");
    vec![
        serial(two("quiet", format!("seq 1 100; {WAIT}; echo on > /workspace/on.txt; seq 101 200; exit 7"))),
        serial(two("queued", halves.clone())),
        Part { asks: true, ..two("pending", halves.clone()) },
        two("background", halves),
        Part { ending: Ending::Cancelled, ..Part::new("grace", ignores, lines(1, 100)) },
        Part { stdin: Some(lines(1, 3000)), ..Part::new("stdin", "cat; exit 7", lines(1, 3000)) },
        Part::new("done", "seq 1 50; exit 7", lines(1, 50)),
        Part { stderr: lines(1, 1000), ..Part::new("stderr", both, lines(1, 2000)) },
        Part::new("hard", hard, lines(1, 90_000)),
        Part::new("slow", "for i in {1..30}; do echo $i; sleep 0.1; done; exit 7", lines(1, 30)),
    ]
}

impl Actors {
    /// The number of executions.
    pub const SIZE: usize = 10;

    /// Opens a session and brings each execution to its state.
    ///
    /// # Panics
    /// If an execution does not reach its state.
    pub async fn enter(scene: &Scene, key: &str) -> Self {
        let client = &scene.client;
        let session = open_session(client, key).await;
        let mut actors = Vec::new();
        for part in parts() {
            actors.push(Actor::start(client, &session, key, part).await);
        }
        assert_eq!(actors.len(), Self::SIZE);
        let actors = Self { session, all: actors };
        for index in [QUIET, BACKGROUND, GRACE, STDIN] {
            actors.actor(index).reaches(client, ExecutionState::Running).await;
        }
        actors.actor(DONE).reaches(client, ExecutionState::Finished).await;
        actors.actor(BACKGROUND).detach(client).await;
        actors.actor(GRACE).cancel(client).await;
        assert_eq!(actors.state(scene, QUEUED).await, ExecutionState::Queued);
        assert_eq!(actors.state(scene, PENDING).await, ExecutionState::PendingApproval);
        actors
    }

    /// Returns the execution that waits for the file before it writes more.
    #[must_use]
    pub fn quiet(&self) -> &str {
        &self.actor(QUIET).id
    }

    /// Reports whether the readers have most of the output, so that few bytes follow.
    #[must_use]
    pub fn have_told_most(&self) -> bool {
        let hard = self.actor(HARD);
        hard.told() >= hard.part.stdout.len() as u64
    }

    fn actor(&self, index: usize) -> &Actor {
        self.all.get(index).expect("it is one of the parts")
    }

    async fn state(&self, scene: &Scene, index: usize) -> ExecutionState {
        persist(|| scene.client.execution(&self.actor(index).id)).await.state()
    }

    /// Returns the open approval.
    ///
    /// # Panics
    /// If there is none.
    pub async fn open_approval(&self, scene: &Scene) -> v1::Approval {
        let id = &self.actor(PENDING).id;
        eventually("the approval is open", async || {
            let page = scene.client.approvals(v1::ApprovalServiceListRequest::default()).await.ok()?;
            page.approvals.into_iter().find(|open| open.execution_id == *id)
        })
        .await
    }

    /// Waits until the server reports the executions' runner as unreachable.
    ///
    /// # Panics
    /// If it never does.
    pub async fn is_unreachable(&self, scene: &Scene) {
        let id = &self.actor(QUIET).id;
        eventually("it is said to be out of reach", async || {
            let now = scene.client.execution(id).await.ok()?;
            (now.link() == v1::LinkState::Unreachable).then_some(())
        })
        .await;
    }

    /// Returns the ends of all executions that were on the lost runner.
    ///
    /// # Panics
    /// If one of them does not end.
    pub async fn lost(&self, scene: &Scene) -> Vec<v1::Execution> {
        let mut ends = Vec::new();
        for (index, actor) in self.all.iter().enumerate() {
            if index != PENDING {
                ends.push(actor.reaches(&scene.client, ExecutionState::Finished).await);
            }
        }
        assert!(ends.iter().any(|end| cause(end) == v1::CauseCode::RunnerLost), "a reader was lost");
        ends
    }

    /// Returns the output of each execution on the runner's disk, and the number of bytes that its reader has.
    /// Call it while the runner is dead.
    #[must_use]
    pub fn written(&self, scene: &Scene) -> Vec<Written> {
        let written = |actor: &Actor| Written { told: actor.told(), kept: scene.spooled(&actor.id) };
        self.all.iter().map(written).collect()
    }

    /// Checks that the readable output of each lost execution is exactly that on the dead runner's disk, and that
    /// no reader received more.
    ///
    /// # Panics
    /// If the output differs.
    pub async fn have_kept(&self, scene: &Scene, written: &[Written]) {
        for (actor, written) in self.all.iter().zip(written) {
            let now = persist(|| scene.client.execution(&actor.id)).await;
            if cause(&now) == v1::CauseCode::RunnerLost {
                let (name, kept) = (&actor.part.name, written.kept.unwrap_or_default());
                let result = now.result.unwrap_or_default();
                let read = follow(scene.client.clone(), actor.id.clone()).await.unwrap();
                let read = (read.stdout.bytes.len() as u64, read.stderr.bytes.len() as u64);
                assert_eq!(((result.stdout_bytes, result.stderr_bytes), read), (kept, kept), "{name}");
                assert!(written.told <= kept.0 + kept.1, "{name}: {written:?}");
            }
        }
    }

    /// Returns the number of executions that the end of a drain interrupted. The output of each ended execution
    /// must be stored.
    ///
    /// # Panics
    /// If an output is not stored.
    pub async fn ended_by_drain(&self, scene: &Scene) -> usize {
        let mut cut = 0;
        for actor in &self.all {
            let now = persist(|| scene.client.execution(&actor.id)).await;
            if now.state() != ExecutionState::Finished {
                continue;
            }
            let stored = matches!(now.output_state(), v1::OutputState::Stored | v1::OutputState::None);
            assert!(stored, "{}: {:?}", actor.part.name, now.output_state());
            cut += usize::from(
                actor.part.ending != Ending::Cancelled && cause(&now) == v1::CauseCode::Cancelled,
            );
        }
        cut
    }

    /// Lets all executions end: creates the file, approves, sends input.
    pub async fn dismiss(&self, scene: &Scene) {
        scene.open_gate(GATE);
        self.actor(PENDING).allow(&scene.client).await;
        self.actor(STDIN).feed(&scene.client).await;
    }

    /// Like [`Actors::dismiss`], followed by the consistency check.
    pub async fn stop(&mut self, scene: &Scene, permits: Permits) {
        self.dismiss(scene).await;
        self.check(scene, permits).await;
    }

    /// Runs the consistency check.
    pub async fn check(&mut self, scene: &Scene, permits: Permits) {
        let session = self.session.clone();
        consistency_check::check(scene, &session, &mut self.all, permits).await;
    }
}
