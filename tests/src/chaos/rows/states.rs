//! Faults in two short-lived states that a random fault would rarely hit. `STARTING` is prolonged by a link that
//! transfers no response. The state "finished but not stored" is prolonged by an output storage that refuses every
//! write.

use std::{fs, path::PathBuf};

use airlock_client::v1::{ExecutionState, LinkState, OutputState};

use super::Row;
use crate::chaos::{
    actor::{Actor, Part, Permits, eventually, lines, persist},
    consistency_check,
    plan::Plan,
    scenario::open_session,
    scene::{Scene, Setting, Side},
};

/// The prolonged state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// The offer was sent, and its outcome is unknown.
    Starting,
    /// The execution has ended, and only its runner has its output.
    Unstored,
}

/// The fault in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    ServerKilled,
    RunnerKilled,
    /// Every connection of the link is cut.
    Cut,
    /// No connection of the link is accepted until the server reports the runner as unreachable.
    Down,
    /// Both are killed.
    BothKilled,
}

const FAULTS: [Fault; 5] =
    [Fault::ServerKilled, Fault::RunnerKilled, Fault::Cut, Fault::Down, Fault::BothKilled];

pub(super) async fn held(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let list: Vec<(Held, Fault)> =
        [Held::Starting, Held::Unstored].iter().flat_map(|held| FAULTS.map(|fault| (*held, fault))).collect();
    for (index, (held, fault)) in plan.choose(&list) {
        let key = Row::HeldState.note(plan, index, &(held, fault));
        let session = open_session(&scene.client, &key).await;
        let part = Part { serial: true, ..Part::new("held", "seq 1 3000; exit 7", lines(1, 3000)) };
        if held == Held::Starting {
            scene.relay.set_stalled(true);
        }
        let outputs = (held == Held::Unstored).then(|| Blocked::new(&scene));
        let actor = Actor::start(&scene.client, &session, &key, part).await;
        let state = match held {
            Held::Starting => ExecutionState::Starting,
            Held::Unstored => ExecutionState::Finished,
        };
        actor.reaches(&scene.client, state).await;
        let now = persist(|| scene.client.execution(&actor.id)).await;
        let unstored = matches!(now.output_state(), OutputState::Live | OutputState::Storing);
        assert_eq!(
            (now.state(), unstored),
            (state, held == Held::Unstored),
            "the execution stays in this state"
        );

        inject(&scene, &actor, fault, held, outputs).await;
        scene.ready().await;
        // An execution that the runner had accepted when it died is lost, and reported as lost.
        let lost = matches!(fault, Fault::RunnerKilled | Fault::BothKilled) && held == Held::Starting;
        consistency_check::check(&scene, &session, &mut [actor], Permits { lost, ..Permits::default() })
            .await;
    }
    scene.end().await;
}

/// Injects the fault. The prolonged state ends with it.
async fn inject(scene: &Scene, actor: &Actor, fault: Fault, held: Held, outputs: Option<Blocked>) {
    let dying: &[Side] = match fault {
        Fault::ServerKilled => &[Side::Server],
        Fault::RunnerKilled => &[Side::Runner],
        Fault::BothKilled => &[Side::Server, Side::Runner],
        Fault::Cut | Fault::Down => &[],
    };
    for side in dying {
        scene.kill(*side);
    }
    match fault {
        Fault::Cut => scene.relay.cut(),
        Fault::Down => {
            scene.relay.set_down(true);
            if held == Held::Starting {
                eventually("it is said to be out of reach", async || {
                    let now = scene.client.execution(&actor.id).await.ok()?;
                    (now.link() == LinkState::Unreachable).then_some(())
                })
                .await;
            }
        }
        Fault::ServerKilled | Fault::RunnerKilled | Fault::BothKilled => {}
    }
    drop(outputs);
    scene.relay.set_stalled(false);
    scene.relay.set_down(false);
    for side in dying {
        scene.start(*side, &[]);
    }
}

/// An output storage that refuses every write: a file exists in place of its directory.
struct Blocked {
    directory: PathBuf,
    aside: PathBuf,
}

impl Blocked {
    fn new(scene: &Scene) -> Self {
        let directory = scene.site.path().join("outputs");
        let aside = scene.site.path().join("outputs-aside");
        fs::create_dir_all(&directory).unwrap();
        fs::rename(&directory, &aside).unwrap();
        fs::write(&directory, "").unwrap();
        Self { directory, aside }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        fs::remove_file(&self.directory).unwrap();
        fs::rename(&self.aside, &self.directory).unwrap();
    }
}
