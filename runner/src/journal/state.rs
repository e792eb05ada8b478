//! The state that results from the records of a journal.

use std::collections::{BTreeMap, HashSet, VecDeque};

use airlock_domain::{Epoch, ExecutionId, ExecutionResult, SessionId};
use airlock_proto::convert::Stored as _;

use super::record::Record;

/// The number of IDs in one record when the file is rewritten.
const IDS_PER_RECORD: usize = 1000;

/// The phase of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The job will be started, once.
    Accepted,
    /// This attempt was not started and will not be.
    Refused(ExecutionResult),
    /// The command runs.
    Running,
    /// The job ended.
    Ended(ExecutionResult),
    /// The job ended with its epoch.
    Lost(ExecutionResult),
}

/// The recorded state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobRecord {
    /// The latest attempt.
    pub(crate) attempt: u32,
    /// The epoch that answered the offer.
    pub(crate) epoch: Epoch,
    /// The session. `None` for a refused job.
    pub(crate) session: Option<SessionId>,
    pub(crate) phase: Phase,
}

impl JobRecord {
    /// Reports whether the job has no result yet.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Accepted | Phase::Running)
    }
}

#[derive(Debug)]
pub(super) struct Boot {
    pub(super) id: String,
    pub(super) epoch: String,
    pub(super) intact: bool,
    pub(super) vouched: Vec<String>,
}

impl Boot {
    /// Returns the epochs, up to this one, that are complete as long as the host does not restart.
    pub(super) fn vouched(&self) -> Vec<Epoch> {
        self.vouched.iter().chain([&self.epoch]).filter_map(|epoch| epoch.parse().ok()).collect()
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) boot: Option<Boot>,
    pub(super) jobs: BTreeMap<ExecutionId, JobRecord>,
    pub(super) forgotten: HashSet<ExecutionId>,
    order: VecDeque<ExecutionId>,
    remembered: usize,
}

impl State {
    pub(super) fn new(remembered: usize) -> Self {
        Self {
            boot: None,
            jobs: BTreeMap::new(),
            forgotten: HashSet::new(),
            order: VecDeque::new(),
            remembered,
        }
    }

    /// Applies a record. A record that this version would not write, such as one with a malformed ID, has no effect.
    pub(super) fn apply(&mut self, record: Record) {
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
                self.insert(&id, attempt, &epoch, session.parse().ok(), Some(Phase::Accepted));
            }
            Record::Refused { id, attempt, epoch, result } => {
                self.insert(&id, attempt, &epoch, None, decode(&result).map(Phase::Refused));
            }
            Record::Running { id } => self.advance(&id, Some(Phase::Running)),
            Record::Ended { id, lost, result } => {
                let phase = if lost { Phase::Lost } else { Phase::Ended };
                self.advance(&id, decode(&result).map(phase));
            }
            Record::Forgotten { ids } => ids.iter().for_each(|id| self.forget(id)),
        }
    }

    fn insert(
        &mut self,
        id: &str,
        attempt: u32,
        epoch: &str,
        session: Option<SessionId>,
        phase: Option<Phase>,
    ) {
        if let (Ok(id), Ok(epoch), Some(phase)) = (id.parse(), epoch.parse(), phase) {
            self.jobs.insert(id, JobRecord { attempt, epoch, session, phase });
        }
    }

    fn advance(&mut self, id: &str, phase: Option<Phase>) {
        let job = id.parse().ok().and_then(|id| self.jobs.get_mut(&id));
        if let (Some(job), Some(phase)) = (job, phase) {
            job.phase = phase;
        }
    }

    fn forget(&mut self, id: &str) {
        let Ok(id) = id.parse::<ExecutionId>() else { return };
        self.jobs.remove(&id);
        if self.forgotten.insert(id) {
            self.order.push_back(id);
        }
        while self.order.len() > self.remembered {
            if let Some(oldest) = self.order.pop_front() {
                self.forgotten.remove(&oldest);
            }
        }
    }

    /// Returns the smallest list of records that results in this state.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        let boot = self.boot.as_ref().map(|boot| Record::Boot {
            boot_id: boot.id.clone(),
            epoch: boot.epoch.clone(),
            intact: boot.intact,
            vouched: boot.vouched.clone(),
        });
        let order: Vec<String> = self.order.iter().map(ToString::to_string).collect();
        let forgotten: Vec<Record> =
            order.chunks(IDS_PER_RECORD).map(|ids| Record::Forgotten { ids: ids.to_vec() }).collect();
        let jobs = self.jobs.iter().flat_map(|(id, job)| job_records(id, job));
        boot.into_iter().chain(forgotten).chain(jobs)
    }
}

fn job_records(id: &ExecutionId, job: &JobRecord) -> Vec<Record> {
    let (id, epoch, attempt) = (id.to_string(), job.epoch.to_string(), job.attempt);
    if let Phase::Refused(result) = &job.phase {
        let result = hex::encode(result.encode());
        return vec![Record::Refused { id, attempt, epoch, result }];
    }
    let session = job.session.map(|session| session.to_string()).unwrap_or_default();
    let accepted = Record::Accepted { id: id.clone(), attempt, epoch, session };
    let then = match &job.phase {
        Phase::Accepted | Phase::Refused(_) => None,
        Phase::Running => Some(Record::Running { id }),
        Phase::Ended(result) | Phase::Lost(result) => {
            let lost = matches!(job.phase, Phase::Lost(_));
            Some(Record::Ended { id, lost, result: hex::encode(result.encode()) })
        }
    };
    [Some(accepted), then].into_iter().flatten().collect()
}

fn decode(hex_text: &str) -> Option<ExecutionResult> {
    ExecutionResult::decode(&hex::decode(hex_text).ok()?).ok()
}
