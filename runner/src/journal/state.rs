//! What the entries of a journal add up to.

use std::collections::{BTreeMap, HashSet, VecDeque};

use airlock_proto::domain::{Epoch, ExecutionId, ExecutionResult, SessionId};

use super::record::Record;

/// Ids in one entry when the file is rewritten.
const IDS_PER_RECORD: usize = 1000;

/// Where a job is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It will be started, once.
    Accepted,
    /// This attempt was not and will not be started.
    Refused(ExecutionResult),
    /// Its command runs.
    Running,
    /// It ended.
    Ended(ExecutionResult),
    /// It ended with its epoch.
    Lost(ExecutionResult),
}

/// What is known of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobRecord {
    /// The latest offer of it.
    pub(crate) attempt: u32,
    /// The epoch that answered the offer.
    pub(crate) epoch: Epoch,
    /// Where it runs; none for a refused one.
    pub(crate) session: Option<SessionId>,
    pub(crate) phase: Phase,
}

impl JobRecord {
    /// Whether the runner still owes it an end.
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
    /// The epochs up to this one of which everything is known, as long as its host stays up.
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

    /// Entries that this version did not write as they are, such as a malformed id, change nothing.
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

    /// The fewest entries that add up to this state.
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
