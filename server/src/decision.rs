//! From a session and a command to a decision, the grant that it is about, and their common hash.
//!
//! A decision is never kept as a right: whoever places an execution decides it again here, and gets a
//! [`Permit`] from the policy or none.

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

use airlock_policy::{Answer, Binding, Decision, Permit, Snapshot, Unsandboxed, Verdict as Says};
use airlock_proto::domain::{
    BoundFile, Grant, Mode, Requirement, SandboxProfile, SessionId, SessionSnapshot, Shell,
};
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

/// The workspace, inside every sandbox.
pub(crate) const WORKSPACE: &str = "/workspace";
/// HOME, inside every sandbox.
pub(crate) const HOME: &str = "/home/agent";
/// The folder for temporary files, inside every sandbox.
pub(crate) const TMP: &str = "/tmp";

/// A decision, with what it was made about.
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) grant: Grant,
    /// The hash of the grant, which permits and approvals are bound to.
    pub(crate) binding: Binding,
    pub(crate) record: DecisionRecord,
}

/// What an answer is bound to.
pub(crate) struct Asked {
    pub(crate) binding: Binding,
    /// What the command would run, as it was looked at.
    pub(crate) files: Vec<BoundFile>,
    /// What else it is bound to, encoded for people.
    pub(crate) terms: Vec<u8>,
}

/// What follows from a decision and, where there is one, the answer of a person.
pub(crate) enum Ruling {
    /// It may be placed, exactly so.
    Place(Box<Offer>),
    /// A person must say.
    Ask,
    /// It must not run.
    Deny,
}

/// A grant with the permit for it: the only thing that can be placed.
pub(crate) struct Offer {
    grant: Grant,
    permit: Permit,
    is_lifted: bool,
}

impl Offer {
    /// Nothing, if the permit is for another grant than this, or promises less than it.
    fn new(grant: Grant, permit: Permit) -> Option<Self> {
        let fits = permit.binding().as_bytes() == &grant.binding()
            && permit.read_only() == grant.read_only
            && requirements(permit.requires()) == grant.requires;
        fits.then_some(Self { grant, permit, is_lifted: false })
    }

    /// Whether a person has lifted what the decision requires of the runner.
    pub(crate) fn is_lifted(&self) -> bool {
        self.is_lifted
    }

    /// The grant and the hash that it is bound to, for the runner.
    pub(crate) fn into_parts(self) -> (Grant, [u8; 32]) {
        (self.grant, *self.permit.binding().as_bytes())
    }
}

/// The span that a decision is made in: it says the verdict and the deciding reason, and nothing of the command.
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

/// Decides a command of a session in a directory, in a mode that may be tighter than its own; `floor_permits`
/// says whether the session's runner lets commands run outside the sandbox.
///
/// A command that is read-only gets no snapshot, and neither does one outside the sandbox or of another shell than
/// bash; what the policy said of it holds without.
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
        // What the decision read as something else is changed before it runs.
        command: decision.rewritten(&spec.command),
        shell: spec.shell,
        directory: directory.to_vec(),
        env: spec.env.clone(),
        // What sessions' snapshots are made of is bound by the digest of what it made.
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

/// What a person is asked about a grant, with the files as they were looked at.
pub(crate) fn asked(grant: &Grant, files: Vec<BoundFile>) -> Asked {
    let grant = bound::to_files(grant, &files);
    Asked { binding: Binding::new(grant.binding()), files, terms: grant.terms() }
}

impl Decided {
    /// What follows, given the approval that the execution has, if any.
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

/// A session's snapshot as the policy reads it; nothing where there is none.
pub(crate) fn parsed(snapshot: &SessionSnapshot) -> Option<Snapshot> {
    (!snapshot.text.is_empty()).then(|| Snapshot::parse(&snapshot.text))
}

/// The first command of a text that would not be allowed by itself: where it stands, and why not.
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

/// Asks the policy about a command, with the variables of session and request, of a shell that may be on a terminal of
/// its own. A fault inside it is an
/// ASK of its own kind, never an ALLOW.
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
        message: "the policy failed on this command; a person must look at it".to_owned(),
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

/// The contract's names, sorted and without doubles, as a grant wants them.
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
