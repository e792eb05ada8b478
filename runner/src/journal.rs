//! The journal: what this runner accepted, refused, ran and ended, across deaths of its process.
//!
//! An entry is written with a plain `write` before what it says is acted on or reported: it survives the
//! process, not the host. After a crash of the host its tail may be missing; another boot id says so, and
//! then [`Journal::intact`] is false until every server was told: only for the epochs since can it vouch.
//! Must not start or end anything itself.

mod file;
mod record;
mod state;

use std::{
    io,
    path::{Path, PathBuf},
};

use airlock_faults::{Point, hit};
use airlock_proto::{
    domain::{Epoch, ExecutionId, ExecutionResult, SessionId},
    limits::VOUCHED_EPOCHS,
};

use file::JournalFile;
use record::Record;
use state::{Boot, State};

pub(crate) use state::{JobRecord, Phase};

/// The file is rewritten when it has grown by so much, or doubled, whichever is more.
const COMPACT_AFTER_BYTES: u64 = 4 << 20;

/// A step of the journal's work that failed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It could not be opened or read.
    #[error("cannot read the journal `{path}`: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// An entry could not be written; it counts as not written.
    #[error("cannot write the journal: {0}")]
    Write(io::Error),
}

/// The open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: JournalFile,
    state: State,
    intact: bool,
    /// Earlier epochs of which everything is in here, the latest last.
    vouched: Vec<Epoch>,
    /// This process's latest.
    epoch: Option<Epoch>,
    boot_id: String,
    compacted_bytes: u64,
}

impl Journal {
    /// Opens the journal in `dir`, or begins one; a torn tail is cut off. `remembered` is how many ids
    /// of forgotten jobs are kept.
    pub(crate) fn open(dir: &Path, boot_id: &str, remembered: usize) -> Result<Self, JournalError> {
        let (file, read) = JournalFile::open(&dir.join("journal"))?;
        let mut state = State::new(remembered);
        let mut understood = true;
        for payload in &read.payloads {
            match Record::decode(payload) {
                Some(record) => state.apply(record),
                None => understood = false,
            }
        }
        let whole = understood && !read.damaged;
        let same_boot = state.boot.as_ref().filter(|boot| whole && boot.id == boot_id);
        let mut journal = Self {
            compacted_bytes: file.len(),
            file,
            intact: same_boot.is_some_and(|boot| boot.intact),
            vouched: same_boot.map(Boot::vouched).unwrap_or_default(),
            state,
            epoch: None,
            boot_id: boot_id.to_owned(),
        };
        journal.compact_if_large();
        Ok(journal)
    }

    /// Whether everything that earlier epochs accepted is certainly in here.
    pub(crate) fn intact(&self) -> bool {
        self.intact
    }

    /// The latest epochs before this one of which everything is in here, whatever may be missing of others.
    pub(crate) fn vouched(&self) -> &[Epoch] {
        &self.vouched
    }

    /// Whether everything that this epoch accepted is certainly in here.
    pub(crate) fn vouches_for(&self, epoch: Epoch) -> bool {
        self.intact || self.vouched.contains(&epoch)
    }

    /// Notes a new epoch.
    pub(crate) fn begin(&mut self, epoch: Epoch) -> Result<(), JournalError> {
        self.vouched.extend(self.epoch.replace(epoch));
        let over = self.vouched.len().saturating_sub(VOUCHED_EPOCHS);
        self.vouched.drain(..over);
        self.write(Record::Boot {
            boot_id: self.boot_id.clone(),
            epoch: epoch.to_string(),
            intact: self.intact,
            vouched: self.vouched.iter().map(ToString::to_string).collect(),
        })
    }

    /// Every server knows that earlier epochs cannot be vouched for; the next start need not say it.
    pub(crate) fn told(&mut self) -> Result<(), JournalError> {
        self.write(Record::Told)?;
        self.intact = true;
        Ok(())
    }

    /// What is known of a job that was not forgotten.
    pub(crate) fn job(&self, id: &ExecutionId) -> Option<&JobRecord> {
        self.state.jobs.get(id)
    }

    /// Every job that was not forgotten, by id.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&ExecutionId, &JobRecord)> {
        self.state.jobs.iter()
    }

    /// How many jobs were not forgotten.
    pub(crate) fn job_count(&self) -> usize {
        self.state.jobs.len()
    }

    /// Whether it was forgotten, as far back as is remembered.
    pub(crate) fn was_forgotten(&self, id: &ExecutionId) -> bool {
        self.state.forgotten.contains(id)
    }

    /// Final, and before the fork.
    pub(crate) fn accept(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        session: SessionId,
    ) -> Result<(), JournalError> {
        let (id, epoch, session) = (id.to_string(), epoch.to_string(), session.to_string());
        self.write(Record::Accepted { id, attempt, epoch, session })
    }

    /// Final for this pair. Counts even where it cannot be written: no other epoch would accept it.
    pub(crate) fn refuse(
        &mut self,
        id: ExecutionId,
        attempt: u32,
        epoch: Epoch,
        result: &ExecutionResult,
    ) -> Result<(), JournalError> {
        let (id, epoch) = (id.to_string(), epoch.to_string());
        self.write_or_keep(Record::Refused { id, attempt, epoch, result: hex::encode(result.encode()) })
    }

    /// It runs.
    pub(crate) fn running(&mut self, id: ExecutionId) -> Result<(), JournalError> {
        self.write_or_keep(Record::Running { id: id.to_string() })
    }

    /// It ended. `lost`: with the epoch that ran it, and how is not known.
    pub(crate) fn end(
        &mut self,
        id: ExecutionId,
        lost: bool,
        result: &ExecutionResult,
    ) -> Result<(), JournalError> {
        let result = hex::encode(result.encode());
        self.write_or_keep(Record::Ended { id: id.to_string(), lost, result })
    }

    /// It need not be reported again, and is still never accepted again.
    pub(crate) fn forget(&mut self, id: ExecutionId) -> Result<(), JournalError> {
        self.write_or_keep(Record::Forgotten { ids: vec![id.to_string()] })
    }

    fn write(&mut self, record: Record) -> Result<(), JournalError> {
        self.append(&record)?;
        self.state.apply(record);
        self.compact_if_large();
        Ok(())
    }

    fn write_or_keep(&mut self, record: Record) -> Result<(), JournalError> {
        let written = self.append(&record);
        self.state.apply(record);
        self.compact_if_large();
        written
    }

    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        hit(Point::BeforeJournalWrite, record);
        self.file.append(&record.encode()).map_err(JournalError::Write)?;
        hit(Point::AfterJournalWrite, record);
        Ok(())
    }

    /// What cannot be rewritten now goes on as it is, until it has grown by as much again.
    fn compact_if_large(&mut self) {
        let bound = self.compacted_bytes.saturating_mul(2).max(COMPACT_AFTER_BYTES);
        if self.file.len() <= bound {
            return;
        }
        let payloads = self.state.records().map(|record| record.encode());
        if let Err(error) = self.file.rewrite(payloads) {
            tracing::warn!(%error, "the journal cannot be rewritten; it goes on growing");
        }
        self.compacted_bytes = self.file.len();
    }
}

#[cfg(test)]
mod tests;
