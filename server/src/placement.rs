//! Placement: selects the next execution of a session and offers it to a runner.
//!
//! Only an [`Offer`] can be placed, and only the policy's permit can create one. Every placement decides the
//! command again, with the current directory and rules.

pub mod choose;
mod drive;
mod fill;
mod order;
mod pick;
mod send;

use std::sync::Arc;

use airlock_domain::{
    CancelledBy, Cause, DeniedBy, ExecutionId, ExecutionResult, ExecutionState, Grant, LinkState, SessionId,
    Started,
};

pub(crate) use drive::drive_sessions;
pub(crate) use fill::fill_vacancies;

use tracing::Instrument as _;

use crate::{
    approval::as_found,
    decision::{self, Decided, Offer, Ruling},
    engine::{Core, Seat, micros},
    execution::{finish_with, lost_result},
    limits::EXECUTIONS_PER_SESSION_MOST,
    links::Link,
    model::{DecisionRecord, ExecutionRecord, LiveExecution, SessionRecord, SessionState},
    profiles::ResolvedProfile,
    store::{Cas, StoreError, Transition},
};

/// The current decision about a stored execution.
struct Again {
    ruling: Ruling,
    record: DecisionRecord,
    /// The subject of a possible approval, without the state of the files, which are read later.
    grant: Grant,
}

impl Core {
    /// Returns the unfinished executions of a session, oldest first.
    pub(crate) async fn live_of_session(&self, id: SessionId) -> Result<Vec<LiveExecution>, StoreError> {
        self.store().live_executions(Some(id), None, EXECUTIONS_PER_SESSION_MOST).await
    }

    /// Places every execution of a session that can be placed now.
    async fn drive(&self, id: SessionId) -> Result<(), StoreError> {
        let live = self.live_of_session(id).await?;
        // Read after the executions, because the next command runs in the directory that the previous one
        // left.
        let Some(session) = self.store().session(id).await? else { return Ok(()) };
        // A session that is not open yet is handled by its runner's report or by the reconcile loop.
        if live.is_empty() && session.state == SessionState::Open {
            self.close_if_used_up(&session).await?;
        }
        if let Some(result) = end_with(&session) {
            return self.end_waiting(&live, &result).await;
        }
        let turns = order::turns(&live);
        for record in &turns {
            self.place(&session, record).await?;
        }
        match self.parts.links.get(&session.runner_id) {
            Some(link) => self.wake_waiting(&link),
            None if turns.is_empty() => {}
            None => self.nudge(&session.runner_id, session.id).await,
        }
        Ok(())
    }

    /// Offers an execution to its session's runner if the runner can accept it now.
    pub(crate) async fn place(
        &self,
        session: &SessionRecord,
        turn: &LiveExecution,
    ) -> Result<(), StoreError> {
        let waited = self.head_since(turn.id).elapsed();
        if waited > self.parts.limits.queue_wait {
            let expired = ExecutionResult::not_started(Cause::QueueExpired);
            return self.finish_queued(turn.id, expired).await;
        }
        let link = self.parts.links.get(&session.runner_id);
        let Some(link) = link.filter(|link| link.is_reconciled() && !link.is_draining()) else {
            return self.move_on(session, turn.id).await;
        };
        match self.seats.take(&link.hello.runner_id, link.hello.slots, turn.id) {
            Seat::Taken => {}
            Seat::Contended => {
                self.vacant.wake(link.hello.runner_id.clone());
                return Ok(());
            }
            Seat::Full => return self.move_on(session, turn.id).await,
        }
        if session.state == SessionState::Opening {
            return self.ask_open(&link, session.id).await;
        }
        let placed = self.place_on(&link, session, turn).await;
        if !matches!(placed, Ok(true)) && link.set_unsent(turn.id) {
            self.seats.release(&link.hello.runner_id, turn.id);
        }
        placed.map(drop)
    }

    /// Offers an execution that has a slot. Returns whether it uses the slot.
    async fn place_on(
        &self,
        link: &Arc<Link>,
        session: &SessionRecord,
        turn: &LiveExecution,
    ) -> Result<bool, StoreError> {
        let record = self.store().execution(turn.id).await?;
        let Some(record) = record.filter(|record| record.version == turn.version) else {
            self.wake.wake(session.id);
            return Ok(false);
        };
        if record.cancel_requested {
            // The cancellation was requested while the last offer was refused.
            let by = self.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
            let cancelled = ExecutionResult::not_started(Cause::Cancelled(by));
            return self.finish_queued(record.id, cancelled).await.map(|()| false);
        }
        let span = self.place_span(&record);
        self.offer(link, session, &record).instrument(span).await
    }

    /// Ends all executions of an ended session that are not on a runner: queued ones, and those that wait for
    /// an approval.
    async fn end_waiting(&self, live: &[LiveExecution], result: &ExecutionResult) -> Result<(), StoreError> {
        const WAITING: [ExecutionState; 2] = [ExecutionState::Queued, ExecutionState::PendingApproval];
        for waiting in live.iter().filter(|one| WAITING.contains(&one.state)) {
            let step =
                |now: &ExecutionRecord| WAITING.contains(&now.state).then(|| finish_with(result.clone()));
            self.advance(waiting.id, step).await?;
        }
        Ok(())
    }

    /// Ends an execution if it is still queued.
    async fn finish_queued(&self, id: ExecutionId, result: ExecutionResult) -> Result<(), StoreError> {
        self.advance(id, |now| (now.state == ExecutionState::Queued).then(|| finish_with(result.clone())))
            .await
            .map(drop)
    }

    /// Decides again, stores the offer and sends it. Returns whether the execution uses its slot.
    async fn offer(
        &self,
        link: &Arc<Link>,
        session: &SessionRecord,
        record: &ExecutionRecord,
    ) -> Result<bool, StoreError> {
        let Some(again) = self.decide_again(session, record).await? else {
            return self.finish_queued(record.id, no_profile(session)).await.map(|()| false);
        };
        if let Some(cause) = shell_unavailable(link, &again.grant) {
            return self.finish_queued(record.id, ExecutionResult::not_started(cause)).await.map(|()| false);
        }
        if joins_the_order(record, &again) {
            self.write_again(session, record, &again).await?;
            return Ok(false);
        }
        let changed = again.record != record.decision || session.directory != record.directory;
        let decision = changed.then(|| (again.record.clone(), session.directory.clone()));
        let offer = match again.ruling {
            Ruling::Place(offer) => offer,
            Ruling::Ask if record.spec.wait_for_approval => {
                self.ask_again(session, record, &again).await?;
                return Ok(false);
            }
            Ruling::Ask | Ruling::Deny => {
                self.deny_queued(session, record, &again).await?;
                return Ok(false);
            }
        };
        let step = Transition {
            state: Some(ExecutionState::Starting),
            link: Some(Some(LinkState::Connected)),
            offer: Some((link.hello.runner_id.clone(), link.hello.epoch)),
            lease: Some((self.parts.server_id.clone(), micros(self.parts.limits.lease))),
            decision,
            ..Transition::default()
        };
        // Recorded before the transition is stored, so that the reconcile loop does not treat the offer as
        // unsent.
        link.set_sent(record.id, record.attempt.saturating_add(1));
        let not_after = link.clock_in(self.parts.limits.start_window);
        match self.store().transition(record.id, record.version, &step).await? {
            Cas::Done(after) => {
                self.took_step(record, &after);
                self.send_start(link, (&after, not_after), *offer).await;
                Ok(true)
            }
            Cas::Stale(_) => {
                self.wake.wake(record.session_id);
                Ok(false)
            }
            Cas::Missing => Ok(false),
        }
    }

    /// Stores the new decision about an execution that stays queued, and schedules another look at the queue.
    async fn write_again(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
        again: &Again,
    ) -> Result<(), StoreError> {
        self.advance(record.id, |now| {
            (now.state == ExecutionState::Queued).then(|| Transition {
                decision: Some((again.record.clone(), session.directory.clone())),
                ..Transition::default()
            })
        })
        .await?;
        self.wake.wake(session.id);
        Ok(())
    }

    /// Reports whether the session's runner permits commands outside the sandbox, as far as is known.
    pub(crate) fn floor_permits(&self, session: &SessionRecord) -> bool {
        self.runner_permits_unsandboxed(&session.runner_id)
    }

    /// Decides a stored execution again, with the session's current directory, the tighter of its own mode
    /// and the session's, and the current rules. Returns `None` if the profile no longer exists.
    async fn decide_again(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
    ) -> Result<Option<Again>, StoreError> {
        let Some(profile) = self.parts.profiles.get(&session.profile) else { return Ok(None) };
        let profile = self.with_remembered(profile, &session.tenant, session.id).await?;
        let approval = match record.approval_id {
            Some(id) => self.store().approval(id).await?,
            None => None,
        };
        let deciding = self.decide_stored(profile, session, record, &session.directory);
        let decided = deciding.instrument(decision::span()).await?;
        let (mut says, grant) = (decided.record.clone(), decided.grant.clone());
        let ruling = decided.rule(approval.as_ref());
        if matches!(&ruling, Ruling::Place(offer) if offer.is_lifted()) {
            // The decision that the person was shown stays recorded.
            says = record.decision.clone();
        }
        Ok(Some(Again { ruling, record: says, grant }))
    }

    /// Decides a stored execution in this directory, with the tighter of its own mode and the session's.
    async fn decide_stored(
        &self,
        profile: Arc<ResolvedProfile>,
        session: &SessionRecord,
        record: &ExecutionRecord,
        directory: &[u8],
    ) -> Result<Decided, StoreError> {
        let encode = self.parts.encode_decision;
        let mode = (record.spec.mode.max(session.mode), self.floor_permits(session));
        let (id, snapshot, spec) = (session.id, session.snapshot.clone(), record.spec.clone());
        let directory = directory.to_vec();
        let decide =
            move || decision::decide(&profile, id, &spec, mode, (directory.as_slice(), &snapshot), encode);
        self.judge(&session.tenant, decide).await
    }

    /// Returns the offer of an execution that was placed before, if it can still be placed.
    async fn offer_again(&self, record: &ExecutionRecord) -> Result<Option<Box<Offer>>, StoreError> {
        let Some(session) = self.store().session(record.session_id).await? else { return Ok(None) };
        let again = self.decide_again(&session, record).await?;
        Ok(match again.map(|again| again.ruling) {
            Some(Ruling::Place(offer)) => Some(offer),
            Some(Ruling::Ask | Ruling::Deny) | None => None,
        })
    }

    /// Asks again, because the verdict became stricter or the approved command changed.
    async fn ask_again(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
        again: &Again,
    ) -> Result<(), StoreError> {
        let mut asked = record.clone();
        asked.decision = again.record.clone();
        asked.directory.clone_from(&session.directory);
        let files = self.look_at(session, &again.grant.decided.files).await;
        let approval = self.new_approval(&asked, decision::asked(&again.grant, files));
        let valid = micros(self.approval_valid(session));
        self.advance(record.id, |now| {
            (now.state == ExecutionState::Queued).then(|| Transition {
                state: Some(ExecutionState::PendingApproval),
                decision: Some((asked.decision.clone(), asked.directory.clone())),
                approval: Some((approval.clone(), valid)),
                ..Transition::default()
            })
        })
        .await
        .map(drop)
    }

    /// Returns the transition to a new approval after the runner found that programs or paths differ from the
    /// decision. Returns `None` if the request does not wait for an answer or a person cannot lift the
    /// refusal.
    pub(crate) async fn question_of_refusal(
        &self,
        record: &ExecutionRecord,
        refusal: &Cause,
    ) -> Result<Option<Transition>, StoreError> {
        let Cause::Refused { reason, message, files } = refusal else { return Ok(None) };
        let known = [decision::UNTRUSTED_PATH, decision::FILES_CHANGED, decision::NAMES_A_PROGRAM];
        let Some(code) = known.into_iter().find(|code| code == reason) else { return Ok(None) };
        let session = self.store().session(record.session_id).await?;
        let Some(session) = session.filter(|_| record.spec.wait_for_approval) else { return Ok(None) };
        let Some(profile) = self.parts.profiles.get(&session.profile) else { return Ok(None) };
        let profile = self.with_remembered(profile, &session.tenant, session.id).await?;
        let encode = self.parts.encode_decision;
        let decided = self.decide_stored(profile.clone(), &session, record, &record.directory).await?;
        let Some(question) = decided.question(code, message, profile.name(), encode) else { return Ok(None) };
        let mut asked = record.clone();
        let files = as_found(&question.grant.decided.files, files);
        asked.decision = question.record;
        let approval = self.new_approval(&asked, decision::asked(&question.grant, files));
        Ok(Some(Transition {
            state: Some(ExecutionState::PendingApproval),
            decision: Some((asked.decision, asked.directory)),
            approval: Some((approval, micros(self.approval_valid(&session)))),
            ..Transition::default()
        }))
    }

    async fn deny_queued(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
        again: &Again,
    ) -> Result<(), StoreError> {
        let by = match again.ruling {
            Ruling::Ask => DeniedBy::NobodyToAsk,
            Ruling::Deny | Ruling::Place(_) => DeniedBy::Policy,
        };
        let cause = Cause::Denied { by, reason: again.record.reason_message.clone() };
        let result = ExecutionResult::not_started(cause);
        self.advance(record.id, |now| {
            (now.state == ExecutionState::Queued).then(|| Transition {
                decision: Some((again.record.clone(), session.directory.clone())),
                ..finish_with(result.clone())
            })
        })
        .await
        .map(drop)
    }
}

/// Reports whether the execution was concurrent and is serial according to the new decision.
fn joins_the_order(record: &ExecutionRecord, again: &Again) -> bool {
    let places = matches!(again.ruling, Ruling::Place(_));
    let now = ExecutionRecord { decision: again.record.clone(), ..record.clone() };
    places && !record.is_serial() && now.is_serial()
}

/// Returns the result of unstarted executions of an ended session, or `None` if the session has not ended.
fn end_with(session: &SessionRecord) -> Option<ExecutionResult> {
    match session.state {
        SessionState::Closing | SessionState::Closed => {
            Some(ExecutionResult::not_started(Cause::Cancelled(CancelledBy::Session)))
        }
        SessionState::Lost => Some(lost_result(Started::No)),
        SessionState::Opening | SessionState::Open => None,
    }
}

fn no_profile(session: &SessionRecord) -> ExecutionResult {
    let reason = format!("the profile `{}` no longer exists", session.profile);
    ExecutionResult::not_started(Cause::Denied { by: DeniedBy::Policy, reason })
}

/// Returns the cause if the shell is known to be unavailable on the runner. For a root file system or binds
/// of the profile, and outside the sandbox, only the start can determine this.
fn shell_unavailable(link: &Link, grant: &Grant) -> Option<Cause> {
    let profile = &grant.profile;
    let known = profile.rootfs.is_none() && profile.root_binds.is_empty() && !grant.unsandboxed;
    if !known || !link.lacks(grant.shell) {
        return None;
    }
    let shells = link.hello.shells.iter();
    let there: Vec<String> =
        shells.map(|(name, version)| format!("{name} {version}").trim().to_owned()).collect();
    let (shell, there) = (grant.shell.name(), there.join(", "));
    let message = format!("{shell} is not installed where the command would run; installed: {there}");
    Some(Cause::ShellUnavailable { message })
}
