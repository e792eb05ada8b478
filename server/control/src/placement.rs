//! Placement: selects the next execution of a session and offers it to a runner.
//!
//! Only an [`Offer`] can be placed, and only the policy's permit can create one. Every
//! placement decides the command again, with the current directory and rules.

mod order;
mod send;
pub(crate) mod tasks;

use std::sync::Arc;

use airlock_domain::{Cause, DeniedBy, ExecutionId, ExecutionState, Grant, SessionId};
use airlock_lifecycle::{Event, Offered, Question, Redecision};
use airlock_store::{
    Store, StoreError,
    record::{DecisionRecord, ExecutionRecord, LiveExecution, SessionRecord, SessionState},
};
use tracing::Instrument as _;

use crate::{
    approval::Approvals,
    decision::{self, Decided, Offer, Ruling},
    decisions::Decisions,
    hooks::{self, HookDesk},
    limits::ServiceLimits,
    links::{Link, Links, lacks},
    profiles::{LiveProfiles, ResolvedProfile},
    runners::Runners,
    session::Sessions,
    shared::{Hints, OutputKeeper, RunnerSlots, SlotResult, TraceHooks, TransientState, micros},
    transition::{Transitions, lease_of},
};

/// Places the queued executions.
pub(crate) struct Placement {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) profiles: LiveProfiles,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) desk: Arc<HookDesk>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) links: Links,
    pub(crate) hints: Arc<Hints>,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) transient: Arc<TransientState>,
    /// Copies the output of ended executions.
    pub(crate) output: Arc<dyn OutputKeeper>,
    pub(crate) trace: TraceHooks,
    pub(crate) limits: ServiceLimits,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

/// The current decision about a stored execution.
struct Again {
    ruling: Ruling,
    record: DecisionRecord,
    /// The subject of a possible approval, without the state of the files, which are read later.
    grant: Grant,
}

/// The result of a repeated decision.
enum Redecided {
    /// The decision.
    Again(Box<Again>),
    /// The binding has changed, and hooks are asked about it. Their answers schedule the session.
    AsksHooks,
    /// The profile no longer exists.
    NoProfile,
}

impl Placement {
    /// Places every execution of a session that can be placed now.
    pub(super) async fn drive(&self, id: SessionId) -> Result<(), StoreError> {
        let live = self.transitions.live_of_session(id).await?;
        // Read after the executions, because the next command runs in the directory that the previous one
        // left.
        let Some(session) = self.store.session(id).await? else { return Ok(()) };
        // A session that is not open yet is handled by its runner's report or by the reconcile loop.
        if live.is_empty() && session.state == SessionState::Open {
            self.sessions.close_if_used_up(&session).await?;
        }
        if let Some(ended) = end_of(&session) {
            return self.end_waiting(&live, &ended).await;
        }
        let turns = order::turns(&live);
        for record in &turns {
            self.place(&session, record).await?;
        }
        match self.links.get(&session.runner_id) {
            Some(link) => self.hints.notify_waiting(&self.slots, &link.hello.runner_id, link.hello.slots),
            None if turns.is_empty() => {}
            None => self.runners.hint_session(&session.runner_id, session.id).await,
        }
        Ok(())
    }

    /// Offers an execution to its session's runner if the runner can accept it now.
    pub(crate) async fn place(
        &self,
        session: &SessionRecord,
        turn: &LiveExecution,
    ) -> Result<(), StoreError> {
        let waited = self.transient.head_since(turn.id).elapsed();
        if waited > self.limits.queue_wait {
            return self.finish_queued(turn.id, Cause::QueueExpired).await;
        }
        let link = self.links.get(&session.runner_id);
        let Some(link) = link.filter(|link| link.is_reconciled() && !link.is_draining()) else {
            return self.move_on(session, turn.id).await;
        };
        match self.slots.take(&link.hello.runner_id, link.hello.slots, turn.id) {
            SlotResult::Taken => {}
            SlotResult::Contended => {
                self.hints.runners.insert(link.hello.runner_id.clone());
                return Ok(());
            }
            SlotResult::Full => return self.move_on(session, turn.id).await,
        }
        if session.state == SessionState::Opening {
            return self.sessions.ask_open(&link, session.id).await;
        }
        let offer = self.slots.begin_offer(&link.hello.runner_id, turn.id);
        let placed = self.place_on(&link, session, turn).await;
        drop(offer);
        if !matches!(placed, Ok(true)) && link.set_unsent(turn.id) {
            self.slots.release(&link.hello.runner_id, turn.id);
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
        let record = self.store.execution(turn.id).await?;
        let Some(record) = record.filter(|record| record.version == turn.version) else {
            self.hints.sessions.insert(session.id);
            return Ok(false);
        };
        if record.cancel_requested {
            // The cancellation was requested while the last offer was refused.
            let cancelled = Cause::Cancelled(self.transitions.cancelled_by(record.id));
            return self.finish_queued(record.id, cancelled).await.map(|()| false);
        }
        let span = self.place_span(&record);
        self.offer(link, session, &record).instrument(span).await
    }

    /// Ends all executions of an ended session that are not on a runner: queued ones, and those that wait for
    /// an approval.
    async fn end_waiting(&self, live: &[LiveExecution], ended: &Event) -> Result<(), StoreError> {
        const WAITING: [ExecutionState; 2] = [ExecutionState::Queued, ExecutionState::PendingApproval];
        for waiting in live.iter().filter(|one| WAITING.contains(&one.state)) {
            self.transitions.advance(waiting.id, ended).await?;
        }
        Ok(())
    }

    /// Ends an execution if it is still queued.
    async fn finish_queued(&self, id: ExecutionId, cause: Cause) -> Result<(), StoreError> {
        self.transitions.advance(id, &Event::NotPlaced { cause }).await.map(drop)
    }

    /// Decides again, stores the offer and sends it. Returns whether the execution uses its slot.
    async fn offer(
        &self,
        link: &Arc<Link>,
        session: &SessionRecord,
        record: &ExecutionRecord,
    ) -> Result<bool, StoreError> {
        let again = match self.decide_again(session, record).await? {
            Redecided::Again(again) => *again,
            Redecided::AsksHooks => return Ok(false),
            Redecided::NoProfile => {
                return self.finish_queued(record.id, no_profile(session)).await.map(|()| false);
            }
        };
        if let Some(cause) = shell_unavailable(link, &again.grant) {
            return self.finish_queued(record.id, cause).await.map(|()| false);
        }
        if joins_the_order(record, &again) {
            self.write_again(session, record, &again).await?;
            return Ok(false);
        }
        let changed = again.record != record.decision || session.directory != record.spec.command.directory;
        let decision = changed.then(|| again.redecision(session));
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
        let offered = Event::Offered(Box::new(Offered {
            runner: link.hello.runner_id.clone(),
            epoch: link.hello.epoch,
            lease: lease_of(&self.server_id, &self.limits),
            decision,
        }));
        // Recorded before the transition is stored, so that the reconcile loop does not treat the offer as
        // unsent.
        link.set_sent(record.id, record.attempt.saturating_add(1));
        let not_after = link.clock_in(self.limits.start_window);
        let advanced = self.transitions.advance_from(record.clone(), &offered).await?;
        let Some(after) = advanced.filter(|advanced| advanced.is_changed) else { return Ok(false) };
        self.send_start(link, (&after.record, not_after), *offer).await;
        Ok(true)
    }

    /// Stores the new decision about an execution that stays queued, and schedules another look at the queue.
    async fn write_again(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
        again: &Again,
    ) -> Result<(), StoreError> {
        let decided = Event::DecidedAgain { decision: again.redecision(session) };
        self.transitions.advance(record.id, &decided).await.map(drop)
    }

    /// Decides a stored execution again, with the session's current directory, the tighter of its own mode
    /// and the session's, and the current rules. Hooks are asked again only if the binding has changed.
    async fn decide_again(
        &self,
        session: &SessionRecord,
        record: &ExecutionRecord,
    ) -> Result<Redecided, StoreError> {
        let Some(profile) = self.profiles.get(&session.profile) else { return Ok(Redecided::NoProfile) };
        let profile = self.decisions.with_remembered(profile, &session.tenant, session.id).await?;
        let approval = match record.approval_id {
            Some(id) => self.store.approval(id).await?,
            None => None,
        };
        let deciding = self.decisions.decide_stored(profile.clone(), session, record, &session.directory);
        let decided = deciding.instrument(decision::span()).await?;
        let Some(decided) = self.with_hooks((&profile, session), record, decided).await? else {
            return Ok(Redecided::AsksHooks);
        };
        let (mut says, grant) = (decided.record.clone(), decided.grant.clone());
        let ruling = decided.rule(approval.as_ref());
        if matches!(&ruling, Ruling::Place(offer) if offer.is_lifted()) {
            // The recorded decision remains the one that the person saw.
            says = record.decision.clone();
        }
        Ok(Redecided::Again(Box::new(Again { ruling, record: says, grant })))
    }

    /// Returns the decision with the answers of hooks, or `None` while hooks are asked.
    async fn with_hooks(
        &self,
        (profile, session): (&Arc<ResolvedProfile>, &SessionRecord),
        record: &ExecutionRecord,
        decided: Decided,
    ) -> Result<Option<Decided>, StoreError> {
        let known = record.decision.hooks.clone();
        if profile.hooks.is_empty() && known.is_empty() {
            return Ok(Some(decided));
        }
        let mode = record.spec.mode.max(session.mode);
        let of = (session, record.principal.as_str());
        let grant = &decided.grant;
        let how = (mode, grant.command.directory.as_slice(), grant.unsandboxed);
        let hooked = hooks::hooked(record.id, of, &record.spec, how);
        self.desk.consult_later(profile, hooked, decided, known).await
    }

    /// Returns the offer of an execution that was placed before, if it can still be placed.
    async fn offer_again(&self, record: &ExecutionRecord) -> Result<Option<Box<Offer>>, StoreError> {
        let Some(session) = self.store.session(record.session_id).await? else { return Ok(None) };
        let again = self.decide_again(&session, record).await?;
        Ok(match again {
            Redecided::Again(again) => match again.ruling {
                Ruling::Place(offer) => Some(offer),
                Ruling::Ask | Ruling::Deny => None,
            },
            Redecided::AsksHooks | Redecided::NoProfile => None,
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
        asked.spec.command.directory.clone_from(&session.directory);
        let looked = self.approvals.look_at(session, &again.grant).await;
        let approval = self.approvals.new_approval(&asked, decision::asked(&again.grant, looked));
        let asked = Event::AskedAgain(Box::new(Question {
            decision: again.redecision(session),
            approval,
            valid_micros: micros(self.approvals.valid_for(session)),
        }));
        self.transitions.advance(record.id, &asked).await.map(drop)
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
        let denied = Event::DeniedAgain { decision: again.redecision(session), by };
        self.transitions.advance(record.id, &denied).await.map(drop)
    }
}

impl Again {
    /// Returns the decision to store, and its directory.
    fn redecision(&self, session: &SessionRecord) -> Redecision {
        Redecision { record: self.record.clone(), directory: session.directory.clone() }
    }
}

/// Reports whether the execution was concurrent and is serial according to the new decision.
fn joins_the_order(record: &ExecutionRecord, again: &Again) -> bool {
    let places = matches!(again.ruling, Ruling::Place(_));
    let now = ExecutionRecord { decision: again.record.clone(), ..record.clone() };
    places && !record.is_serial() && now.is_serial()
}

/// Returns the event for the unstarted executions of an ended session, or `None` if the session has not ended.
fn end_of(session: &SessionRecord) -> Option<Event> {
    match session.state {
        SessionState::Closing | SessionState::Closed => Some(Event::SessionEnded { lost: false }),
        SessionState::Lost => Some(Event::SessionEnded { lost: true }),
        SessionState::Opening | SessionState::Open => None,
    }
}

fn no_profile(session: &SessionRecord) -> Cause {
    let reason = format!("the profile `{}` no longer exists", session.profile);
    Cause::Denied { by: DeniedBy::Policy, reason }
}

/// Returns the cause if the shell is known to be unavailable on the runner. For a root file system or binds
/// of the profile, and outside the sandbox, only the start can determine this.
fn shell_unavailable(link: &Link, grant: &Grant) -> Option<Cause> {
    let profile = &grant.profile;
    let known = profile.rootfs.is_none() && profile.root_binds.is_empty() && !grant.unsandboxed;
    if !known || !lacks(&link.hello.shells, grant.command.shell) {
        return None;
    }
    let shells = link.hello.shells.iter();
    let there: Vec<String> =
        shells.map(|(name, version)| format!("{name} {version}").trim().to_owned()).collect();
    let (shell, there) = (grant.command.shell.name(), there.join(", "));
    let message = format!("{shell} is not installed where the command runs; installed: {there}");
    Some(Cause::ShellUnavailable { message })
}
