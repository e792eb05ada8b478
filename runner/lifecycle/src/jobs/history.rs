//! The state that follows from the records alone.

use std::collections::{BTreeMap, HashSet, VecDeque};

use airlock_domain::{Epoch, ExecutionId};

use super::job::{Job, Phase, Record};

/// The number of IDs in one record when the records are rewritten.
const IDS_PER_RECORD: usize = 1000;

/// The latest epoch of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// The ID of the host's boot.
    pub id: String,
    /// The epoch.
    pub epoch: Epoch,
    /// Whether the journal certainly holds everything that earlier epochs accepted.
    pub intact: bool,
    /// Earlier epochs that are complete in the journal.
    pub vouched: Vec<Epoch>,
}

impl Boot {
    /// Returns the epochs, up to this one, that are complete as long as the host does not restart.
    pub(super) fn vouched(&self) -> Vec<Epoch> {
        self.vouched.iter().chain([&self.epoch]).copied().collect()
    }
}

/// The jobs and epochs of a sequence of records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    pub(super) boot: Option<Boot>,
    pub(super) jobs: BTreeMap<ExecutionId, Job>,
    /// The number of jobs without a result.
    pub(super) live: usize,
    forgotten: HashSet<ExecutionId>,
    /// The forgotten jobs, the oldest first.
    order: VecDeque<ExecutionId>,
    remembered: usize,
}

impl History {
    /// Creates the state of no record. `remembered` is the number of IDs of forgotten jobs to keep.
    #[must_use]
    pub fn new(remembered: usize) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// Returns the latest epoch of the records.
    #[must_use]
    pub fn boot(&self) -> Option<&Boot> {
        self.boot.as_ref()
    }

    /// Applies a record. A record about a job that is not known has no effect.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Boot { boot_id, epoch, intact, vouched } => {
                self.boot = Some(Boot { id: boot_id, epoch, intact, vouched });
            }
            Record::Told => {
                if let Some(boot) = &mut self.boot {
                    boot.intact = true;
                }
            }
            Record::Accepted { id, attempt, epoch, session } => {
                self.insert(id, Job { attempt, epoch, session, phase: Phase::Accepted });
            }
            Record::Refused { id, attempt, epoch, result } => {
                self.insert(id, Job { attempt, epoch, session: None, phase: Phase::Refused(result) });
            }
            Record::Running { id } => self.advance(&id, Phase::Running),
            Record::Ended { id, lost, result } => {
                self.advance(&id, if lost { Phase::Lost(result) } else { Phase::Ended(result) });
            }
            Record::Forgotten { ids } => ids.into_iter().for_each(|id| self.forget(id)),
        }
    }

    fn insert(&mut self, id: ExecutionId, job: Job) {
        // The job was new to the process that wrote its record, so its ID was no longer among the remembered ones. It
        // still is here if that process could not write which other jobs it forgot.
        if self.forgotten.remove(&id) {
            self.order.retain(|other| *other != id);
        }
        self.live += usize::from(job.is_live());
        let replaced = self.jobs.insert(id, job);
        self.uncount(replaced.as_ref());
    }

    fn advance(&mut self, id: &ExecutionId, phase: Phase) {
        if let Some(job) = self.jobs.remove(id) {
            self.uncount(Some(&job));
            self.insert(*id, Job { phase, ..job });
        }
    }

    /// Subtracts a job that was removed.
    fn uncount(&mut self, job: Option<&Job>) {
        self.live -= usize::from(job.is_some_and(Job::is_live));
    }

    fn forget(&mut self, id: ExecutionId) {
        let removed = self.jobs.remove(&id);
        self.uncount(removed.as_ref());
        if self.forgotten.insert(id) {
            self.order.push_back(id);
        }
        while self.order.len() > self.remembered {
            if let Some(oldest) = self.order.pop_front() {
                self.forgotten.remove(&oldest);
            }
        }
    }

    /// Reports whether the job was forgotten, within the remembered IDs.
    #[must_use]
    pub fn was_forgotten(&self, id: &ExecutionId) -> bool {
        self.forgotten.contains(id)
    }

    /// Returns the number of remembered IDs of forgotten jobs.
    #[must_use]
    pub fn forgotten_count(&self) -> usize {
        self.order.len()
    }

    /// Returns the smallest list of records that results in this state.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let boot = self.boot.clone().map(|Boot { id, epoch, intact, vouched }| Record::Boot {
            boot_id: id,
            epoch,
            intact,
            vouched,
        });
        let order: Vec<ExecutionId> = self.order.iter().copied().collect();
        let forgotten: Vec<Record> =
            order.chunks(IDS_PER_RECORD).map(|ids| Record::Forgotten { ids: ids.to_vec() }).collect();
        let jobs = self.jobs.iter().flat_map(|(id, job)| records_of(*id, job));
        boot.into_iter().chain(forgotten).chain(jobs)
    }
}

fn records_of(id: ExecutionId, job: &Job) -> impl Iterator<Item = Record> {
    let Job { attempt, epoch, session, .. } = *job;
    let accepted = Record::Accepted { id, attempt, epoch, session };
    let (first, then) = match &job.phase {
        Phase::Refused(result) => (Record::Refused { id, attempt, epoch, result: result.clone() }, None),
        Phase::Accepted => (accepted, None),
        Phase::Running => (accepted, Some(Record::Running { id })),
        Phase::Ended(result) => (accepted, Some(Record::Ended { id, lost: false, result: result.clone() })),
        Phase::Lost(result) => (accepted, Some(Record::Ended { id, lost: true, result: result.clone() })),
    };
    [Some(first), then].into_iter().flatten()
}
