//! The link, the server or the runner is unavailable: for a moment, for a while, or longer than the
//! grace period.

use std::time::Duration;

use airlock_client::v1;
use fastrand::Rng;

use super::Row;
use crate::chaos::{
    actor::{GATE, Permits, eventually},
    actors::Actors,
    consistency_check,
    plan::Plan,
    scene::{Scene, Setting, Side},
};

const LOST: Permits = Permits { lost: true, drained: false };

/// Shorter than the grace period of commands, and long enough to be detected.
const WHILE: Duration = Duration::from_millis(1200);

/// A short outage.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Every connection of the link is cut once.
    Cut,
    /// They are cut repeatedly.
    CutOften,
    /// They are cut after at most this number of further bytes.
    CutAfter(u32),
    /// No data passes, and no connection is cut.
    Stalled,
    /// No connection is accepted.
    Down,
    /// The server is killed and restarted later.
    ServerAway,
}

const SHORT: [Fault; 12] = [
    Fault::Cut,
    Fault::CutOften,
    Fault::CutAfter(20),
    Fault::CutAfter(300),
    Fault::CutAfter(5_000),
    Fault::CutAfter(100_000),
    Fault::CutAfter(400_000),
    Fault::Stalled,
    Fault::Down,
    Fault::Down,
    Fault::ServerAway,
    Fault::ServerAway,
];

pub(super) async fn short(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    for (index, fault) in plan.choose(&SHORT) {
        let key = Row::Away.note(plan, index, &fault);
        let mut rng = plan.rng(index);
        let mut actors = Actors::enter(&scene, &key).await;
        pause(&mut rng, 600).await;
        let approval = actors.open_approval(&scene).await;
        inject(&scene, &actors, fault, &mut rng).await;
        scene.ready().await;
        assert_eq!(
            actors.open_approval(&scene).await.approval_id,
            approval.approval_id,
            "the state is unchanged"
        );
        actors.stop(&scene, Permits::default()).await;
    }
    scene.end().await;
}

async fn inject(scene: &Scene, actors: &Actors, fault: Fault, rng: &mut Rng) {
    match fault {
        Fault::Cut => scene.relay.cut(),
        Fault::CutOften => {
            for _ in 0..5 {
                scene.relay.cut();
                pause(rng, 400).await;
            }
        }
        Fault::CutAfter(most) => {
            let before = scene.relay.cuts();
            scene.relay.cut_after(rng.u32(1..=most));
            // Commands that wait for the file do not write. All other commands continue.
            scene.open_gate(GATE);
            let is_cut = || scene.relay.cuts() > before;
            let bytes = async || (is_cut() || actors.have_told_most()).then_some(());
            eventually("the bytes came", bytes).await;
            if !is_cut() {
                // On a busy host most of the output came before the fault. The next heartbeat is cut.
                scene.relay.cut_after(1);
            }
            eventually("the cut came", async || is_cut().then_some(())).await;
        }
        Fault::Stalled => {
            scene.relay.set_stalled(true);
            tokio::time::sleep(WHILE).await;
            scene.relay.set_stalled(false);
        }
        Fault::Down => {
            scene.relay.set_down(true);
            actors.is_unreachable(scene).await;
            pause(rng, 600).await;
            scene.relay.set_down(false);
        }
        Fault::ServerAway => {
            scene.kill(Side::Server);
            tokio::time::sleep(WHILE).await;
            scene.start(Side::Server, &[]);
        }
    }
}

pub(super) async fn server_moment(plan: &Plan) {
    Box::pin(moment(Row::ServerMoment, Side::Server, plan)).await;
}

pub(super) async fn runner_moment(plan: &Plan) {
    Box::pin(moment(Row::RunnerMoment, Side::Runner, plan)).await;
}

/// One side is killed at a random time while the executions start, wait or end.
async fn moment(row: Row, side: Side, plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let list: Vec<usize> = (0..row.least()).collect();
    for (index, _) in plan.choose(&list) {
        let key = row.note(plan, index, &side);
        let mut rng = plan.rng(index);
        let mut actors = Actors::enter(&scene, &key).await;
        let leaving = rng.bool();
        if leaving {
            scene.open_gate(GATE);
        }
        pause(&mut rng, 1500).await;
        scene.kill(side);
        let written = actors.written(&scene);
        pause(&mut rng, 300).await;
        scene.start(side, &[]);
        scene.ready().await;
        let permits = Permits { lost: side == Side::Runner, ..Permits::default() };
        actors.stop(&scene, permits).await;
        if side == Side::Runner {
            actors.have_kept(&scene, &written).await;
        }
    }
    scene.end().await;
}

/// The cause of an outage that is longer than the grace period of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    /// No connection of the link is accepted.
    Down,
    /// No data passes, and no connection is cut.
    Stalled,
    /// The server is killed, and restarted after the runner has ended its epoch.
    ServerAway,
}

pub(super) async fn long(plan: &Plan) {
    // The profile's time between SIGTERM and SIGKILL is one second; that of built-in profiles is five.
    let server = "link_grace = \"3s\"\nending_grace = \"5s\"\nlost_after = \"11s\"\n".to_owned();
    for (index, fault) in plan.choose(&[Long::Down, Long::Stalled, Long::ServerAway]) {
        let key = Row::AwayForGood.note(plan, index, &fault);
        let scene = Scene::new(Setting { server: server.clone(), ..Setting::default() }).await;
        let mut actors = Actors::enter(&scene, &key).await;
        scene.remember_who_ran();
        match fault {
            Long::Down => scene.relay.set_down(true),
            Long::Stalled => scene.relay.set_stalled(true),
            Long::ServerAway => scene.kill(Side::Server),
        }
        if fault == Long::ServerAway {
            tokio::time::sleep(Duration::from_secs(6)).await;
            scene.start(Side::Server, &[]);
        } else {
            // The results are decided without the runner's reports, and later reports do not change
            // them.
            let ends = actors.lost(&scene).await;
            scene.relay.set_down(false);
            scene.relay.set_stalled(false);
            scene.ready().await;
            let after = actors.lost(&scene).await;
            let results =
                |ends: &[v1::Execution]| ends.iter().map(|end| end.result.clone()).collect::<Vec<_>>();
            assert_eq!(results(&ends), results(&after), "a late report does not replace the result");
        }
        scene.ready().await;
        actors.dismiss(&scene).await;
        actors.check(&scene, LOST).await;
        consistency_check::close(&scene.client, &actors.session).await;
        scene.end().await;
    }
}

async fn pause(rng: &mut Rng, at_most_ms: u64) {
    tokio::time::sleep(Duration::from_millis(rng.u64(0..at_most_ms))).await;
}
