//! A runner in memory: spools, a link that can be cut, and a server of reads that follows or violates
//! the protocol.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_domain::{
    ExecutionId, OutputStream, PushFromRunner, PushToRunner, RunnerId,
    limits::{CHUNK_BYTES, READS_AT_ONCE},
};
use bytes::Bytes;
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use crate::stream::{LinkUnavailable, OutputLink, PushBroken, PushHello, Streams};

type ToServer = mpsc::Sender<Result<PushFromRunner, PushBroken>>;

/// The content of one stream.
#[derive(Clone, Default)]
pub(super) struct Spool {
    pub(super) bytes: Vec<u8>,
    pub(super) complete: bool,
    /// The ranges that are no longer held, in order.
    pub(super) cuts: Vec<(u64, u64)>,
}

/// A deviation from the protocol, applied once there is a read.
#[derive(Clone)]
pub(super) enum Trick {
    /// Answers the first read of each stream with these messages.
    Say(Vec<PushFromRunner>),
    /// Never answers.
    Silence,
    /// Sends one byte at a time, with this pause before each.
    Trickle(Duration),
}

#[derive(Default)]
struct State {
    spools: HashMap<(ExecutionId, OutputStream), Spool>,
    held: HashSet<ExecutionId>,
    cut_off: HashSet<ExecutionId>,
    forgotten: Vec<ExecutionId>,
    streams: Option<Streams>,
    away: bool,
    trick: Option<Trick>,
    /// The tricks for single executions.
    tricks: HashMap<ExecutionId, Trick>,
    opened: usize,
    bytes_sent: u64,
    cut: CancellationToken,
}

/// The runner. Every call takes effect immediately.
#[derive(Clone, Default)]
pub(super) struct MemoryRunner {
    state: Arc<Mutex<State>>,
    grown: Arc<watch::Sender<()>>,
}

pub(super) fn runner_id() -> RunnerId {
    "r1".parse().unwrap()
}

impl MemoryRunner {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        let value = f(&mut self.state.lock().unwrap());
        self.grown.send_replace(());
        value
    }

    pub(super) fn hold(&self, id: ExecutionId) {
        self.with(|state| state.held.insert(id));
    }

    pub(super) fn dial(&self, streams: Streams) {
        self.with(|state| state.streams = Some(streams));
    }

    pub(super) fn spool(&self, id: ExecutionId, stream: OutputStream, change: impl FnOnce(&mut Spool)) {
        self.with(|state| change(state.spools.entry((id, stream)).or_default()));
    }

    pub(super) fn end(&self, id: ExecutionId) {
        self.spool(id, OutputStream::Stdout, |spool| spool.complete = true);
        self.spool(id, OutputStream::Stderr, |spool| spool.complete = true);
    }

    pub(super) fn go_away(&self) {
        self.with(|state| state.away = true);
        self.cut_streams();
    }

    /// Makes only this execution unreachable, as if another runner had it.
    pub(super) fn cut_off(&self, id: ExecutionId) {
        self.with(|state| state.cut_off.insert(id));
    }

    pub(super) fn come_back(&self) {
        self.with(|state| state.away = false);
    }

    pub(super) fn cut_streams(&self) {
        self.with(|state| std::mem::take(&mut state.cut).cancel());
    }

    pub(super) fn play(&self, trick: Option<Trick>) {
        self.with(|state| state.trick = trick);
    }

    /// Sets or removes the trick for this execution only.
    pub(super) fn play_on(&self, id: ExecutionId, trick: Option<Trick>) {
        self.with(|state| match trick {
            Some(trick) => state.tricks.insert(id, trick),
            None => state.tricks.remove(&id),
        });
    }

    pub(super) fn lose(&self, id: ExecutionId) {
        self.with(|state| state.held.remove(&id));
        self.cut_streams();
    }

    pub(super) fn forgotten(&self) -> Vec<ExecutionId> {
        self.with(|state| state.forgotten.clone())
    }

    pub(super) fn opened(&self) -> usize {
        self.with(|state| state.opened)
    }

    pub(super) fn bytes_sent(&self) -> u64 {
        self.with(|state| state.bytes_sent)
    }

    async fn push(self, runner_id: RunnerId, execution_id: ExecutionId, ticket: String) {
        let (streams, missing, trick, cut) = self.with(|state| {
            state.opened += 1;
            let missing = !state.held.contains(&execution_id);
            let trick = state.tricks.get(&execution_id).or(state.trick.as_ref()).cloned();
            (state.streams.clone().unwrap(), missing, trick, state.cut.clone())
        });
        let (to_server, incoming) = mpsc::channel(4);
        let hello = PushHello { runner_id, execution_id, ticket, missing };
        let Ok(from_server) = streams.accept_push(&hello, ReceiverStream::new(incoming)) else { return };
        drop(streams);
        tokio::select! {
            biased;
            () = cut.cancelled() => {}
            () = self.serve(execution_id, from_server, to_server, trick) => {}
        }
    }

    async fn serve(
        &self,
        id: ExecutionId,
        mut from_server: mpsc::Receiver<PushToRunner>,
        to_server: ToServer,
        trick: Option<Trick>,
    ) {
        let mut grown = self.grown.subscribe();
        let mut reads: VecDeque<PushToRunner> = VecDeque::new();
        loop {
            grown.mark_unchanged();
            while let Ok(message) = from_server.try_recv() {
                take(&mut reads, message);
            }
            let mut at_most = CHUNK_BYTES as u64;
            match &trick {
                Some(Trick::Say(_) | Trick::Silence) if reads.is_empty() => {}
                Some(Trick::Say(messages)) => {
                    for message in messages {
                        let _ = to_server.send(Ok(message.clone())).await;
                    }
                    // Stay open: the server must end the stream.
                    return to_server.closed().await;
                }
                Some(Trick::Silence) => return to_server.closed().await,
                Some(Trick::Trickle(pause)) => {
                    at_most = 1;
                    sleep(*pause).await;
                }
                None => {}
            }
            let ready = (0..reads.len()).find_map(|_| {
                let read = reads.pop_front()?;
                let (answer, rest) = self.answer(id, &read, at_most);
                reads.extend(rest);
                answer
            });
            if let Some(answer) = ready {
                if to_server.send(Ok(answer)).await.is_err() {
                    return;
                }
                continue;
            }
            tokio::select! {
                message = from_server.recv() => match message {
                    Some(message) => take(&mut reads, message),
                    None => return,
                },
                _ = grown.changed() => {}
            }
        }
    }

    /// Returns the next message of a read, and the remaining read.
    fn answer(
        &self,
        id: ExecutionId,
        read: &PushToRunner,
        at_most: u64,
    ) -> (Option<PushFromRunner>, Option<PushToRunner>) {
        let PushToRunner::Read { read_id, stream, offset, max_bytes, follow } = *read else {
            return (None, None);
        };
        let mut state = self.state.lock().unwrap();
        let spool = state.spools.entry((id, stream)).or_default();
        let total = spool.bytes.len() as u64;
        let rest =
            |offset, max_bytes| Some(PushToRunner::Read { read_id, stream, offset, max_bytes, follow });
        if offset >= total || max_bytes == 0 {
            let end = spool.complete && offset >= total;
            if !end && follow && max_bytes > 0 {
                return (None, rest(offset, max_bytes));
            }
            let offset = if end { total } else { offset };
            return (Some(PushFromRunner::Done { read_id, offset, end, total }), None);
        }
        let mut until = total;
        if let Some((from, to)) = spool.cuts.iter().copied().find(|(_, to)| offset < *to) {
            if (from..to).contains(&offset) {
                return (Some(PushFromRunner::Gap { read_id, from: offset, to }), rest(to, max_bytes));
            }
            if offset < from {
                until = from;
            }
        }
        let end = until.min(offset + max_bytes.min(at_most));
        let data = Bytes::copy_from_slice(&spool.bytes[offset as usize..end as usize]);
        state.bytes_sent += end - offset;
        (Some(PushFromRunner::Chunk { read_id, offset, data }), rest(end, max_bytes - (end - offset)))
    }

    fn with_quietly<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap())
    }
}

fn take(reads: &mut VecDeque<PushToRunner>, message: PushToRunner) {
    match message {
        PushToRunner::Cancel { read_id: cancelled } => {
            reads.retain(|read| !matches!(read, PushToRunner::Read { read_id, .. } if *read_id == cancelled));
        }
        read @ PushToRunner::Read { .. } => {
            reads.push_back(read);
            assert!(reads.len() <= READS_AT_ONCE, "the server keeps to the protocol");
        }
    }
}

#[async_trait::async_trait]
impl OutputLink for MemoryRunner {
    async fn open_output(
        &self,
        runner_id: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable> {
        if self.with_quietly(|state| state.away || state.cut_off.contains(&execution)) {
            return Err(LinkUnavailable::NotConnected);
        }
        let (runner, runner_id, ticket) = (self.clone(), runner_id.clone(), ticket.to_owned());
        tokio::spawn(async move {
            sleep(Duration::from_millis(1)).await;
            runner.push(runner_id, execution, ticket).await;
        });
        Ok(())
    }

    async fn forget_job(&self, _: &RunnerId, execution: ExecutionId) -> Result<(), LinkUnavailable> {
        if self.with_quietly(|state| state.away) {
            return Err(LinkUnavailable::NotConnected);
        }
        self.with(|state| {
            state.forgotten.push(execution);
            state.held.remove(&execution);
            state.spools.retain(|(id, _), _| *id != execution);
        });
        self.cut_streams();
        Ok(())
    }
}
