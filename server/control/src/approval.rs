//! Approvals: creates them, records answers and expiry, and moves the execution on.
//!
//! The answer is stored first, bound to the hash of the question. Then the execution moves on. If the process
//! dies between these steps, the reconcile loop completes the second one. An approval for a connection of a running
//! command moves nothing on: its answer is sent to the runner.

mod connections;
mod files;
mod remember;

use std::{sync::Arc, time::Duration};

use airlock_domain::{ApprovalId, BoundFile, EditPreview, Grant, RunnerId, SessionId};
use airlock_lifecycle::{Answer, Event};
use airlock_store::{
    ApprovalAnswer, ApprovalQuery, Cas, Page, PageQuery, Store, StoreError,
    record::{
        ApprovalRecord, ApprovalState, ExecutionRecord, LiveExecution, Micros, RuleScope, SessionRecord,
    },
};

use crate::{
    api::ApiError,
    decision::Asked,
    decisions::Decisions,
    hooks::HookDesk,
    limits::ServiceLimits,
    model::Principal,
    profiles::LiveProfiles,
    shared::{Clock, Lifecycle, Observer},
    transition::Transitions,
};

/// An approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverAnswer {
    /// Allows this execution once.
    AllowOnce,
    /// Allows this execution and remembers rules for later ones.
    AllowAndRemember {
        /// The scope of the rules.
        scope: RuleScope,
        /// The rules. Empty selects those that the decision suggests.
        rules: Vec<String>,
    },
    /// Denies the execution.
    Deny {
        /// The reason, which is shown to the client.
        reason: String,
    },
}

/// Reads the state of files in sessions. The exchanges implement it.
#[async_trait::async_trait]
pub trait FileLook: Send + Sync {
    /// Returns the states of these paths in the same order. The request ends when the future is dropped.
    ///
    /// # Errors
    /// Returns `Unavailable`, `Exhausted`, or the runner's refusal.
    async fn look(
        &self,
        tenant: &str,
        runner: &RunnerId,
        session_id: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError>;

    /// Returns the changes that the file edit of a grant would make. The request ends when the future is dropped.
    ///
    /// # Errors
    /// Returns `Unavailable`, `Exhausted`, or the runner's refusal.
    async fn preview(&self, tenant: &str, runner: &RunnerId, grant: Grant) -> Result<EditPreview, ApiError>;
}

/// The approvals and the remembered rules.
pub struct Approvals {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) profiles: LiveProfiles,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) desk: Arc<HookDesk>,
    /// Reads the state of files in sessions.
    pub(crate) files: Arc<dyn FileLook>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) limits: ServiceLimits,
}

impl Approvals {
    /// Lists approvals of the caller's tenant, oldest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(
        &self,
        who: &Principal,
        mut query: ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, ApiError> {
        query.tenant = Some(who.tenant.clone());
        Ok(self.store.approvals(&query, page).await?)
    }

    /// Answers an approval. `binding` is the binding that the approver was shown.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` for the caller's own request; `FailedPrecondition` if the approval is no longer
    /// open or has another binding, or its profile does not permit remembered rules; `Invalid` for rules that do not
    /// cover the command or cover much more; `Exhausted` if there are too many rules.
    #[tracing::instrument(name = "approve", skip_all, fields(approval_id = %id))]
    pub async fn decide(
        &self,
        who: &Principal,
        id: ApprovalId,
        binding: &[u8],
        answer: ApproverAnswer,
    ) -> Result<ApprovalRecord, ApiError> {
        self.lifecycle.check_running()?;
        let approval = self.store.approval(id).await?;
        let approval = approval
            .filter(|approval| approval.tenant == who.tenant)
            .ok_or_else(|| ApiError::NotFound { what: "approval", id: id.to_string() })?;
        if approval.state != ApprovalState::Open {
            return Err(not_open(&approval));
        }
        if approval.binding.as_slice() != binding {
            return Err(ApiError::FailedPrecondition {
                reason: "BINDING_MISMATCH",
                message: "the approval has changed since it was shown; read it again before you answer"
                    .to_owned(),
            });
        }
        self.check_may_answer(who, &approval).await?;
        let (state, reason, remember) = match answer {
            ApproverAnswer::AllowOnce => (ApprovalState::Allowed, String::new(), None),
            ApproverAnswer::AllowAndRemember { .. } if approval.connection.is_some() => {
                return Err(not_remembered());
            }
            ApproverAnswer::AllowAndRemember { scope, rules } => {
                let remember = self.to_remember(who, &approval, (scope, &rules)).await?;
                (ApprovalState::Allowed, String::new(), Some(remember))
            }
            ApproverAnswer::Deny { reason } => (ApprovalState::Denied, reason, None),
        };
        let answer = ApprovalAnswer { state, decided_by: who.name.clone(), reason, remember };
        match self.store.answer_approval(id, &answer).await? {
            Cas::Done(approval) => {
                self.answered(&approval).await?;
                Ok(approval)
            }
            Cas::Stale(approval) => Err(not_open(&approval)),
            Cas::Missing => Err(ApiError::NotFound { what: "approval", id: id.to_string() }),
        }
    }

    /// Rejects an answer to the caller's own request, unless the profile permits self-approval.
    async fn check_may_answer(&self, who: &Principal, approval: &ApprovalRecord) -> Result<(), ApiError> {
        if approval.principal != who.name {
            return Ok(());
        }
        let session = self.store.session(approval.session_id).await?;
        let profile = session.and_then(|session| self.profiles.get(&session.profile));
        if profile.is_some_and(|profile| profile.self_approval) {
            return Ok(());
        }
        Err(ApiError::Forbidden {
            message: "the profile does not permit self-approval; another approver must answer".to_owned(),
        })
    }

    /// Moves on an execution after its approval was answered.
    async fn answered(&self, approval: &ApprovalRecord) -> Result<(), StoreError> {
        let answer = match approval.state {
            ApprovalState::Allowed => "allowed",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired | ApprovalState::Open | ApprovalState::Withdrawn => "expired",
        };
        self.observer.approval_answered(answer, self.clock.since(approval.created));
        self.follow_answer(approval).await
    }

    async fn follow_answer(&self, approval: &ApprovalRecord) -> Result<(), StoreError> {
        if approval.connection.is_some() {
            return self.tell_runner(approval).await;
        }
        let answer = match approval.state {
            ApprovalState::Allowed => Answer::Allowed,
            ApprovalState::Denied => Answer::Denied { reason: approval.reason.clone() },
            ApprovalState::Expired => Answer::Expired,
            ApprovalState::Open | ApprovalState::Withdrawn => return Ok(()),
        };
        let answered = Event::Answered { approval: approval.id, answer };
        self.transitions.advance(approval.execution_id, &answered).await.map(drop)
    }

    /// Moves on an execution if its approval was answered but the second step was not completed.
    pub(crate) async fn reconcile_pending(&self, record: &LiveExecution) -> Result<(), StoreError> {
        let Some(id) = record.approval_id.filter(|_| record.is_answered) else { return Ok(()) };
        match self.store.approval(id).await? {
            Some(approval) => self.follow_answer(&approval).await,
            None => Ok(()),
        }
    }

    /// Expires the approvals that were not answered in time.
    pub(crate) async fn expire_due(&self, at_most: u32) -> Result<(), StoreError> {
        for approval in self.store.expired_approvals(at_most).await? {
            let answer = ApprovalAnswer {
                state: ApprovalState::Expired,
                decided_by: String::new(),
                reason: String::new(),
                remember: None,
            };
            if let Cas::Done(approval) = self.store.answer_approval(approval.id, &answer).await? {
                self.answered(&approval).await?;
            }
        }
        Ok(())
    }

    /// Creates the approval for an execution in its current state.
    pub(crate) fn new_approval(&self, record: &ExecutionRecord, asked: Asked) -> ApprovalRecord {
        ApprovalRecord {
            id: ApprovalId::new(),
            execution_id: record.id,
            session_id: record.session_id,
            tenant: record.tenant.clone(),
            principal: record.principal.clone(),
            state: ApprovalState::Open,
            binding: *asked.binding.as_bytes(),
            command: record.spec.command.text.clone(),
            shell: record.spec.command.shell,
            directory: record.spec.command.directory.clone(),
            description: record.spec.description.clone(),
            decision: record.decision.clone(),
            created: Micros(0),
            expires: Micros(0),
            decided_by: String::new(),
            reason: String::new(),
            files: asked.files,
            terms: asked.terms,
            connection: None,
        }
    }

    /// Returns the time for which an approval stays open in this session.
    pub(crate) fn valid_for(&self, session: &SessionRecord) -> Duration {
        let profile = self.profiles.get(&session.profile);
        profile.and_then(|profile| profile.approval_valid).unwrap_or(self.limits.approval_valid)
    }
}

/// Returns the error for an answer about a connection that is to be remembered.
fn not_remembered() -> ApiError {
    ApiError::FailedPrecondition {
        reason: "REMEMBER_NOT_PERMITTED",
        message:
            "an answer about a connection cannot be remembered; allow it once, or add a rule to the profile"
                .to_owned(),
    }
}

fn not_open(approval: &ApprovalRecord) -> ApiError {
    let state = match approval.state {
        // An expired approval is `Open` until the reconcile loop marks it.
        ApprovalState::Open | ApprovalState::Expired => "has expired",
        ApprovalState::Allowed => "was already allowed",
        ApprovalState::Denied => "was already denied",
        ApprovalState::Withdrawn => "was withdrawn because its execution has ended",
    };
    ApiError::FailedPrecondition {
        reason: "APPROVAL_NOT_OPEN",
        message: format!("approval `{}` {state}", approval.id),
    }
}
