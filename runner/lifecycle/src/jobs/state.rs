//! The state of the machine, and the queries on it.

use std::collections::BTreeMap;

use airlock_domain::{Epoch, ExecutionId, JobReport, Started};

use super::{
    history::{Boot, History},
    job::{Job, Phase, Record},
    offer::{Known, OfferKey, Reason},
};

/// The jobs and epochs of a runner: the contents of the journal, and the state that ends with this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    pub(super) history: History,
    /// Whether the journal certainly holds everything that earlier epochs accepted.
    pub(super) intact: bool,
    /// Earlier epochs that are complete in the journal, the latest last.
    pub(super) vouched: Vec<Epoch>,
    /// The latest epoch of this process.
    pub(super) epoch: Option<Epoch>,
    pub(super) boot_id: String,
    /// The time at which an ended job that no server fetched is forgotten, on the runner's clock.
    pub(super) keep_until: BTreeMap<ExecutionId, u64>,
}

impl State {
    /// Creates the state of a new process. `whole` states that all records were read and understood. After a restart
    /// of the host, records may be missing at the end of the journal, which `boot_id` shows.
    #[must_use]
    pub fn of(history: History, whole: bool, boot_id: &str) -> Self {
        let same_boot = history.boot().filter(|boot| whole && boot.id == boot_id);
        Self {
            intact: same_boot.is_some_and(|boot| boot.intact),
            vouched: same_boot.map(Boot::vouched).unwrap_or_default(),
            history,
            epoch: None,
            boot_id: boot_id.to_owned(),
            keep_until: BTreeMap::new(),
        }
    }

    /// Returns the part of the state that follows from the records.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Reports whether the journal certainly holds everything that earlier epochs accepted.
    #[must_use]
    pub fn intact(&self) -> bool {
        self.intact
    }

    /// Returns the latest earlier epochs that are complete in the journal. Records of other epochs may be missing.
    #[must_use]
    pub fn vouched(&self) -> &[Epoch] {
        &self.vouched
    }

    /// Reports whether the journal certainly holds everything that this epoch accepted.
    #[must_use]
    pub fn vouches_for(&self, epoch: Epoch) -> bool {
        self.intact || self.vouched.contains(&epoch)
    }

    /// Returns the record of a job that was not forgotten.
    #[must_use]
    pub fn job(&self, id: &ExecutionId) -> Option<&Job> {
        self.history.jobs.get(id)
    }

    /// Returns every job that was not forgotten, ordered by ID.
    pub fn jobs(&self) -> impl Iterator<Item = (&ExecutionId, &Job)> {
        self.history.jobs.iter()
    }

    /// Returns the number of jobs that were not forgotten.
    #[must_use]
    pub fn job_count(&self) -> usize {
        self.history.jobs.len()
    }

    /// Reports whether the job was forgotten, within the remembered IDs.
    #[must_use]
    pub fn was_forgotten(&self, id: &ExecutionId) -> bool {
        self.history.was_forgotten(id)
    }

    /// Reports whether the job was offered to this runner.
    #[must_use]
    pub fn knows(&self, id: &ExecutionId) -> bool {
        self.job(id).is_some() || self.was_forgotten(id)
    }

    /// Reports whether servers have fetched every result.
    #[must_use]
    pub fn all_fetched(&self) -> bool {
        self.jobs().all(|(_, job)| job.is_refused())
    }

    /// Returns the report of a job.
    #[must_use]
    pub fn report(&self, id: ExecutionId) -> Option<JobReport> {
        self.job(&id).map(|job| job.report(id))
    }

    /// Returns the reports of all jobs. A server that links receives them first.
    pub fn reports(&self) -> impl Iterator<Item = JobReport> {
        self.jobs().map(|(id, job)| job.report(*id))
    }

    /// Returns the ended jobs that no server fetched in time.
    #[must_use]
    pub fn expired(&self, now_ms: u64) -> Vec<ExecutionId> {
        self.keep_until.iter().filter(|(_, until)| **until <= now_ms).map(|(id, _)| *id).collect()
    }

    /// Returns the state of an offer.
    #[must_use]
    pub fn known(&self, OfferKey { id, attempt }: OfferKey) -> Known {
        if self.was_forgotten(&id) {
            return Known::Conflict(Reason::AlreadyRan);
        }
        match self.job(&id) {
            None => Known::New,
            Some(job) if job.attempt == attempt => Known::Answered,
            Some(job) if job.is_refused() && job.attempt < attempt => Known::New,
            Some(job) if job.is_refused() => Known::Conflict(Reason::StaleAttempt),
            Some(_) => Known::Conflict(Reason::OtherAttempt),
        }
    }

    /// Returns whether the command of a job was started, if the process that accepted the job ended without a result.
    /// `has_spool` states whether the job's spool exists. `None` if the job has a result or is not known.
    #[must_use]
    pub fn started_before_loss(&self, id: &ExecutionId, has_spool: bool) -> Option<Started> {
        let job = self.job(id)?;
        match job.phase {
            Phase::Running => Some(Started::Yes),
            // The spool is created before the command starts, and survives unless the host crashes.
            Phase::Accepted if !has_spool && self.vouches_for(job.epoch) => Some(Started::No),
            Phase::Accepted => Some(Started::Unknown),
            Phase::Refused(_) | Phase::Ended(_) | Phase::Lost(_) => None,
        }
    }

    /// Returns the number of jobs that were accepted and have not ended.
    #[must_use]
    pub fn live_count(&self) -> usize {
        self.history.live
    }

    /// Returns the smallest list of records that results in the same state after a restart.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.history.records()
    }
}
