//! Decisions for sessions: the profile and the remembered rules that apply, and the slots in which the policy runs.

use std::{collections::BTreeMap, sync::Arc};

use airlock_domain::{SessionId, SessionSnapshot};
use airlock_limits::slots::Slots;
use airlock_policy::{Decision, Rule, Verdict, Warning};
use airlock_store::{
    Store, StoreError,
    record::{ExecutionRecord, RememberedRule, SessionRecord},
};
use tracing::Span;

use crate::{
    api::{ApiError, CheckCommand},
    decision::{self, Decided, DecisionEncoder, WORKSPACE, ask_policy, is_about, known_network, parsed},
    model::Principal,
    profiles::{LiveProfiles, ResolvedProfile},
    runners::Runners,
    shared::{check_not_over, no_such_session, violation},
};

/// Decides commands with the current profiles and rules.
pub struct Decisions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) profiles: LiveProfiles,
    pub(crate) runners: Arc<Runners>,
    /// The slots for policy decisions, one per processor.
    pub(crate) slots: Arc<Slots>,
    /// Encodes decisions for the contract.
    pub(crate) encode: DecisionEncoder,
}

impl Decisions {
    /// Decides a command without running it. Also returns the name of the profile. No hook is asked; a warning says so.
    ///
    /// # Errors
    /// `NotFound` for a session or profile that the caller cannot use, `Invalid`.
    #[tracing::instrument(name = "check", skip_all)]
    pub async fn check(
        &self,
        who: &Principal,
        request: CheckCommand,
    ) -> Result<(Decision, String), ApiError> {
        let session = match request.session_id {
            Some(_) if request.profile.is_some() => {
                let description = "is only valid without a session; remove one of the two".to_owned();
                return Err(ApiError::Invalid(vec![violation("profile", description)]));
            }
            Some(id) => {
                let session = self.session(who, id).await?;
                check_not_over(&session)?;
                Some(session)
            }
            None => None,
        };
        let profile = match &session {
            Some(session) => self.profile_to_use(who, session)?,
            None => self.profile_for(who, request.profile.as_deref())?,
        };
        let profile = match &session {
            Some(session) => self.with_remembered(profile, &session.tenant, session.id).await?,
            None => profile,
        };
        let loosest = session.as_ref().map_or(profile.default_mode(), |session| session.mode);
        let mode = request.mode.unwrap_or(loosest);
        if (session.is_some() && mode < loosest) || !profile.permits(mode) {
            let description = format!("mode `{}` is not permitted here", mode.name());
            return Err(ApiError::Invalid(vec![violation("mode", description)]));
        }
        let shell = request.shell.or_else(|| session.as_ref().map(|session| session.shell));
        let own = session.as_ref().and_then(|session| session.network.as_ref());
        let network = known_network(&profile.network, own, None);
        let (directory, snapshot, env) = match session {
            Some(session) => (request.directory.or(Some(session.directory)), session.snapshot, session.env),
            None => (request.directory, SessionSnapshot::default(), BTreeMap::new()),
        };
        let directory = directory.unwrap_or_else(|| WORKSPACE.as_bytes().to_vec());
        let shell = shell.unwrap_or(profile.command.shell);
        let (name, command) = (profile.name().to_owned(), request.command);
        let ask = move || {
            let snapshot = parsed(&snapshot).filter(|_| is_about(&snapshot, shell));
            let place = (directory.as_slice(), snapshot.as_ref());
            let mut decision =
                ask_policy(&profile, (&command, &env), (shell, false), (mode, None), place, network.as_ref());
            decision.warnings.extend(hooks_not_asked(&profile, &decision));
            decision
        };
        Ok((self.judge(&who.tenant, ask).await?, name))
    }

    async fn session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        let session = self.store.session(id).await?;
        session.filter(|session| session.tenant == who.tenant).ok_or_else(|| no_such_session(id))
    }

    /// Returns the profile with this name, or the principal's default profile, if the principal may use it.
    pub(crate) fn profile_for(
        &self,
        who: &Principal,
        name: Option<&str>,
    ) -> Result<Arc<ResolvedProfile>, ApiError> {
        let name = name.or_else(|| who.default_profile()).unwrap_or_default();
        let profile = self.profiles.get(name).filter(|_| who.may_use(name));
        profile.ok_or_else(|| ApiError::NotFound { what: "profile", id: name.to_owned() })
    }

    /// Returns the profile of a session in which the caller wants to run or write. A principal who may not
    /// use the profile of another tenant member's session can only read the session and end its commands.
    ///
    /// # Errors
    /// Returns `Forbidden`, or `FailedPrecondition` if the profile no longer exists.
    pub(crate) fn profile_to_use(
        &self,
        who: &Principal,
        session: &SessionRecord,
    ) -> Result<Arc<ResolvedProfile>, ApiError> {
        if !who.may_use(&session.profile) {
            let (name, profile, id) = (&who.name, &session.profile, session.id);
            let message = format!("`{name}` may not use profile `{profile}` of session `{id}`");
            return Err(ApiError::Forbidden { message });
        }
        self.profile_of(session)
    }

    /// Returns the profile of an existing session.
    pub(crate) fn profile_of(&self, session: &SessionRecord) -> Result<Arc<ResolvedProfile>, ApiError> {
        self.profiles.get(&session.profile).ok_or_else(|| ApiError::FailedPrecondition {
            reason: "PROFILE_GONE",
            message: format!("the session's profile `{}` no longer exists", session.profile),
        })
    }

    /// Returns the profile with the rules that were remembered for this session.
    pub(crate) async fn with_remembered(
        &self,
        profile: Arc<ResolvedProfile>,
        tenant: &str,
        session: SessionId,
    ) -> Result<Arc<ResolvedProfile>, StoreError> {
        let Some(most) = profile.remember else { return Ok(profile) };
        let rules = self.store.rules_in_force(tenant, profile.name(), session).await?;
        let counts = |rule: &&RememberedRule| rule.scope() <= most;
        // A rule that this version cannot parse has no effect.
        let rules: Vec<Rule> =
            rules.iter().filter(counts).filter_map(|rule| Rule::parse(&rule.rule).ok()).collect();
        Ok(if rules.is_empty() { profile } else { Arc::new(profile.with_allowed(rules)) })
    }

    /// Reports whether the session's runner permits commands outside the sandbox, as far as is known.
    pub(crate) fn floor_permits(&self, session: &SessionRecord) -> bool {
        self.runners.runner_permits_unsandboxed(&session.runner_id)
    }

    /// Runs a policy decision for a tenant in the current span. It runs on a blocking thread, because the worst input
    /// takes a hundred milliseconds, and tenants take turns. If the future is dropped, running work continues and its
    /// result is discarded.
    ///
    /// # Errors
    /// `Unavailable` while the server stops.
    pub(crate) async fn judge<T: Send + 'static>(
        &self,
        tenant: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let cut =
            || StoreError::Unavailable("the server is stopping, or a decision was interrupted".to_owned());
        let slot = self.slots.take(tenant).await.map_err(|_| cut())?;
        let span = Span::current();
        let judged = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            span.in_scope(work)
        });
        judged.await.map_err(|_| cut())
    }

    /// Decides a stored execution in this directory, with the tighter of its own mode and the session's.
    pub(crate) async fn decide_stored(
        &self,
        profile: Arc<ResolvedProfile>,
        session: &SessionRecord,
        record: &ExecutionRecord,
        directory: &[u8],
    ) -> Result<Decided, StoreError> {
        let encode = self.encode;
        let mode = (record.spec.mode.max(session.mode), self.floor_permits(session));
        let (id, snapshot, spec) = (session.id, session.snapshot.clone(), record.spec.clone());
        let (network, directory) = (session.network.clone(), directory.to_vec());
        let decide = move || {
            let place = (directory.as_slice(), &snapshot);
            decision::decide(&profile, (id, network.as_ref()), &spec, mode, place, encode)
        };
        self.judge(&session.tenant, decide).await
    }
}

/// Returns the warning that the profile's hooks can change the verdict of a check.
fn hooks_not_asked(profile: &ResolvedProfile, decision: &Decision) -> Option<Warning> {
    if profile.hooks.is_empty() || decision.verdict == Verdict::Deny {
        return None;
    }
    let names: Vec<String> = profile.hooks.iter().map(|hook| format!("`{}`", hook.name)).collect();
    let message = format!(
        "a check asks no hooks; before the command runs, these hooks are asked and can change the verdict: {}",
        names.join(", ")
    );
    Some(Warning { code: "hooks_not_asked", message, span: None })
}
