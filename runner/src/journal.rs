//! The journal: the jobs that this runner accepted, refused, ran and ended. It survives the death of the process.
//!
//! A record is written with a plain `write` before the runner acts on it or reports it. It survives a crash of the
//! process, but not of the host. After a crash of the host the tail of the journal may be missing. The boot ID shows
//! this, and `State::intact` is then false until every server was told. Until then the journal covers only later epochs
//! completely. [`Journal::step`] is the loop around the machine of `airlock_runner_lifecycle::jobs`. Must not start or
//! end anything itself.

mod encoding;

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    mem,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use airlock_domain::Epoch;
use airlock_faults::{Point, hit};
use airlock_runner_lifecycle::jobs::{Effect, Event, History, Record, State, step};

/// The file is rewritten after it has grown by this many bytes or has doubled, whichever is more.
const COMPACT_AFTER_BYTES: u64 = 4 << 20;

/// The open journal, with the state of the jobs that follows from its records.
#[derive(Debug)]
pub(crate) struct Journal {
    file: JournalFile,
    state: State,
    compacted_bytes: u64,
}

/// The result of an event.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The effects that the caller performs, in order. The caller must release the journal before it reports an effect.
    pub(crate) effects: Vec<Effect>,
    /// The error of the last record, if it could not be written.
    pub(crate) written: Result<(), JournalError>,
}

impl Journal {
    /// Opens the journal in `dir`, or creates it. A torn tail is cut off. `remembered` is the number of IDs of
    /// forgotten jobs to keep.
    pub(crate) fn open(dir: &Path, boot_id: &str, remembered: usize) -> Result<Self, JournalError> {
        let (file, read) = JournalFile::open(&dir.join("journal"))?;
        let mut history = History::new(remembered);
        let mut understood = true;
        for payload in &read.payloads {
            match encoding::decode(payload) {
                Ok(record) => record.into_iter().for_each(|record| history.apply(record)),
                Err(encoding::Unknown) => understood = false,
            }
        }
        let state = State::of(history, understood && !read.damaged, boot_id);
        let mut journal = Self { compacted_bytes: file.len(), file, state };
        journal.compact_if_large();
        Ok(journal)
    }

    /// Returns the state of the jobs.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Takes one event: writes the records that it requires, and returns the other effects.
    pub(crate) fn step(&mut self, event: Event) -> Outcome {
        let mut outcome = Outcome { effects: Vec::new(), written: Ok(()) };
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let (state, effects) = step(mem::take(&mut self.state), event);
            self.state = state;
            for effect in effects {
                let Effect::Append(record) = effect else {
                    outcome.effects.push(effect);
                    continue;
                };
                outcome.written = self.append(&record);
                events.push_back(match &outcome.written {
                    Ok(()) => Event::Written(record),
                    Err(error) => Event::NotWritten { record, problem: error.to_string() },
                });
            }
        }
        self.compact_if_large();
        outcome
    }

    /// Records a new epoch.
    pub(crate) fn begin(&mut self, epoch: Epoch) -> Result<(), JournalError> {
        self.step(Event::EpochBegan(epoch)).written
    }

    /// Records that every server was told that earlier epochs may be incomplete. The next start does not report it
    /// again.
    pub(crate) fn told(&mut self) -> Result<(), JournalError> {
        self.step(Event::ServersTold).written
    }

    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        hit(Point::BeforeJournalWrite, record);
        self.file.append(&encoding::encode(record)).map_err(JournalError::Write)?;
        hit(Point::AfterJournalWrite, record);
        Ok(())
    }

    /// Rewrites a large file. If that fails, the file stays in use until it has grown by the same amount again.
    fn compact_if_large(&mut self) {
        let bound = self.compacted_bytes.saturating_mul(2).max(COMPACT_AFTER_BYTES);
        if self.file.len() <= bound {
            return;
        }
        let payloads = self.state.records().map(|record| encoding::encode(&record));
        if let Err(error) = self.file.rewrite(payloads) {
            tracing::warn!(%error, "cannot compact the journal; it continues to grow");
        }
        self.compacted_bytes = self.file.len();
    }
}

const HEADER: usize = 8;
/// The maximum length of a record. A larger length is damage.
const MAX_PAYLOAD: usize = 1 << 20;

/// The file, open for appending: records of `length, crc32, payload`, which are never changed.
///
/// An incomplete record at the end results from a crash during a write. It is cut off and counts as not written. Any
/// other mismatch is damage.
#[derive(Debug)]
struct JournalFile {
    file: File,
    path: PathBuf,
    len: u64,
}

/// The contents of the file when it was opened.
#[derive(Debug, Default)]
struct ReadBack {
    payloads: Vec<Vec<u8>>,
    /// Whether the file was damaged other than by a torn tail.
    damaged: bool,
    good: usize,
}

impl JournalFile {
    fn open(path: &Path) -> Result<(Self, ReadBack), JournalError> {
        let failed = |source| JournalError::Read { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let read = parse(&bytes);
        let len = read.good as u64;
        file.set_len(len).map_err(failed)?;
        file.seek(SeekFrom::Start(len)).map_err(failed)?;
        Ok((Self { file, path: path.to_owned(), len }, read))
    }

    fn len(&self) -> u64 {
        self.len
    }

    /// Appends one record, or leaves the file unchanged.
    fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let frame = frame(payload)?;
        if let Err(error) = self.file.write_all(&frame) {
            self.file.set_len(self.len)?;
            self.file.seek(SeekFrom::Start(self.len))?;
            return Err(error);
        }
        self.len += frame.len() as u64;
        Ok(())
    }

    /// Replaces the whole contents atomically.
    fn rewrite(&mut self, payloads: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let next = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        let mut len = 0;
        {
            let mut out = io::BufWriter::new(&mut file);
            for payload in payloads {
                let frame = frame(&payload)?;
                out.write_all(&frame)?;
                len += frame.len() as u64;
            }
            out.flush()?;
        }
        std::fs::rename(&next, &self.path)?;
        self.file = file;
        self.len = len;
        Ok(())
    }
}

fn frame(payload: &[u8]) -> io::Result<Vec<u8>> {
    let len = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the entry is too long"))?;
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    frame.extend_from_slice(payload);
    Ok(frame)
}

fn parse(bytes: &[u8]) -> ReadBack {
    let mut read = ReadBack::default();
    let mut rest = bytes;
    while let Some((len, after)) = rest.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        if len > MAX_PAYLOAD {
            read.damaged = true;
            break;
        }
        let Some((crc, after)) = after.split_first_chunk::<4>() else { break };
        let Some((payload, after)) = after.split_at_checked(len) else { break };
        if crc32fast::hash(payload) != u32::from_le_bytes(*crc) {
            read.damaged = true;
            break;
        }
        read.payloads.push(payload.to_vec());
        read.good += HEADER + len;
        rest = after;
    }
    read
}

/// A failed operation of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be opened or read.
    #[error("cannot read the journal `{path}`: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A record could not be written. It counts as not written.
    #[error("cannot write the journal: {0}")]
    Write(io::Error),
}

#[cfg(test)]
mod tests;
