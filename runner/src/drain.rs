//! Draining asked for on this host: whoever connects to a unix socket in the state folder makes the runner take no new
//! work until its process ends, and is told how many commands run, until none does. Ends no command.

use std::{io, path::Path, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    core::Core,
    socket::{LocalSocket, connect},
};

/// The socket, in the state folder.
pub(crate) const SOCKET: &str = "drain.sock";
/// Who waits at once; more are cut off, and can ask again.
const ASKERS: usize = 8;
/// How often it is looked what runs.
const LOOK: Duration = Duration::from_millis(50);
/// Of one line: who does not take it in time goes without.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// Of all lines of one answer, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// Answers until `cancel`.
pub(crate) async fn serve(socket: LocalSocket, core: Arc<Core>, cancel: CancellationToken) {
    let mut askers = JoinSet::new();
    while let Some(asker) = socket.asker(&cancel).await {
        while askers.try_join_next().is_some() {}
        core.drain_for_host();
        if askers.len() < ASKERS {
            askers.spawn(tell(asker, Arc::clone(&core), cancel.clone()));
        }
    }
    while askers.join_next().await.is_some() {}
}

/// A line with the number of commands, whenever it has changed; the last one says 0.
async fn tell(mut asker: UnixStream, core: Arc<Core>, cancel: CancellationToken) {
    let mut told = None;
    loop {
        let running = core.running();
        if told != Some(running) {
            told = Some(running);
            let line = format!("{running}\n");
            if !matches!(timeout(ANSWER_WAIT, asker.write_all(line.as_bytes())).await, Ok(Ok(()))) {
                return;
            }
        }
        if running == 0 || cancel.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

/// Has the runner of `state_dir` take no new commands from now on, and waits until those that run have ended, at most
/// `patience`. Returns how many still run then. Cancelling the wait leaves the runner draining.
///
/// # Errors
/// No runner answers there.
pub async fn ask(state_dir: &Path, patience: Duration) -> io::Result<usize> {
    let mut lines = BufReader::new(connect(state_dir, SOCKET).await?.take(ANSWER_BYTES));
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
    // After that time, what was told last.
    timeout(patience, told).await.unwrap_or(Ok(()))?;
    running.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
