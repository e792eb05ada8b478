//! The machine of a runner's jobs.

use airlock_domain::{
    Cause, Epoch, ExecutionId, ExecutionResult, JobPhase, JobReport, SessionId, limits::VOUCHED_EPOCHS,
};

use super::{
    event::{Effect, Event},
    job::{Job, Phase, Record},
    offer::{Known, OfferKey, Reason, Room, Terms},
    state::State,
};

/// Takes one event. Returns the next state, and the effects to perform in order.
#[must_use]
pub fn step(mut state: State, event: Event) -> (State, Vec<Effect>) {
    let effects = state.take(event);
    (state, effects)
}

impl State {
    fn take(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::EpochBegan(epoch) => self.begin_epoch(epoch),
            Event::ServersTold if self.intact => Vec::new(),
            Event::ServersTold => vec![Effect::Append(Record::Told)],
            Event::Offered { offer, epoch, terms } => {
                self.repeated(offer, epoch).unwrap_or_else(|| self.consider(offer, epoch, terms))
            }
            Event::Checked { offer, epoch, session, room } => {
                self.repeated(offer, epoch).unwrap_or_else(|| self.admit(offer, epoch, session, room))
            }
            Event::Rejected { offer, epoch, reason, result } => {
                self.repeated(offer, epoch).unwrap_or_else(|| refuse(offer, epoch, reason, result))
            }
            Event::Started { id } => self.started(id),
            Event::Ended { id, result, keep_until_ms } => self.ended(id, result, keep_until_ms),
            Event::Kept { id, until_ms } => {
                self.keep_until.insert(id, until_ms);
                Vec::new()
            }
            Event::Forget { id } => self.forget(id),
            Event::Written(record) => self.record(record),
            Event::NotWritten { record, problem } => self.not_written(record, problem),
        }
    }

    fn begin_epoch(&mut self, epoch: Epoch) -> Vec<Effect> {
        self.vouched.extend(self.epoch.replace(epoch));
        let over = self.vouched.len().saturating_sub(VOUCHED_EPOCHS);
        self.vouched.drain(..over);
        vec![Effect::Append(Record::Boot {
            boot_id: self.boot_id.clone(),
            epoch,
            intact: self.intact,
            vouched: self.vouched.clone(),
        })]
    }

    /// Returns the effects for an offer that is not new. The answer is final: a repeated offer gets the same one.
    fn repeated(&self, offer: OfferKey, epoch: Epoch) -> Option<Vec<Effect>> {
        let OfferKey { id, attempt } = offer;
        match self.known(offer) {
            Known::New => None,
            Known::Answered => Some(vec![Effect::Report(id)]),
            Known::Conflict(reason) => {
                let (phase, result) = (JobPhase::Refused, Some(reason.result()));
                Some(vec![Effect::Answer(JobReport { execution_id: id, attempt, epoch, phase, result })])
            }
        }
    }

    fn consider(&self, offer: OfferKey, epoch: Epoch, terms: Option<Terms>) -> Vec<Effect> {
        match terms.and_then(|terms| terms.refusal(epoch)) {
            Some(reason) => refuse(offer, epoch, reason.name(), reason.result()),
            None => vec![Effect::Check(offer)],
        }
    }

    fn admit(&self, offer: OfferKey, epoch: Epoch, session: SessionId, room: Room) -> Vec<Effect> {
        let OfferKey { id, attempt } = offer;
        let refused = |reason: &Reason| refuse(offer, epoch, reason.name(), reason.result());
        if self.live_count() >= room.slots {
            return refused(&Reason::NoSlots);
        }
        let mut effects = Vec::new();
        if self.job_count() >= room.jobs_kept {
            match self.oldest_refusal(&id) {
                Some(oldest) => effects.push(Effect::Append(Record::Forgotten { ids: vec![oldest] })),
                // The acceptance replaces the refusal of an earlier attempt.
                None if self.job(&id).is_some() => {}
                None => return refused(&Reason::JobsKept),
            }
        }
        match room.disk_short {
            Some(problem) => effects.extend(refused(&Reason::Disk(problem))),
            None => {
                effects.push(Effect::Append(Record::Accepted { id, attempt, epoch, session: Some(session) }));
            }
        }
        effects
    }

    /// Returns the oldest refusal of another execution. Its offer is past its `not_after`, or of an older epoch.
    fn oldest_refusal(&self, id: &ExecutionId) -> Option<ExecutionId> {
        self.jobs().find(|(other, job)| *other != id && job.is_refused()).map(|(oldest, _)| *oldest)
    }

    fn started(&self, id: ExecutionId) -> Vec<Effect> {
        match self.job(&id).map(|job| &job.phase) {
            Some(Phase::Accepted) => vec![Effect::Append(Record::Running { id })],
            _ => Vec::new(),
        }
    }

    fn ended(&mut self, id: ExecutionId, result: ExecutionResult, keep_until_ms: u64) -> Vec<Effect> {
        if !self.job(&id).is_some_and(Job::is_live) {
            return Vec::new();
        }
        self.keep_until.insert(id, keep_until_ms);
        let lost = result.cause == Cause::RunnerLost;
        vec![Effect::Append(Record::Ended { id, lost, result })]
    }

    fn forget(&self, id: ExecutionId) -> Vec<Effect> {
        match self.job(&id) {
            Some(job) if !job.is_live() => vec![Effect::Append(Record::Forgotten { ids: vec![id] })],
            _ => Vec::new(),
        }
    }

    /// Applies a record. Returns the effects.
    fn record(&mut self, record: Record) -> Vec<Effect> {
        let effects = match &record {
            Record::Boot { .. } => Vec::new(),
            Record::Told => {
                self.intact = true;
                Vec::new()
            }
            Record::Accepted { id, .. } => vec![Effect::Report(*id), Effect::Start(*id)],
            Record::Refused { id, .. } | Record::Running { id } | Record::Ended { id, .. } => {
                vec![Effect::Report(*id)]
            }
            Record::Forgotten { ids } => {
                for id in ids {
                    self.keep_until.remove(id);
                }
                let ran = |id: &&ExecutionId| self.job(id).is_some_and(|job| !job.is_refused());
                ids.iter().filter(ran).map(|id| Effect::DeleteOutput(*id)).collect()
            }
        };
        self.history.apply(record);
        effects
    }

    /// Handles a record that is not in the journal. An acceptance then does not count. Other facts about jobs stay
    /// valid, because the process acts on them. After a restart, the job is reported as lost, refused again or fetched
    /// again.
    fn not_written(&mut self, record: Record, problem: String) -> Vec<Effect> {
        match record {
            Record::Boot { .. } | Record::Told => Vec::new(),
            Record::Accepted { id, attempt, epoch, .. } => {
                let reason = Reason::Journal(problem);
                refuse(OfferKey { id, attempt }, epoch, reason.name(), reason.result())
            }
            Record::Refused { .. }
            | Record::Running { .. }
            | Record::Ended { .. }
            | Record::Forgotten { .. } => self.record(record),
        }
    }
}

fn refuse(offer: OfferKey, epoch: Epoch, reason: &'static str, result: ExecutionResult) -> Vec<Effect> {
    let OfferKey { id, attempt } = offer;
    let record = Record::Refused { id, attempt, epoch, result };
    vec![Effect::Refuse { id, reason }, Effect::Append(record)]
}

#[cfg(test)]
mod tests;
