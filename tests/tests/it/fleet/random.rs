//! Servers end and restart at random while commands are started, read and awaited through any of them. The plan follows
//! from the seed; the interleaving of threads and processes does not. `make fleet` runs more rounds.

use std::{env, time::Duration};

use airlock_tests::{
    fleet::Fleet,
    process::Process,
    reader::{run, spec_in},
    site::PATIENCE,
};
use fastrand::Rng;

use crate::fleet::restarts::{Commands, fleet, quick, session};

/// The fault of a server.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It is killed and restarted after a while.
    Killed,
    /// It is stopped and restarted.
    Replaced,
    /// It is killed at a fault point.
    DiesAt(&'static str),
}

const POINTS: [&str; 6] = [
    "before_store_write/transition",
    "after_store_write/transition",
    "before_link_send/StartJob",
    "after_link_send/StartJob",
    "after_link_receive/Job",
    "before_store_write/take_storing",
];

/// Returns a setting from the environment, for a longer or a repeated run.
pub(crate) fn given(name: &str) -> Option<u64> {
    env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: `{text}`")))
}

/// Returns the seed of `make fleet`, or that of the tests.
pub(crate) fn seed() -> u64 {
    given("AIRLOCK_FLEET_SEED").unwrap_or_else(airlock_sampling::seed)
}

fn fault(rng: &mut Rng) -> Fault {
    match rng.u8(0..3) {
        0 => Fault::Killed,
        1 => Fault::Replaced,
        _ => Fault::DiesAt(POINTS[rng.usize(..POINTS.len())]),
    }
}

async fn inject(fleet: &Fleet, server: &mut Option<Process>, number: usize, fault: Fault, rng: &mut Rng) {
    let Some(process) = server.take() else { return };
    match fault {
        Fault::Replaced => assert!(process.terminate(PATIENCE).success()),
        Fault::Killed | Fault::DiesAt(_) => process.kill(),
    }
    tokio::time::sleep(Duration::from_millis(rng.u64(0..1500))).await;
    *server = Some(match fault {
        // It dies again at the fault point, or in the next round at the latest.
        Fault::DiesAt(point) => {
            fleet.server(number, &[("AIRLOCK_FAULT", &format!("{point}:{}", rng.u8(1..6)))])
        }
        Fault::Killed | Fault::Replaced => fleet.server(number, &[]),
    });
    tokio::time::sleep(Duration::from_millis(rng.u64(500..2500))).await;
}

async fn come_and_go(seed: u64, rounds: usize) {
    eprintln!("make fleet SEED={seed} ROUNDS={rounds}");
    let mut rng = Rng::with_seed(seed);
    let (fleet, mut servers, _hosts) = fleet(3, 2).await;
    let client = fleet.client(&[0, 1, 2]);
    let sessions = vec![session(&client).await, session(&client).await];
    for round in 0..rounds {
        let name = format!("{round}");
        let commands = Commands::start(&fleet, sessions.clone(), &name, 8, 60, quick).await;
        // One server stays, to take over.
        let stays = rng.usize(..servers.len());
        for (number, server) in servers.iter_mut().enumerate() {
            if number != stays {
                let fault = fault(&mut rng);
                eprintln!("round {round}: server {number}: {fault:?}");
                inject(&fleet, server, number, fault, &mut rng).await;
            }
        }
        Box::pin(commands.check(&client)).await;
        for (number, server) in servers.iter_mut().enumerate() {
            if let Some(process) = server.take() {
                process.kill();
            }
            *server = Some(fleet.server(number, &[]));
            fleet.ready(number, 2).await;
        }
    }
    for session in &sessions {
        assert_eq!(run(&client, spec_in(session, "true")).await.unwrap().exit_code(), Some(0));
    }
}

mod sample {
    use super::{come_and_go, given, seed};

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_that_stop_and_start_lose_no_command_and_run_none_twice() {
        let rounds = given("AIRLOCK_FLEET_ROUNDS").map(|rounds| usize::try_from(rounds).unwrap());
        Box::pin(come_and_go(seed(), rounds.unwrap_or_else(|| airlock_sampling::extent(2, 5)))).await;
    }
}
