//! Rules that are remembered with an answer: which rules are permitted, and which commands they allow.
//!
//! They rank after the profile's own rules, like its `allow`: a command that the profile denies or asks about
//! is not affected. They apply to the session, or to the tenant's sessions with that profile, and only while
//! the profile permits remembered rules of this scope.

use std::sync::Arc;

use airlock_domain::{Mode, RuleId, SessionId};
use airlock_policy::{Rule, Verdict};
use airlock_store::{
    Page, PageQuery, Remember, RuleQuery,
    record::{ApprovalRecord, ExecutionRecord, Micros, RememberedRule, RuleScope, SessionRecord},
};

use super::Approvals;
use crate::{
    api::{ApiError, FieldViolation},
    decision::{self, Decided, DecisionEncoder},
    exchange::shown,
    model::Principal,
    profiles::ResolvedProfile,
    shared::violation,
};

/// Bytes of a command that a message quotes.
const REPEATED_BYTES: usize = 64;
/// The reason code of a command that no rule covers.
const NOT_COVERED: &str = "not_read_only";

impl Approvals {
    /// Returns the rules to remember with a positive answer to this approval.
    pub(super) async fn to_remember(
        &self,
        who: &Principal,
        approval: &ApprovalRecord,
        (scope, texts): (RuleScope, &[String]),
    ) -> Result<Remember, ApiError> {
        let gone = |what, id: String| ApiError::NotFound { what, id };
        let record = self.store.execution(approval.execution_id).await?;
        let record = record.ok_or_else(|| gone("execution", approval.execution_id.to_string()))?;
        let session = self.store.session(approval.session_id).await?;
        let session = session.ok_or_else(|| gone("session", approval.session_id.to_string()))?;
        let profile = self.decisions.profile_of(&session)?;
        check_scope(who, approval, &profile, scope)?;
        let profile = self.decisions.with_remembered(profile, &session.tenant, session.id).await?;
        let stored = Stored {
            profile,
            session: session.clone(),
            record,
            floor_permits: self.decisions.floor_permits(&session),
            encode: self.decisions.encode,
        };
        let texts = texts.to_vec();
        let checked = self.decisions.judge(&session.tenant, move || stored.checked_rules(&texts)).await?;
        let rules = checked.map_err(ApiError::Invalid)?;
        let limits = &self.limits;
        let (limit, at_most) = match scope {
            RuleScope::Session => ("rules_per_session", limits.rules_per_session),
            RuleScope::Tenant => ("rules_per_tenant", limits.rules_per_tenant),
        };
        let rule = |rule: Rule| RememberedRule {
            id: RuleId::new(),
            tenant: session.tenant.clone(),
            session_id: (scope == RuleScope::Session).then_some(session.id),
            profile: session.profile.clone(),
            rule: rule.text().to_owned(),
            approval_id: approval.id,
            decided_by: who.name.clone(),
            created: Micros(0),
        };
        Ok(Remember { rules: rules.into_iter().map(rule).collect(), limit, at_most })
    }

    /// Lists remembered rules of the caller's tenant or of one of its sessions, oldest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_rules(
        &self,
        who: &Principal,
        session_id: Option<SessionId>,
        page: &PageQuery,
    ) -> Result<Page<RememberedRule>, ApiError> {
        let query = RuleQuery { tenant: who.tenant.clone(), session_id };
        Ok(self.store.rules(&query, page).await?)
    }

    /// Removes a remembered rule of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_rule(&self, who: &Principal, id: RuleId) -> Result<RememberedRule, ApiError> {
        self.lifecycle.check_running()?;
        let removed = self.store.remove_rule(&who.tenant, id, &who.name).await?;
        removed.ok_or_else(|| ApiError::NotFound { what: "rule", id: id.to_string() })
    }
}

/// A stored execution with the inputs of its decision.
struct Stored {
    profile: Arc<ResolvedProfile>,
    session: SessionRecord,
    record: ExecutionRecord,
    floor_permits: bool,
    encode: DecisionEncoder,
}

impl Stored {
    /// Checks that the rules together allow the command, that each of them is necessary, and that none is too
    /// broad.
    fn checked_rules(&self, texts: &[String]) -> Result<Vec<Rule>, Vec<FieldViolation>> {
        const FIELD: &str = "allow_and_remember.rules";
        let Self { profile, session, record, .. } = self;
        let mode = record.spec.mode.max(session.mode);
        let bad = |what: String| vec![violation(FIELD, what)];
        let decide = |rules: &[Rule]| self.would_decide(rules);
        let asked = decide(&[]);
        if asked.decision.verdict != Verdict::Ask {
            return Err(bad("the command no longer needs an approval; allow it once".to_owned()));
        }
        let texts = if texts.is_empty() { &asked.decision.suggested_rules } else { texts };
        if texts.is_empty() {
            return Err(bad(format!(
                "no rule is suggested for the command: {}",
                still_asks(profile, &asked, mode, record)
            )));
        }
        let mut rules = Vec::new();
        let mut violations = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let parsed = Rule::parse(text).map_err(|error| error.to_string()).and_then(|rule| {
                airlock_policy::memorable(&rule, &asked.decision)
                    .map_err(|error| error.to_string())
                    .map(|()| rule)
            });
            match parsed {
                Ok(rule) => rules.push(rule),
                Err(what) => violations.push(violation(&format!("{FIELD}[{index}]"), what)),
            }
        }
        if !violations.is_empty() {
            return Err(violations);
        }
        let allowed = decide(&rules);
        if allowed.decision.verdict != Verdict::Allow {
            let more = profile.with_allowed(rules.iter().cloned());
            let what = still_asks(&more, &allowed, mode, record);
            return Err(bad(format!("the rules do not cover the command: {what}")));
        }
        for index in 0..rules.len() {
            let mut others = rules.clone();
            others.remove(index);
            if decide(&others).decision.verdict == Verdict::Allow {
                let what = "the command is allowed without this rule; remove it".to_owned();
                violations.push(violation(&format!("{FIELD}[{index}]"), what));
            }
        }
        if violations.is_empty() { Ok(rules) } else { Err(violations) }
    }

    /// Decides the command with additional rules.
    fn would_decide(&self, rules: &[Rule]) -> Decided {
        let Self { session, record, .. } = self;
        let profile = self.profile.with_allowed(rules.iter().cloned());
        let mode = (record.spec.mode.max(session.mode), self.floor_permits);
        let place = (record.spec.command.directory.as_slice(), &session.snapshot);
        let of = (session.id, session.network.as_ref());
        decision::decide(&profile, of, &record.spec, mode, place, self.encode)
    }
}

/// Checks that the profile permits this scope and that this principal may use it.
fn check_scope(
    who: &Principal,
    approval: &ApprovalRecord,
    profile: &ResolvedProfile,
    scope: RuleScope,
) -> Result<(), ApiError> {
    if profile.remember.is_none_or(|most| scope > most) {
        let (name, scope) = (profile.name(), scope.name());
        return Err(ApiError::FailedPrecondition {
            reason: "REMEMBER_NOT_PERMITTED",
            message: format!(
                "profile `{name}` does not permit remembered answers for the {scope}; allow it once"
            ),
        });
    }
    if scope == RuleScope::Tenant && approval.principal == who.name {
        return Err(ApiError::Forbidden {
            message: "an answer to your own request cannot be remembered for the tenant; remember it for the session".to_owned(),
        });
    }
    Ok(())
}

/// Describes the part of the command that policy still asks about.
fn still_asks(profile: &ResolvedProfile, decided: &Decided, mode: Mode, record: &ExecutionRecord) -> String {
    let spec = &record.spec;
    // A step before the rules applies to the whole command.
    let reason = match decided.decision.reasons.first() {
        Some(reason) if reason.code != NOT_COVERED => Some(reason.clone()),
        first => {
            let part = (spec.command.text.as_slice(), &spec.command.env);
            decision::not_allowed(profile, part, (spec.command.shell, mode), &spec.command.directory)
                .or_else(|| first.cloned())
        }
    };
    let Some(reason) = reason else {
        return "the command still needs an approval".to_owned();
    };
    let part = reason.span.and_then(|span| spec.command.text.get(span.start..span.end));
    match part.filter(|part| !part.is_empty()) {
        Some(part) => {
            let part = shown(&String::from_utf8_lossy(part), REPEATED_BYTES);
            format!("`{part}`: {} ({})", reason.message, reason.code)
        }
        None => format!("{} ({})", reason.message, reason.code),
    }
}
