//! Decisions: from a session and a command to a verdict, a grant and the hash that binds them.
//!
//! A decision is never stored as a right. Before an execution is placed, it is decided again here, and only
//! the policy can return a [`Permit`].

mod bound;
mod decided;
mod hash;
mod lift;
mod outside;
mod sleep;
mod variables;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use airlock_domain::{
    BoundFile, Grant, Mode, Requirement, SandboxProfile, SessionId, SessionSnapshot, Shell,
};
use airlock_policy::{Answer, Binding, Decision, Permit, Snapshot, Unsandboxed, Verdict as Says};
use airlock_proto::convert::approval_terms;
use tracing::{Span, field::Empty};

pub(crate) use hash::{execution_hash, session_hash};
pub(crate) use lift::{FILES_CHANGED, NAMES_A_PROGRAM, UNTRUSTED_PATH};
pub(crate) use sleep::leading_sleep;
pub(crate) use variables::refused as refused_variables;

use crate::{
    engine::DecisionEncoder,
    model::{ApprovalRecord, ApprovalState, DecisionRecord, ExecutionSpec, Verdict},
    profiles::{ResolvedProfile, policy_mode},
};

/// The workspace inside every sandbox.
pub(crate) const WORKSPACE: &str = "/workspace";
/// HOME inside every sandbox.
pub(crate) const HOME: &str = "/home/agent";
/// The temporary directory inside every sandbox.
pub(crate) const TMP: &str = "/tmp";

/// A decision with the grant that it applies to.
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) grant: Grant,
    /// The hash of the grant, which permits and approvals are bound to.
    pub(crate) binding: Binding,
    pub(crate) record: DecisionRecord,
}

/// The subject of an approval.
pub(crate) struct Asked {
    pub(crate) binding: Binding,
    /// The files that the command would run, with their current state.
    pub(crate) files: Vec<BoundFile>,
    /// The other bound fields, encoded for people.
    pub(crate) terms: Vec<u8>,
}

/// The consequence of a decision and, if there is one, of a person's answer.
pub(crate) enum Ruling {
    /// The execution may be placed with this offer.
    Place(Box<Offer>),
    /// A person must answer.
    Ask,
    /// The command must not run.
    Deny,
}

/// A grant with its permit. Only an offer can be placed.
pub(crate) struct Offer {
    grant: Grant,
    permit: Permit,
    is_lifted: bool,
}

impl Offer {
    /// Creates an offer. Returns `None` if the permit is for a different grant or promises less than the
    /// grant requires.
    fn new(grant: Grant, permit: Permit) -> Option<Self> {
        let fits = permit.binding().as_bytes() == &grant.binding()
            && permit.read_only() == grant.read_only
            && requirements(permit.requires()) == grant.requires;
        fits.then_some(Self { grant, permit, is_lifted: false })
    }

    /// Reports whether a person has lifted the decision's requirement for the runner.
    pub(crate) fn is_lifted(&self) -> bool {
        self.is_lifted
    }

    /// Returns the grant and its hash, for the runner.
    pub(crate) fn into_parts(self) -> (Grant, [u8; 32]) {
        (self.grant, *self.permit.binding().as_bytes())
    }
}

/// Creates the span of a decision. It records the verdict and the deciding reason, but nothing of the
/// command.
pub(crate) fn span() -> Span {
    tracing::info_span!("decide", airlock.verdict = Empty, airlock.reason = Empty)
}

pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "ALLOW",
        Verdict::Ask => "ASK",
        Verdict::Deny => "DENY",
    }
}

/// Decides a command of a session in a directory. The mode can be tighter than the session's. `floor_permits`
/// states whether the session's runner permits commands outside the sandbox.
///
/// The grant has no snapshot if the command is read-only, runs outside the sandbox or uses a shell other than
/// bash. The policy's verdict is valid without it.
pub(crate) fn decide(
    profile: &ResolvedProfile,
    session_id: SessionId,
    spec: &ExecutionSpec,
    (mode, floor_permits): (Mode, bool),
    (directory, snapshot): (&[u8], &SessionSnapshot),
    encode: DecisionEncoder,
) -> Decided {
    let parsed = parsed(snapshot);
    let ask = |wish: Option<Unsandboxed>| {
        let sourced = parsed.as_ref().filter(|_| wish.is_none());
        let shell = (spec.shell, spec.pty.is_some());
        ask_policy(profile, (&spec.command, &spec.env), shell, (mode, wish), (directory, sourced))
    };
    let (mut decision, unsandboxed) = outside::decide(&profile.policy, spec, (mode, floor_permits), ask);
    let told = decided::of(&decision, directory);
    if !told.whole {
        lift::ask_of_untold(&mut decision);
    }
    bound::deny_unbound(&mut decision);
    let sources = spec.shell == Shell::Bash && !unsandboxed && !decision.read_only;
    let grant = Grant {
        session_id,
        // The rewrites of the decision are applied before the command runs.
        command: decision.rewritten(&spec.command),
        shell: spec.shell,
        directory: directory.to_vec(),
        env: spec.env.clone(),
        // The snapshot's digest binds the result of this script.
        profile: SandboxProfile { shell_init: String::new(), ..profile.sandbox.clone() },
        read_only: decision.read_only,
        requires: requirements(&decision.requires),
        separate_stderr: spec.separate_stderr,
        timeout: spec.timeout,
        idle_timeout: spec.idle_timeout,
        keep_directory: !spec.background && !spec.allow_concurrent && !decision.concurrency_safe,
        unsandboxed,
        snapshot_digest: if sources { snapshot.digest() } else { Vec::new() },
        stdin: spec.stdin,
        decided: told.decided,
        inline_limit: spec.inline_limit,
        pty: spec.pty.as_ref().map(|pty| pty.size),
    };
    let binding = Binding::new(grant.binding());
    let record = record(&decision, profile.name(), encode);
    let verdict = verdict_name(record.verdict);
    Span::current().record("airlock.verdict", verdict).record("airlock.reason", record.reason_code.as_str());
    Decided { decision, grant, binding, record }
}

/// Returns the question about a grant, with the current state of the files.
pub(crate) fn asked(grant: &Grant, files: Vec<BoundFile>) -> Asked {
    let grant = bound::to_files(grant, &files);
    Asked { binding: Binding::new(grant.binding()), files, terms: approval_terms(&grant) }
}

impl Decided {
    /// Returns the consequence, given the execution's approval, if there is one.
    pub(crate) fn rule(self, approval: Option<&ApprovalRecord>) -> Ruling {
        let answer = approval.and_then(|approval| match approval.state {
            ApprovalState::Allowed => {
                Some(Answer { binding: Binding::new(approval.binding), approved: true })
            }
            ApprovalState::Denied => {
                Some(Answer { binding: Binding::new(approval.binding), approved: false })
            }
            ApprovalState::Open | ApprovalState::Expired | ApprovalState::Withdrawn => None,
        });
        let files = approval.map_or(&[][..], |approval| &approval.files);
        let permit = match self.decision.verdict {
            Says::Deny => return Ruling::Deny,
            Says::Allow => match answer.and_then(|answer| self.lifted_by(&answer, files)) {
                Some(offer) => return Ruling::Place(Box::new(offer)),
                None => self.decision.permit(self.binding),
            },
            Says::Ask => {
                let grant = bound::to_files(&self.grant, files);
                let binding = Binding::new(grant.binding());
                let permit =
                    answer.and_then(|answer| self.decision.permit_with_answer(binding, &answer).ok());
                return Self::placed(grant, permit);
            }
        };
        Self::placed(self.grant, permit)
    }

    fn placed(grant: Grant, permit: Option<Permit>) -> Ruling {
        match permit.and_then(|permit| Offer::new(grant, permit)) {
            Some(offer) => Ruling::Place(Box::new(offer)),
            None => Ruling::Ask,
        }
    }
}

/// Parses a session's snapshot for the policy. Returns `None` if the session has no snapshot.
pub(crate) fn parsed(snapshot: &SessionSnapshot) -> Option<Snapshot> {
    (!snapshot.text.is_empty()).then(|| Snapshot::parse(&snapshot.text))
}

/// Returns the reason for the first simple command that is not allowed, with its span.
pub(crate) fn not_allowed(
    profile: &ResolvedProfile,
    (command, env): (&[u8], &BTreeMap<String, Vec<u8>>),
    (shell, mode): (Shell, Mode),
    directory: &[u8],
) -> Option<airlock_policy::Reason> {
    let cwd = String::from_utf8_lossy(directory);
    let request = request((command, env), (shell, mode), &cwd);
    let parts = airlock_policy::parts(&request, &profile.policy);
    parts.into_iter().find(|part| part.verdict != Says::Allow).map(|part| part.why)
}

/// Asks the policy about a command with the variables of session and request. A panic inside the policy
/// becomes an ASK with its own reason, never an ALLOW.
pub(crate) fn ask_policy(
    profile: &ResolvedProfile,
    (command, env): (&[u8], &BTreeMap<String, Vec<u8>>),
    (shell, on_terminal): (Shell, bool),
    (mode, wish): (Mode, Option<Unsandboxed>),
    (directory, snapshot): (&[u8], Option<&Snapshot>),
) -> Decision {
    let cwd = String::from_utf8_lossy(directory);
    let asked = request((command, env), (shell, mode), &cwd);
    let request = airlock_policy::Request { unsandboxed: wish, on_terminal, snapshot, ..asked };
    let decision = catch_unwind(AssertUnwindSafe(|| airlock_policy::decide(&request, &profile.policy)))
        .unwrap_or_else(|_| after_fault(profile));
    for hit in &decision.shadow {
        let (profile, rule) = (profile.name(), hit.rule.as_str());
        tracing::info!(profile, rule, would = ?hit.verdict, decided = ?decision.verdict, "a shadow rule matched");
    }
    decision
}

fn request<'a>(
    (command, env): (&'a [u8], &'a BTreeMap<String, Vec<u8>>),
    (shell, mode): (Shell, Mode),
    cwd: &'a str,
) -> airlock_policy::Request<'a> {
    airlock_policy::Request {
        command,
        shell: policy_shell(shell),
        cwd: Some(cwd),
        workspace: WORKSPACE,
        home: HOME,
        mode: Some(policy_mode(mode)),
        on_terminal: false,
        unsandboxed: None,
        extra_rules: None,
        snapshot: None,
        env: Some(env),
    }
}

fn after_fault(profile: &ResolvedProfile) -> Decision {
    let reason = airlock_policy::Reason {
        code: "internal_fault",
        message: "the policy failed on this command; a person must review it".to_owned(),
        span: None,
        rule: None,
        command_index: None,
    };
    Decision {
        verdict: Says::Ask,
        reasons: vec![reason],
        commands: Vec::new(),
        read_only: false,
        concurrency_safe: false,
        requires: Vec::new(),
        category: airlock_policy::Category::Other,
        no_output_expected: false,
        endings: Vec::new(),
        paths: Vec::new(),
        runs: Vec::new(),
        obeyed: Vec::new(),
        rewrites: Vec::new(),
        warnings: Vec::new(),
        suggested_rules: Vec::new(),
        edit: None,
        shadow: Vec::new(),
        parse_complete: false,
        policy_version: profile.policy.policy_version(),
    }
}

fn record(decision: &Decision, profile: &str, encode: DecisionEncoder) -> DecisionRecord {
    let reason = decision.reasons.first();
    let (code, message) = reason.map_or(("", ""), |reason| (reason.code, reason.message.as_str()));
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = reason.and_then(|reason| reason.span);
    DecisionRecord {
        verdict: verdict(decision.verdict),
        reason_code: code.to_owned(),
        reason_message: message.to_owned(),
        reason_span: span.map(|span| (offset(span.start), offset(span.end))),
        read_only: decision.read_only,
        concurrency_safe: decision.concurrency_safe,
        policy_version: decision.policy_version.0.to_vec(),
        encoded: encode(decision, profile),
    }
}

fn verdict(says: Says) -> Verdict {
    match says {
        Says::Allow => Verdict::Allow,
        Says::Ask => Verdict::Ask,
        Says::Deny => Verdict::Deny,
    }
}

fn policy_shell(shell: Shell) -> airlock_policy::Shell {
    match shell {
        Shell::Bash => airlock_policy::Shell::Bash,
        Shell::Zsh => airlock_policy::Shell::Zsh,
        Shell::Pwsh => airlock_policy::Shell::Pwsh,
    }
}

/// Converts requirements to the contract's names, sorted and without duplicates, as a grant requires.
fn requirements(found: &[airlock_policy::Requirement]) -> Vec<Requirement> {
    let mut requires: Vec<_> = found
        .iter()
        .map(|requirement| match requirement {
            airlock_policy::Requirement::ReadOnlyMount => Requirement::ReadOnlyMount,
            airlock_policy::Requirement::TrustedPath => Requirement::TrustedPath,
        })
        .collect();
    requires.sort_unstable();
    requires.dedup();
    requires
}

#[cfg(test)]
mod tests;
