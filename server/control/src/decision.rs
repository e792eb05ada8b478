//! Decisions: from a session and a command to a verdict, a grant and the hash that binds them.
//!
//! A decision is never stored as a right. Before an execution is placed, it is decided again here, and only
//! the policy can return a [`Permit`].

mod decided;
pub(crate) mod edit;
mod hook_effect;
mod hooks;
mod lift;
mod network;
mod offer;
mod outside;
mod record;
mod sleep;
mod variables;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use airlock_domain::{
    CommandSpec, Grant, Mode, NetworkRules, SandboxProfile, SessionId, SessionSnapshot, Shell,
};
use airlock_policy::{Answer, Binding, Decision, LastStep, Layers, Permit, Snapshot, Unsandboxed, Verdict};
use airlock_proto::convert::{approval_terms, approved_results};
use tracing::{Span, field::Empty};

use airlock_store::record::{ApprovalRecord, ApprovalState, ExecutionSpec};
pub(crate) use hook_effect::HookEffect;
pub(crate) use hooks::{Consulted, consulted};
pub(crate) use lift::{FILES_CHANGED, NAMES_A_PROGRAM, UNTRUSTED_PATH};
pub(crate) use network::{known as known_network, refused as refused_network};
pub(crate) use offer::{Asked, Decided, Looked, Offer, Ruling};
pub use offer::{HOME, TMP, WORKSPACE};
pub use record::DecisionEncoder;
pub(crate) use record::verdict_name;
pub(crate) use sleep::leading_sleep;
pub(crate) use variables::refused as refused_variables;

use crate::profiles::{ResolvedProfile, policy_mode};

/// Creates the span of a decision. It records the verdict and the deciding reason, but no part of the command.
pub(crate) fn span() -> Span {
    tracing::info_span!("decide", airlock.verdict = Empty, airlock.reason = Empty)
}

/// Decides a command of a session, which has its own network rules, in a directory. The mode can be tighter than the session's. `floor_permits`
/// states whether the session's runner permits commands outside the sandbox.
///
/// The grant has no snapshot if the command is read-only, runs outside the sandbox or uses a shell other than that of
/// the snapshot. The policy's verdict is valid without it.
pub(crate) fn decide(
    profile: &ResolvedProfile,
    (session_id, session_network): (SessionId, Option<&NetworkRules>),
    spec: &ExecutionSpec,
    (mode, floor_permits): (Mode, bool),
    (directory, snapshot): (&[u8], &SessionSnapshot),
    encode: DecisionEncoder,
) -> Decided {
    let parsed = parsed(snapshot);
    let may_source = is_about(snapshot, spec.command.shell);
    let command = &spec.command;
    let network = network::known(&profile.network, session_network, command.network.as_ref());
    let ask = |wish: Option<Unsandboxed>| {
        let sourced = parsed.as_ref().filter(|_| wish.is_none() && may_source);
        let shell = (command.shell, command.pty.is_some());
        ask_policy(
            profile,
            (&command.text, &command.env),
            shell,
            (mode, wish),
            (directory, sourced),
            network.as_ref(),
        )
    };
    let (mut decision, unsandboxed) = outside::decide(&profile.policy, spec, (mode, floor_permits), ask);
    let mut told = decided::of(&decision, directory);
    if !told.whole {
        lift::ask_of_untold(&mut decision);
    }
    record::deny_unbound(&mut decision);
    told.decided.edit = edit::of(&decision, command, !unsandboxed).filter(|_| told.decided.files.is_empty());
    told.decided.files = edit::files(told.decided.edit.as_ref(), told.decided.files);
    let egress = match network::is_permitted(&decision, unsandboxed, mode) {
        true => network::layers(&profile.network, session_network, command.network.as_ref()),
        false => Vec::new(),
    };
    let questions = network::questions(profile, &decision, spec.wait_for_approval, &egress);
    let sources = may_source && !unsandboxed && !decision.read_only;
    let grant = Grant {
        session_id,
        command: CommandSpec {
            // The rewrites of the decision are applied before the command runs.
            text: decision.rewritten(&command.text),
            directory: directory.to_vec(),
            ..command.clone()
        },
        // The snapshot's digest binds the result of this script.
        profile: SandboxProfile { shell_init: String::new(), ..profile.sandbox.clone() },
        read_only: decision.read_only,
        requires: offer::requirements(&decision.requires),
        keep_directory: !spec.background && !spec.allow_concurrent && !decision.concurrency_safe,
        unsandboxed,
        snapshot_digest: if sources { snapshot.digest() } else { Vec::new() },
        decided: told.decided,
        egress,
        questions,
    };
    let binding = Binding::new(grant.binding());
    let record = record::of(&decision, profile.name(), &[], encode);
    let verdict = verdict_name(record.verdict);
    Span::current().record("airlock.verdict", verdict).record("airlock.reason", record.reason_code.as_str());
    let (verdict, hooks) = (decision.verdict, HookEffect::none(&decision));
    Decided { decision, verdict, hooks, grant, binding, record }
}

/// Returns the question about a grant, with the current state of the files and the preview of a file edit.
pub(crate) fn asked(grant: &Grant, looked: Looked) -> Asked {
    let Looked { files, preview } = looked;
    let known = preview.as_ref().and_then(|preview| preview.as_ref().ok());
    let results: Vec<_> = known.iter().flat_map(|known| &known.files).map(|file| file.after).collect();
    let grant = record::to_files(&edit::to_results(grant, &results), &files);
    Asked { binding: Binding::new(grant.binding()), files, terms: approval_terms(&grant, preview) }
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
        if self.verdict != Verdict::Deny
            && let Some(offer) = answer.and_then(|answer| self.lifted_by(&answer, files))
        {
            return Ruling::Place(Box::new(offer));
        }
        let permit = match self.verdict {
            Verdict::Deny => return Ruling::Deny,
            Verdict::Allow => match self.hooks.permitting() {
                Some(answer) => self.decision.permit_with_hook(self.binding, &answer).ok(),
                None => self.decision.permit(self.binding),
            },
            Verdict::Ask => {
                let terms = approval.filter(|_| self.grant.decided.edit.is_some()).map(|one| &one.terms);
                let results = terms.map(|terms| approved_results(terms)).unwrap_or_default();
                let grant = record::to_files(&edit::to_results(&self.grant, &results), files);
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

/// Reports whether a snapshot can change the meaning of names in a shell. Another shell does not source it.
pub(crate) fn is_about(snapshot: &SessionSnapshot, shell: Shell) -> bool {
    SessionSnapshot::shell(&snapshot.text) == shell
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
    parts.into_iter().find(|part| part.verdict != Verdict::Allow).map(|part| part.why)
}

/// Asks the policy about a command with the variables of session and request. A panic inside the policy
/// becomes an ASK with its own reason, never an ALLOW.
pub(crate) fn ask_policy(
    profile: &ResolvedProfile,
    (command, env): (&[u8], &BTreeMap<String, Vec<u8>>),
    (shell, on_terminal): (Shell, bool),
    (mode, wish): (Mode, Option<Unsandboxed>),
    (directory, snapshot): (&[u8], Option<&Snapshot>),
    network: Option<&Layers>,
) -> Decision {
    let cwd = String::from_utf8_lossy(directory);
    let asked = request((command, env), (shell, mode), &cwd);
    let request = airlock_policy::Request { unsandboxed: wish, on_terminal, snapshot, network, ..asked };
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
        network: None,
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
        verdict: Verdict::Ask,
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
        network: Vec::new(),
        rewrites: Vec::new(),
        warnings: Vec::new(),
        suggested_rules: Vec::new(),
        edit: None,
        shadow: Vec::new(),
        parse_complete: false,
        last_step: LastStep::default(),
        policy_version: profile.policy.policy_version(),
    }
}

fn policy_shell(shell: Shell) -> airlock_policy::Shell {
    match shell {
        Shell::Bash => airlock_policy::Shell::Bash,
        Shell::Zsh => airlock_policy::Shell::Zsh,
        Shell::Pwsh => airlock_policy::Shell::Pwsh,
    }
}

#[cfg(test)]
mod tests;
