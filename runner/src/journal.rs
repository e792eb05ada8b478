//! The journal: the jobs that this runner accepted, refused, ran and ended. It survives the death of the process.
//!
//! A record is written with a plain `write` before the runner acts on it or reports it. It survives a crash of the
//! process, but not of the host. After a crash of the host the tail of the journal may be missing. The boot ID shows
//! this, and [`Journal::intact`] is then false until every server was told. Until then the journal vouches only for
//! later epochs. Must not start or end anything itself.

mod error;
mod file;
mod record;
mod state;

use std::path::Path;

use airlock_domain::{Epoch, ExecutionId, ExecutionResult, SessionId, limits::VOUCHED_EPOCHS};
use airlock_faults::{Point, hit};
use airlock_proto::convert::Stored as _;

use file::JournalFile;
use record::Record;
use state::{Boot, State};

pub use error::JournalError;
pub(crate) use state::{JobRecord, Phase};

/// The file is rewritten after it has grown by this many bytes or has doubled, whichever is more.
const COMPACT_AFTER_BYTES: u64 = 4 << 20;

/// The open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: JournalFile,
    state: State,
    intact: bool,
    /// Earlier epochs that are complete in this journal, the latest last.
    vouched: Vec<Epoch>,
    /// The latest epoch of this process.
    epoch: Option<Epoch>,
    boot_id: String,
    compacted_bytes: u64,
}

impl Journal {
    /// Opens the journal in `dir`, or creates it. A torn tail is cut off. `remembered` is the number of IDs of
    /// forgotten jobs to keep.
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

    /// Reports whether the journal certainly holds everything that earlier epochs accepted.
    pub(crate) fn intact(&self) -> bool {
        self.intact
    }

    /// Returns the latest earlier epochs that are complete in the journal, whatever may be missing of others.
    pub(crate) fn vouched(&self) -> &[Epoch] {
        &self.vouched
    }

    /// Reports whether the journal certainly holds everything that this epoch accepted.
    pub(crate) fn vouches_for(&self, epoch: Epoch) -> bool {
        self.intact || self.vouched.contains(&epoch)
    }

    /// Records a new epoch.
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

    /// Records that every server was told that earlier epochs may be incomplete. The next start does not report it
    /// again.
    pub(crate) fn told(&mut self) -> Result<(), JournalError> {
        self.write(Record::Told)?;
        self.intact = true;
        Ok(())
    }

    /// Returns the record of a job that was not forgotten.
    pub(crate) fn job(&self, id: &ExecutionId) -> Option<&JobRecord> {
        self.state.jobs.get(id)
    }

    /// Returns every job that was not forgotten, ordered by ID.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&ExecutionId, &JobRecord)> {
        self.state.jobs.iter()
    }

    /// Returns the number of jobs that were not forgotten.
    pub(crate) fn job_count(&self) -> usize {
        self.state.jobs.len()
    }

    /// Reports whether the job was forgotten, within the remembered IDs.
    pub(crate) fn was_forgotten(&self, id: &ExecutionId) -> bool {
        self.state.forgotten.contains(id)
    }

    /// Records the acceptance of a job. It is final, and is written before the fork.
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

    /// Records the refusal of an offer. It is final for this execution and attempt. It holds even if it cannot be
    /// written, because no other epoch would accept the offer.
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

    /// Records that the job runs.
    pub(crate) fn running(&mut self, id: ExecutionId) -> Result<(), JournalError> {
        self.write_or_keep(Record::Running { id: id.to_string() })
    }

    /// Records the end of a job. `lost` means that the job ended with the epoch that ran it, and the result is unknown.
    pub(crate) fn end(
        &mut self,
        id: ExecutionId,
        lost: bool,
        result: &ExecutionResult,
    ) -> Result<(), JournalError> {
        let result = hex::encode(result.encode());
        self.write_or_keep(Record::Ended { id: id.to_string(), lost, result })
    }

    /// Records that the job need not be reported again. The job is still never accepted again.
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

    /// Rewrites a large file. If that fails, the file stays in use until it has grown by the same amount again.
    fn compact_if_large(&mut self) {
        let bound = self.compacted_bytes.saturating_mul(2).max(COMPACT_AFTER_BYTES);
        if self.file.len() <= bound {
            return;
        }
        let payloads = self.state.records().map(|record| record.encode());
        if let Err(error) = self.file.rewrite(payloads) {
            tracing::warn!(%error, "cannot compact the journal; it continues to grow");
        }
        self.compacted_bytes = self.file.len();
    }
}

#[cfg(test)]
mod tests;
