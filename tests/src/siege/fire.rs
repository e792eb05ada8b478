//! The faults: the processes that are killed, replaced, drained or disconnected, in order. Also the recovery
//! afterwards.

use std::{
    cell::RefCell,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    sync::Arc,
    time::{Duration, Instant},
};

use fastrand::Rng;
use nix::sys::signal::Signal;
use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_local},
};

use super::{
    field::{Field, RUNNERS, SERVERS},
    load::{insist, until},
    points::{OF_RUNNERS, OF_SERVERS},
};
use crate::{
    fleet::{runner_name, server_name},
    process::Process,
    site::PATIENCE,
};

/// A line in a server's log after its start. If a server exits because it cannot reach its store, its supervisor
/// restarts it.
const STARTED: &str = " serving ";

/// The affected processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Servers,
    Runners,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is killed and restarted.
    Killed,
    /// It is killed, restarted, and dies again at a fault point.
    DiesAt,
    /// It is stopped and restarted.
    Replaced,
    /// The link of its host is taken down.
    CutOff,
    /// It and a runner cannot reach each other, but all others reach both.
    Apart,
    /// All connections to the database are cut, and none is accepted for a while.
    StoreAway,
    /// The same for the output storage.
    OutputsAway,
    /// It is drained through any server, and the drain is undone.
    Drained,
}

const ON_SERVERS: [Fault; 9] = [
    Fault::Killed,
    Fault::DiesAt,
    Fault::DiesAt,
    Fault::DiesAt,
    Fault::Replaced,
    Fault::CutOff,
    Fault::Apart,
    Fault::StoreAway,
    Fault::OutputsAway,
];
const ON_RUNNERS: [Fault; 6] =
    [Fault::Killed, Fault::DiesAt, Fault::DiesAt, Fault::Replaced, Fault::CutOff, Fault::Drained];

/// A fault that permits deviations in a runner's commands, with its time span.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) runner: String,
    pub(super) span: (Instant, Instant),
    /// Whether it was stopped or drained; otherwise it died.
    pub(super) told: bool,
}

#[derive(Debug)]
struct Slot {
    process: Process,
    since: Instant,
    /// The number of bytes in its log from earlier starts.
    logged: usize,
    /// The fault point at which it will die.
    armed: Option<String>,
}

/// The faults of servers, or those of runners.
#[derive(Debug)]
pub(super) struct Fire {
    side: Side,
    slots: Vec<Slot>,
    troubles: Vec<Trouble>,
}

/// Faults that continue until they are stopped.
#[derive(Debug)]
pub(super) struct Burning {
    stop: watch::Sender<bool>,
    task: JoinHandle<Fire>,
}

impl Burning {
    /// Stops the faults. Afterwards every process runs without armed fault points. A server whose start a fault made
    /// fail is started again.
    pub(super) async fn cease(self, field: &Field) -> Fire {
        self.stop.send_replace(true);
        let mut fire = self.task.await.unwrap();
        for number in 0..fire.slots.len() {
            fire.mend(field, number);
            if fire.slots[number].armed.is_some() {
                fire.restart(field, number, None, Duration::ZERO).await;
            }
        }
        if fire.side == Side::Servers {
            fire.all_started(field).await;
        }
        fire
    }
}

/// Starts all processes, and waits until each server is linked to each runner.
pub(super) async fn start(field: &Field) -> (Fire, Fire) {
    let fire = |side, count: u8| {
        let slots = (0..usize::from(count)).map(|number| begun(field, side, number, None)).collect();
        Fire { side, slots, troubles: Vec::new() }
    };
    let both = (fire(Side::Servers, SERVERS), fire(Side::Runners, RUNNERS));
    ready(field).await;
    both
}

/// Waits until every server has a link to every runner.
pub(super) async fn ready(field: &Field) {
    for server in 0..usize::from(SERVERS) {
        drop(field.fleet.ready(server, usize::from(RUNNERS)).await);
    }
}

fn begun(field: &Field, side: Side, number: usize, armed: Option<String>) -> Slot {
    let logged = |name: String| std::fs::metadata(field.fleet.log(&name)).map_or(0, |log| log.len());
    let logged = logged(match side {
        Side::Servers => server_name(number),
        Side::Runners => runner_name(number),
    });
    let env: Vec<_> = armed.iter().map(|point| ("AIRLOCK_FAULT", point.as_str())).collect();
    let process = match side {
        Side::Servers => field.fleet.server(number, &env),
        Side::Runners => field.fleet.runner_with(number, &env),
    };
    Slot { process, since: Instant::now(), logged: usize::try_from(logged).unwrap_or_default(), armed }
}

impl Fire {
    /// Starts the faults.
    pub(super) fn burn(mut self, field: Arc<Field>, mut rng: Rng) -> Burning {
        let (stop, mut stopped) = watch::channel(false);
        let task = spawn_local(async move {
            while !*stopped.borrow_and_update() {
                let pause = Duration::from_millis(rng.u64(300..2000));
                drop(tokio::time::timeout(pause, stopped.changed()).await);
                for number in 0..self.slots.len() {
                    self.mend(&field, number);
                }
                self.inject(&field, &mut rng).await;
            }
            self
        });
        Burning { stop, task }
    }

    /// Returns the faults that permit deviations.
    pub(super) fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Stops all processes in order.
    pub(super) fn end(self) {
        for slot in self.slots {
            let status = slot.process.terminate(PATIENCE);
            assert!(status.success(), "{:?}: {status}", self.side);
        }
    }

    async fn inject(&mut self, field: &Field, rng: &mut Rng) {
        let (faults, points) = match self.side {
            Side::Servers => (ON_SERVERS.as_slice(), OF_SERVERS),
            Side::Runners => (ON_RUNNERS.as_slice(), OF_RUNNERS),
        };
        let (fault, number) = (faults[rng.usize(..faults.len())], rng.usize(..self.slots.len()));
        let pause = Duration::from_millis(rng.u64(0..1500));
        let (short, long) =
            (Duration::from_millis(rng.u64(200..2500)), Duration::from_millis(rng.u64(500..9000)));
        let point = format!("{}:{}", points[rng.usize(..points.len())], rng.u8(1..8));
        let other = rng.usize(..usize::from(RUNNERS));
        match fault {
            Fault::Killed => self.restart(field, number, None, pause).await,
            Fault::DiesAt => self.restart(field, number, Some(point), pause).await,
            Fault::Replaced => self.replace(field, number, pause).await,
            Fault::CutOff => {
                let host = match self.side {
                    Side::Servers => field.fleet.server_host(number),
                    Side::Runners => field.fleet.runner_host(number),
                };
                let host = host.expect("each process has a host");
                host.set_cut(true);
                tokio::time::sleep(long).await;
                host.set_cut(false);
            }
            Fault::Apart => {
                let hosts = field.fleet.server_host(number).zip(field.fleet.runner_host(other));
                let (server, runner) = hosts.expect("each process has a host");
                runner.set_apart(server, true);
                tokio::time::sleep(long).await;
                runner.set_apart(server, false);
            }
            Fault::StoreAway => {
                field.database.1.set_down(true);
                tokio::time::sleep(short).await;
                field.database.1.set_down(false);
            }
            Fault::OutputsAway => {
                field.bucket.1.set_down(true);
                tokio::time::sleep(long).await;
                field.bucket.1.set_down(false);
            }
            Fault::Drained => {
                let from = Instant::now();
                self.drain(field, number, long).await;
                self.trouble(number, from, true);
            }
        }
        let what = format!("{:?}: {fault:?}", self.side);
        field.tally.lock().unwrap().inject(&what);
    }

    /// Kills a process and restarts it.
    async fn restart(&mut self, field: &Field, number: usize, armed: Option<String>, pause: Duration) {
        let from = self.slots[number].since_armed();
        self.slots[number].process.kill_now();
        tokio::time::sleep(pause).await;
        self.slots[number] = begun(field, self.side, number, armed);
        self.trouble(number, from, false);
    }

    async fn replace(&mut self, field: &Field, number: usize, pause: Duration) {
        let from = self.slots[number].since_armed();
        let slot = &mut self.slots[number];
        let status = slot.end_in_order().await;
        let died = slot.armed.is_some() && status.signal() == Some(9);
        // The signal arrived before the process had installed its handler, so the signal itself ended it.
        let early = status.signal() == Some(Signal::SIGTERM as i32);
        assert!(
            died || early || status.success(),
            "{:?} {number} is told to end: {status}\n{}",
            self.side,
            slot.process.output()
        );
        tokio::time::sleep(pause).await;
        self.slots[number] = begun(field, self.side, number, None);
        self.trouble(number, from, true);
        if died {
            self.trouble(number, from, false);
        }
    }

    /// Restarts a process that died.
    fn mend(&mut self, field: &Field, number: usize) {
        let slot = &mut self.slots[number];
        let Some(status) = slot.process.wait(Duration::ZERO) else { return };
        let what = match &slot.armed {
            Some(point) if status.signal() == Some(9) => point.split(':').next().unwrap_or(point).to_owned(),
            _ if self.side == Side::Servers && !slot.has_started() => {
                "its start, without its store".to_owned()
            }
            armed => panic!("{:?} {number}, {armed:?}: {status}\n{}", self.side, slot.process.output()),
        };
        field.tally.lock().unwrap().died(&format!("{:?}: {what}", self.side));
        let from = slot.since_armed();
        self.slots[number] = begun(field, self.side, number, None);
        self.trouble(number, from, false);
    }

    /// Waits until each server has started. One that started without its store ends later than the fault.
    async fn all_started(&mut self, field: &Field) {
        let fire = RefCell::new(self);
        until("every server has started", async || {
            let mut fire = fire.borrow_mut();
            for number in 0..fire.slots.len() {
                fire.mend(field, number);
            }
            fire.slots.iter().all(Slot::has_started).then_some(())
        })
        .await;
    }

    /// Drains a runner for a while. A runner with an armed fault point can die meanwhile; it is restarted, because only
    /// a running one confirms.
    async fn drain(&mut self, field: &Field, number: usize, pause: Duration) {
        let (client, name) = (field.client(number), runner_name(number));
        for (undo, pause) in [(false, pause), (true, Duration::ZERO)] {
            let fire = RefCell::new(&mut *self);
            insist("a runner drains or resumes", async || {
                fire.borrow_mut().mend(field, number);
                client.admin().drain_runner(&name, undo).await
            })
            .await;
            tokio::time::sleep(pause).await;
        }
    }

    fn trouble(&mut self, number: usize, from: Instant, told: bool) {
        if self.side == Side::Runners {
            let span = (from, Instant::now());
            self.troubles.push(Trouble { runner: runner_name(number), span, told });
        }
    }
}

impl Slot {
    /// Stops the process and waits for its end.
    async fn end_in_order(&mut self) -> ExitStatus {
        if self.process.wait(Duration::ZERO).is_none() {
            self.process.signal(Signal::SIGTERM);
        }
        let process = RefCell::new(&mut self.process);
        until("it ends", async || process.borrow_mut().wait(Duration::ZERO)).await
    }

    /// Reports whether the server has started to serve since its last start.
    fn has_started(&self) -> bool {
        let log = std::fs::read(self.process.log()).unwrap_or_default();
        String::from_utf8_lossy(log.get(self.logged..).unwrap_or_default()).contains(STARTED)
    }

    /// Returns the earliest time at which it may have died.
    fn since_armed(&self) -> Instant {
        if self.armed.is_some() { self.since } else { Instant::now() }
    }
}
