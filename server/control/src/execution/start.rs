//! The start of an execution: decides the request, stores it with its audit entry and queues it.

use std::{sync::Arc, time::Duration};

use airlock_domain::{
    BackgroundedBy, Cause, DeniedBy, ExecutionId, ExecutionResult, ExecutionState, OutputState,
};
use airlock_policy::Verdict;
use airlock_store::{
    Created, NewExecution, StartClaim, StoreError,
    record::{ExecutionRecord, ExecutionSpec, Micros, SessionRecord, SessionState},
};
use tracing::Instrument as _;

use super::{Executions, spec};
use crate::{
    api::{ApiError, StartExecution},
    decision::{self, Asked, Decided},
    hooks,
    model::Principal,
    profiles::ResolvedProfile,
    runners::choose::Wants,
    session::create::throwaway_session,
    shared::{check_open, exhausted, exhausted_for, micros, violation},
};

/// The ID of an execution and its session, and whether the session must be created.
struct Setting {
    id: ExecutionId,
    session: SessionRecord,
    is_new: bool,
    profile: Arc<ResolvedProfile>,
}

impl Executions {
    /// Decides a request, asks the profile's hooks, and queues it unless it is denied. If the future is dropped, the
    /// execution is either stored completely or not at all; the client can repeat the request with its `request_id`, and
    /// no hook is asked again.
    ///
    /// # Errors
    /// `Denied` with the finished execution, `AlreadyExists`, `NotFound`, `FailedPrecondition`, `Invalid`, `Exhausted`,
    /// `Unavailable`.
    pub async fn start(&self, who: &Principal, request: StartExecution) -> Result<ExecutionRecord, ApiError> {
        self.lifecycle.check_running()?;
        let hash = request.hash();
        if let Some(key) = &request.request_id
            && let Some(existing) = self.store.execution_by_request(&who.tenant, &who.name, key).await?
        {
            return repeated(existing, hash, key);
        }
        let mut setting = self.setting(who, &request).await?;
        let mut spec = spec::of(&setting.session, &setting.profile, &request)?;

        let mut decided = self.decide(&setting, &spec).instrument(decision::span()).await?;
        if !setting.profile.hooks.is_empty() && decided.verdict != Verdict::Deny {
            decided = match self.ask_hooks(who, &request, &spec, (&mut setting, decided)).await? {
                Ok(decided) => decided,
                Err(created) => return self.created(created, hash, request.request_id).await,
            };
        }
        self.observer.decided(decision::verdict_name(decided.record.verdict), &decided.record.reason_code);
        let fate = fate(&decided, request.wait_for_approval);
        if !matches!(fate, Fate::Denied(_)) {
            spec::consider_sleep(&mut spec, &decided.decision, &setting.profile)?;
        }
        let setting = self.settle_session(setting, &request, &decided, &fate)?;
        let asked = match fate {
            Fate::AskPerson => {
                let looked = self.approvals.look_at(&setting.session, &decided.grant).await;
                Some(decision::asked(&decided.grant, looked))
            }
            Fate::Queue | Fate::Denied(_) => None,
        };
        let new = self.new_execution(who, &request, hash, spec, (&decided, &fate, asked), setting);
        let span = tracing::info_span!("audit");
        let created = self.store.create_execution(new).instrument(span).await?;
        self.created(created, hash, request.request_id).await
    }

    /// Completes a start after the store has created the execution, or has not.
    async fn created(
        &self,
        created: Created<ExecutionRecord>,
        hash: [u8; 32],
        key: Option<String>,
    ) -> Result<ExecutionRecord, ApiError> {
        let key = key.unwrap_or_default();
        match created {
            Created::New(record) => self.entered(record).await,
            Created::Existing(existing) => repeated(existing, hash, &key),
            Created::Conflict => Err(ApiError::AlreadyExists { request_id: key }),
            Created::Full { limit, value } => Err(exhausted(limit, value)),
            Created::Later { limit, value, wait_micros } => Err(exhausted_for(limit, value, wait_micros)),
        }
    }

    /// Asks the profile's hooks about a request. A repeated request gets the IDs of the first one, so that its decision
    /// has the same binding and the same answers. Returns the result of the creation instead if the execution exists or
    /// a limit is reached.
    async fn ask_hooks(
        &self,
        who: &Principal,
        request: &StartExecution,
        spec: &ExecutionSpec,
        (setting, mut decided): (&mut Setting, Decided),
    ) -> Result<Result<Decided, Created<ExecutionRecord>>, ApiError> {
        let claim = StartClaim {
            tenant: who.tenant.clone(),
            principal: who.name.clone(),
            request_id: request.request_id.clone(),
            request_hash: request.hash(),
            execution_id: setting.id,
            session_id: setting.session.id,
            room: self.limits.room(&who.tenant),
        };
        let (id, session) = match self.store.claim_start(&claim).await? {
            Ok(ids) => ids,
            Err(created) => return Ok(Err(created)),
        };
        setting.id = id;
        if setting.session.id != session {
            setting.session.id = session;
            decided = self.decide(setting, spec).instrument(decision::span()).await?;
        }
        let of = (&setting.session, who.name.as_str());
        let grant = &decided.grant;
        let how = (spec.mode, grant.command.directory.as_slice(), grant.unsandboxed);
        let hooked = hooks::hooked(id, of, spec, how);
        let asked = self.desk.consult(&setting.profile, &hooked, decided, Vec::new()).await;
        // A call that the end of the server interrupts is not a failure of the store.
        asked.map(Ok).map_err(|error| match self.lifecycle.check_running() {
            Err(stopping) => stopping,
            Ok(()) => error.into(),
        })
    }

    /// Returns the session of a request, or a new temporary session.
    async fn setting(&self, who: &Principal, request: &StartExecution) -> Result<Setting, ApiError> {
        let Some(id) = request.session_id else {
            let profile = self.decisions.profile_for(who, request.profile.as_deref())?;
            let session = throwaway_session(who, request, &profile)?;
            let profile = self.decisions.with_remembered(profile, &who.tenant, session.id).await?;
            return Ok(Setting { id: ExecutionId::new(), session, is_new: true, profile });
        };
        let given = [
            ("spec.profile", request.profile.is_some()),
            ("spec.base", request.base.is_some()),
            ("spec.runner_labels", !request.runner_labels.is_empty()),
        ];
        let violations: Vec<_> = given
            .iter()
            .filter(|(_, given)| *given)
            .map(|(field, _)| violation(field, "is only valid without a session; remove it".to_owned()))
            .collect();
        if !violations.is_empty() {
            return Err(ApiError::Invalid(violations));
        }
        let session = self.sessions.get(who, id).await?;
        check_open(&session)?;
        let profile = self.decisions.profile_to_use(who, &session)?;
        let profile = self.decisions.with_remembered(profile, &session.tenant, session.id).await?;
        Ok(Setting { id: ExecutionId::new(), session, is_new: false, profile })
    }

    async fn decide(&self, setting: &Setting, spec: &ExecutionSpec) -> Result<Decided, StoreError> {
        let session = setting.session.clone();
        let encode = self.decisions.encode;
        let permits = match setting.is_new {
            true => self.runners.some_runner_permits_unsandboxed(),
            false => self.decisions.floor_permits(&session),
        };
        let (profile, spec, tenant) = (setting.profile.clone(), spec.clone(), session.tenant.clone());
        let decide = move || {
            let place = (session.directory.as_slice(), &session.snapshot);
            let of = (session.id, session.network.as_ref());
            decision::decide(&profile, of, &spec, (spec.mode, permits), place, encode)
        };
        self.decisions.judge(&tenant, decide).await
    }

    /// Assigns a temporary session to a runner. The runner learns of it when it is needed. The session of a
    /// denied command is closed from the start and has no runner.
    fn settle_session(
        &self,
        mut setting: Setting,
        request: &StartExecution,
        decided: &Decided,
        fate: &Fate,
    ) -> Result<Setting, ApiError> {
        let session = &mut setting.session;
        let denied = matches!(fate, Fate::Denied(_));
        if !setting.is_new {
            if !denied && self.runners.is_draining(&session.runner_id) {
                return Err(runner_draining(session));
            }
            return Ok(setting);
        }
        if denied {
            session.state = SessionState::Closed;
            session.state_message = "its command was not allowed".to_owned();
        } else {
            let grant = &decided.grant;
            session.runner_id = self.runners.pick_runner(&Wants {
                labels: &request.runner_labels,
                base: request.base.as_deref(),
                shell: grant.command.shell,
                unsandboxed: grant.unsandboxed,
            })?;
        }
        Ok(setting)
    }

    fn new_execution(
        &self,
        who: &Principal,
        request: &StartExecution,
        request_hash: [u8; 32],
        spec: ExecutionSpec,
        (decided, fate, asked): (&Decided, &Fate, Option<Asked>),
        setting: Setting,
    ) -> NewExecution {
        let session = setting.session;
        let (state, result) = match fate {
            Fate::Queue => (ExecutionState::Queued, None),
            Fate::AskPerson => (ExecutionState::PendingApproval, None),
            Fate::Denied(by) => (ExecutionState::Finished, Some(denied(*by, &decided.record.reason_message))),
        };
        let limits = &self.limits;
        let is_background = spec.background;
        let mut record = ExecutionRecord {
            id: setting.id,
            version: 0,
            session_id: session.id,
            tenant: who.tenant.clone(),
            principal: who.name.clone(),
            request_id: request.request_id.clone(),
            request_hash,
            spec,
            state,
            link: None,
            decision: decided.record.clone(),
            runner_id: None,
            runner_epoch: None,
            attempt: 0,
            owner_server: Some(self.server_id.clone()),
            lease_until: Micros(self.clock.now().0.saturating_add(micros(limits.lease))),
            approval_id: None,
            cancel_requested: false,
            backgrounded: is_background.then_some(BackgroundedBy::Request),
            output: OutputState::None,
            result,
            traceparent: request.traceparent.clone(),
            created: Micros(0),
            queued: Micros(0),
            started: None,
            ended: None,
        };
        let approval = asked.map(|asked| self.approvals.new_approval(&record, asked));
        record.approval_id = approval.as_ref().map(|approval| approval.id);
        NewExecution {
            record,
            peer: who.peer.clone(),
            approval,
            approval_valid_micros: micros(self.approvals.valid_for(&session)),
            session: setting.is_new.then_some(session),
            room: limits.room(&who.tenant),
        }
    }

    /// Completes a start after the execution is stored.
    async fn entered(&self, record: ExecutionRecord) -> Result<ExecutionRecord, ApiError> {
        self.transitions.entered(&record).await;
        if record.state == ExecutionState::Finished { Err(refusal(record)) } else { Ok(record) }
    }
}

/// Returns the error for a draining runner. The execution could wait indefinitely, so the client should act
/// instead.
fn runner_draining(session: &SessionRecord) -> ApiError {
    ApiError::Unavailable {
        reason: "RUNNER_DRAINING",
        message: format!(
            "runner `{}` of session `{}` accepts no new commands",
            session.runner_id, session.id
        ),
        retry_after: Duration::from_secs(5),
    }
}

/// The outcome of a request, from the verdict and the request's `on_ask`.
pub(super) enum Fate {
    Queue,
    AskPerson,
    Denied(DeniedBy),
}

pub(super) fn fate(decided: &Decided, wait_for_approval: bool) -> Fate {
    match decided.verdict {
        Verdict::Allow => Fate::Queue,
        Verdict::Ask if wait_for_approval => Fate::AskPerson,
        Verdict::Ask => Fate::Denied(DeniedBy::NobodyToAsk),
        Verdict::Deny => Fate::Denied(DeniedBy::Policy),
    }
}

/// Returns the existing execution for a repeated key, with the original response.
pub(super) fn repeated(
    existing: ExecutionRecord,
    hash: [u8; 32],
    key: &str,
) -> Result<ExecutionRecord, ApiError> {
    if existing.request_hash != hash {
        return Err(ApiError::AlreadyExists { request_id: key.to_owned() });
    }
    let refused_at_once = matches!(
        existing.result.as_ref().map(|result| &result.cause),
        Some(Cause::Denied { by: DeniedBy::Policy | DeniedBy::NobodyToAsk, .. })
    );
    if refused_at_once { Err(refusal(existing)) } else { Ok(existing) }
}

pub(super) fn refusal(execution: ExecutionRecord) -> ApiError {
    let cause = execution.result.as_ref().map(|result| &result.cause);
    let approval_required = matches!(cause, Some(Cause::Denied { by: DeniedBy::NobodyToAsk, .. }));
    ApiError::Denied { execution: Box::new(execution), approval_required }
}

pub(super) fn denied(by: DeniedBy, reason: &str) -> ExecutionResult {
    ExecutionResult::not_started(Cause::Denied { by, reason: reason.to_owned() })
}
