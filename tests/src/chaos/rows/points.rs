//! A process dies at a step: all of them are found by a play without a fault, and each is then deadly once.

use std::{collections::BTreeMap, fs};

use airlock_faults::Point;

use super::Row;
use crate::chaos::{
    plan::Plan,
    play::play,
    scene::{Scene, Setting, Side},
};

/// How often an injection is tried: how often a step comes differs by how processes interleave.
const TRIES: usize = 4;

/// The kinds of steps that each program must have come through in a play.
const OF_SERVER: [Point; 5] = [
    Point::BeforeStoreWrite,
    Point::AfterStoreWrite,
    Point::BeforeLinkSend,
    Point::AfterLinkSend,
    Point::AfterLinkReceive,
];
const OF_RUNNER: [Point; 14] = [
    Point::BeforeLinkSend,
    Point::AfterLinkSend,
    Point::AfterLinkReceive,
    Point::BeforeJournalWrite,
    Point::AfterJournalWrite,
    Point::BeforeSpoolWrite,
    Point::AfterSpoolWrite,
    Point::BeforeSpoolRemove,
    Point::AfterSpoolRemove,
    Point::BeforeSession,
    Point::AfterSession,
    Point::BeforeSessionRemove,
    Point::AfterSessionRemove,
    Point::SandboxStep,
];

pub(super) async fn server(plan: &Plan) {
    each(Row::ServerPoint, Side::Server, &OF_SERVER, plan).await;
}

pub(super) async fn runner(plan: &Plan) {
    each(Row::RunnerPoint, Side::Runner, &OF_RUNNER, plan).await;
}

async fn each(row: Row, side: Side, kinds: &[Point], plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let points = survey(&scene, side, kinds).await;
    println!("{row:?}: {} points", points.len());
    for (index, point) in plan.choose(&points) {
        let key = row.note(plan, index, &point);
        let mut died = false;
        for attempt in 0..TRIES {
            scene.restart(side, &[("AIRLOCK_FAULT", &point)]);
            died = play(&scene, &format!("{key}-{attempt}"), Some(side)).await;
            if died {
                break;
            }
        }
        assert!(died, "{point} is a step of the play, and was not come to");
    }
    scene.restart(side, &[]);
    scene.ready().await;
    scene.end().await;
}

/// Every step of a play without a fault, as `POINT/NAME:N`.
async fn survey(scene: &Scene, side: Side, kinds: &[Point]) -> Vec<String> {
    let trace = scene.site.path().join("trace");
    scene.restart(side, &[("AIRLOCK_FAULT_TRACE", &trace.display().to_string())]);
    play(scene, &format!("survey-{side:?}"), None).await;
    scene.kill(side);
    let text = fs::read_to_string(&trace).unwrap();
    for kind in kinds {
        assert!(text.contains(kind.as_str()), "no step of the kind {} in a play", kind.as_str());
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut points = Vec::new();
    for line in text.lines() {
        let count = counts.entry(line).or_default();
        *count += 1;
        points.push(format!("{line}:{count}"));
    }
    points
}
