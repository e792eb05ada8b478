//! A process dies at a step. A scenario without faults lists all steps, and each step is then the fault of one
//! injection.

use std::{collections::BTreeMap, fs};

use airlock_client::v1;
use airlock_faults::Point;

use super::Row;
use crate::{
    chaos::{
        actor::{Actor, Part, eventually},
        consistency_check,
        plan::Plan,
        scenario::{self, open_session},
        scene::{Scene, Setting, Side},
    },
    reader::cause,
};

/// The number of attempts for an injection, because the number of occurrences of a step depends on the interleaving.
const TRIES: usize = 4;

/// The kinds of steps that each program must pass in a scenario.
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
    let (scene, side) = (Scene::new(Setting::default()).await, Side::Server);
    let begin = |env: &[(&str, &str)]| scene.restart(side, env);
    let points = survey(&scene, side, &OF_SERVER, begin).await;
    each(&scene, (Row::ServerPoint, side), points, begin, plan).await;
    scene.end().await;
}

pub(super) async fn runner(plan: &Plan) {
    let (scene, side) = (Scene::new(Setting::default()).await, Side::Runner);
    scene.vouched_for().await;
    let begin = |env: &[(&str, &str)]| scene.restart(side, env);
    let points = survey(&scene, side, &OF_RUNNER, begin).await;
    each(&scene, (Row::RunnerPoint, side), points, begin, plan).await;
    scene.end().await;
}

/// Tests a runner whose journal does not cover earlier executions, at the first occurrence of each step.
pub(super) async fn new_runner(plan: &Plan) {
    let (scene, side) = (Scene::new(Setting::default()).await, Side::Runner);
    let begin = |env: &[(&str, &str)]| scene.renew_runner(env);
    let mut points = survey(&scene, side, &OF_RUNNER, begin).await;
    points.retain(|point| point.ends_with(":1"));
    each(&scene, (Row::NewRunner, side), points, begin, plan).await;
    scene.end().await;
}

async fn each(
    scene: &Scene,
    (row, side): (Row, Side),
    points: Vec<String>,
    begin: impl Fn(&[(&str, &str)]),
    plan: &Plan,
) {
    println!("{row:?}: {} points", points.len());
    for (index, point) in plan.choose(&points) {
        let key = row.note(plan, index, &point);
        let mut died = false;
        for attempt in 0..TRIES {
            begin(&[("AIRLOCK_FAULT", &point)]);
            died = scenario::run(scene, &format!("{key}-{attempt}"), side, true).await;
            if !died && point.contains("/Told") {
                // The runner writes it some heartbeats after its report, possibly after the scenario.
                eventually("the runner dies of it", async || scene.mend(side).then_some(())).await;
                died = true;
            }
            if died {
                break;
            }
        }
        assert!(died, "{point} is a step of the scenario, and was not reached");
    }
    scene.restart(side, &[]);
    scene.ready().await;
}

/// Returns every step of these kinds in a scenario without faults, as `POINT/NAME:N`.
async fn survey(scene: &Scene, side: Side, kinds: &[Point], begin: impl Fn(&[(&str, &str)])) -> Vec<String> {
    let trace = scene.site.path().join("trace");
    begin(&[("AIRLOCK_FAULT_TRACE", &trace.display().to_string())]);
    scenario::run(scene, &format!("survey-{side:?}"), side, false).await;
    if side == Side::Runner {
        scene.vouched_for().await;
    }
    scene.kill(side);
    let text = fs::read_to_string(&trace).unwrap();
    for kind in kinds {
        assert!(text.contains(kind.as_str()), "no step of the kind {} in a scenario", kind.as_str());
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut points = Vec::new();
    let is_meant = |line: &&str| kinds.iter().any(|kind| line.split('/').next() == Some(kind.as_str()));
    for line in text.lines().filter(is_meant) {
        let count = counts.entry(line).or_default();
        *count += 1;
        points.push(format!("{line}:{count}"));
    }
    points
}

/// The runner dies after it has accepted a command and before it creates the command's spool. Tested with a new runner,
/// and with a runner whose journal covers all epochs.
///
/// # Panics
/// If the command is not reported as lost before its start, has output, or ran.
pub async fn accepted_and_no_more(seed: u64) {
    let scene = Scene::new(Setting::default()).await;
    for is_new in [true, false] {
        let fault = [("AIRLOCK_FAULT", "after_journal_write/Accepted")];
        if is_new {
            scene.renew_runner(&fault);
        } else {
            scene.vouched_for().await;
            scene.restart(Side::Runner, &fault);
        }
        let key = format!("accepted-{seed}-{is_new}");
        let session = open_session(&scene.client, &key).await;
        let mut actor =
            Actor::start(&scene.client, &session, &key, Part::new("never", "exit 7", vec![])).await;
        eventually("the runner dies of it", async || scene.mend(Side::Runner).then_some(())).await;
        let (end, told) = actor.ended(&scene.client).await;
        let started = end.result.as_ref().map(v1::Result::started);
        assert_eq!((cause(&end), started), (v1::CauseCode::RunnerLost, Some(v1::Started::No)), "{is_new}");
        assert_eq!((end.output_state(), told.stdout.bytes.len()), (v1::OutputState::None, 0));
        assert!(!scene.ran().contains_key("never"), "{:?}", scene.ran());
        consistency_check::close(&scene.client, &session).await;
        scene.nothing_is_left().await;
    }
    scene.end().await;
}
