//! Draining on request of a local process. A process that connects to a unix socket in the state directory stops the
//! runner from accepting new work until the runner ends. It then receives the number of running commands until that is
//! 0. No command is ended. Also the orderly end of the runner's work, before its links close.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airlock_domain::{CancelledBy, Cause};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    services::{Draining, Jobs, Services},
    socket::{LocalSocket, connect},
};

/// The name of the socket in the state directory.
pub(crate) const SOCKET: &str = "drain.sock";
/// The maximum number of connections. Further connections are closed, and their clients can try again.
const CLIENTS: usize = 8;
/// The interval at which the number of running commands is read.
const LOOK: Duration = Duration::from_millis(50);
/// The timeout for writing one line.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// The maximum size of one answer, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// Serves connections until `cancel`.
pub(crate) async fn serve(
    socket: LocalSocket,
    draining: Arc<Draining>,
    jobs: Arc<Jobs>,
    cancel: CancellationToken,
) {
    let mut clients = JoinSet::new();
    while let Some(client) = socket.accept(&cancel).await {
        while clients.try_join_next().is_some() {}
        draining.begin_by_host();
        jobs.wait_for_offers();
        if clients.len() < CLIENTS {
            clients.spawn(tell(client, Arc::clone(&jobs), cancel.clone()));
        }
    }
    while clients.join_next().await.is_some() {}
}

/// Sends a line with the number of commands each time it changes. The last line is 0.
async fn tell(mut client: UnixStream, jobs: Arc<Jobs>, cancel: CancellationToken) {
    let mut told = None;
    loop {
        let running = jobs.running();
        if told != Some(running) {
            told = Some(running);
            let line = format!("{running}\n");
            if !matches!(timeout(ANSWER_WAIT, client.write_all(line.as_bytes())).await, Ok(Ok(()))) {
                return;
            }
        }
        if running == 0 || cancel.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

/// The reason why the number of running commands is unknown.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// No process listens on the socket.
    #[error("no runner answers in `{}`: {cause}; start it, or name the configuration that it runs with", directory.display())]
    NoRunner {
        /// The runner's `state_dir`.
        directory: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The runner did not answer in time. It may be draining.
    #[error("the runner of `{}` has not answered in {waited:?}: it is slow or stopped; wait longer with \
             --wait", directory.display())]
    Slow {
        /// The runner's `state_dir`.
        directory: PathBuf,
        /// The time that was waited.
        waited: Duration,
    },
    /// The runner ended, or has too many connections. It may be draining.
    #[error("the runner of `{}` closed the connection before it answered: {cause}; try again", directory.display())]
    Cut {
        /// The runner's `state_dir`.
        directory: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
}

/// Stops the runner of `state_dir` from accepting new commands, and waits at most `patience` until the running ones
/// have ended. Returns the number that still run. Cancelling the call leaves the runner draining.
///
/// # Errors
/// See [`Unanswered`].
pub async fn ask(state_dir: &Path, patience: Duration) -> Result<usize, Unanswered> {
    let directory = || state_dir.to_owned();
    let connected = connect(state_dir, SOCKET).await;
    let connected = connected.map_err(|cause| Unanswered::NoRunner { directory: directory(), cause })?;
    let mut lines = BufReader::new(connected.take(ANSWER_BYTES));
    let mut running = None;
    let told = async {
        while running != Some(0) {
            let mut line = String::new();
            if lines.read_line(&mut line).await? == 0 {
                break;
            }
            running = line.trim().parse().ok();
        }
        Ok::<_, io::Error>(())
    };
    let cut = |cause| Unanswered::Cut { directory: directory(), cause };
    let in_time = timeout(patience, told).await;
    match (running, in_time) {
        (_, Ok(Err(error))) => Err(cut(error)),
        // After a timeout, use the last number received.
        (Some(running), _) => Ok(running),
        (None, Err(_)) => Err(Unanswered::Slow { directory: directory(), waited: patience }),
        (None, Ok(Ok(()))) => Err(cut(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The interval at which the conditions are checked.
const CHECK_PERIOD: Duration = Duration::from_millis(10);

/// Refuses new work, lets running commands continue for `drain.grace`, ends the others, and gives servers
/// `drain.handover` to fetch the output. Returns the number of jobs that were ended early.
pub(crate) async fn drain(services: &Services) -> usize {
    let Services { config, draining, jobs, admission, sessions, links, reports, tasks, .. } = services;
    draining.begin_stop();
    jobs.wait_for_offers();
    wait_for(config.drain.grace, || jobs.running() == 0).await;
    admission.end_all(&Cause::Cancelled(CancelledBy::Drain));
    sessions.cancel_openings();
    tasks.close();
    tasks.wait().await;
    if links.is_linked() {
        wait_for(config.drain.handover, || jobs.all_fetched() || !links.is_linked()).await;
        wait_for(config.drain.handover, || reports.all_sent()).await;
    }
    draining.cut()
}

async fn wait_for(at_most: Duration, done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(CHECK_PERIOD).await;
        }
    };
    // After the timeout, continue regardless.
    let _ = timeout(at_most, wait).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_runner_that_is_slow_is_told_from_one_that_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let patience = Duration::from_millis(10);
        let gone = ask(directory.path(), patience).await;
        assert!(matches!(gone, Err(Unanswered::NoRunner { .. })), "{gone:?}");
        // It listens and has no time to answer.
        let socket = LocalSocket::bind(directory.path(), SOCKET).unwrap();
        let slow = ask(directory.path(), patience).await;
        assert!(matches!(slow, Err(Unanswered::Slow { .. })), "{slow:?}");
        let (cut, ()) = tokio::join!(ask(directory.path(), Duration::from_secs(120)), async {
            // The connection that gave up, and the current one.
            drop((
                socket.accept(&CancellationToken::new()).await,
                socket.accept(&CancellationToken::new()).await,
            ));
        });
        assert!(matches!(cut, Err(Unanswered::Cut { .. })), "{cut:?}");
    }
}
