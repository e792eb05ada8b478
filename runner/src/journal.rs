//! The journal: the jobs that this runner accepted, refused, ran and ended. It survives the death of the process.
//!
//! A record is written with a plain `write` before the runner acts on it or reports it. It survives a crash of the
//! process, but not of the host. After a crash of the host the tail of the journal may be missing. The boot ID shows
//! this, and `State::intact` is then false until every server was told. Until then the journal covers only later epochs
//! completely. [`Journal::step`] is the loop around the machine of `airlock_runner_lifecycle::jobs`. Must not start or
//! end anything itself.

mod encoding;
mod error;
mod file;

use std::{collections::VecDeque, mem, path::Path};

use airlock_domain::Epoch;
use airlock_faults::{Point, hit};
use airlock_runner_lifecycle::jobs::{Effect, Event, History, Record, State, step};

use file::JournalFile;

pub use error::JournalError;

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

#[cfg(test)]
mod tests;
