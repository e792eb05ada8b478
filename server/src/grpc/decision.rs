//! Conversion of the policy's decisions to messages of the contract.

use airlock_domain::HookAnswer;
use airlock_policy::{
    Access, Category, Decision, Edit, EditedFile, FoundCommand, PathUse, Reason, Requirement, Rewrite,
    ShadowHit, Span, Verdict, Warning, Word,
};
use airlock_proto::v1;
use prost::Message as _;

/// Encodes a decision in the contract's format, as the store holds it.
pub(crate) fn encode(decision: &Decision, profile: &str, hooks: &[HookAnswer]) -> Vec<u8> {
    to_wire(decision, profile, hooks).encode_to_vec()
}

/// Converts a decision of the profile with this name, and the answers of its hooks.
pub(super) fn to_wire(decision: &Decision, profile: &str, hooks: &[HookAnswer]) -> v1::Decision {
    v1::Decision {
        verdict: verdict(decision.verdict),
        reasons: decision.reasons.iter().map(reason).collect(),
        commands: decision.commands.iter().map(command).collect(),
        read_only: decision.read_only,
        concurrency_safe: decision.concurrency_safe,
        requires: decision.requires.iter().map(|requirement| self::requirement(*requirement)).collect(),
        category: category(decision.category),
        no_output_expected: decision.no_output_expected,
        paths: decision.paths.iter().map(path).collect(),
        rewrites: decision.rewrites.iter().map(rewrite).collect(),
        warnings: decision.warnings.iter().map(|warning| warning.message.clone()).collect(),
        warning_notes: decision.warnings.iter().map(note).collect(),
        suggested_rules: decision.suggested_rules.clone(),
        parse_complete: decision.parse_complete,
        policy_version: decision.policy_version.0.to_vec().into(),
        profile: profile.to_owned(),
        shadow: decision.shadow.iter().map(shadow).collect(),
        endings: decision.endings.iter().copied().map(number).collect(),
        hooks: hooks.iter().cloned().map(v1::HookAnswer::from).collect(),
        edit: decision.edit.as_ref().map(edit).map(Box::new),
    }
}

fn edit(edit: &Edit) -> v1::FileEdit {
    let file = |file: &EditedFile| v1::EditedFile {
        path: file.path.clone(),
        backup: file.backup.clone().unwrap_or_default(),
    };
    v1::FileEdit {
        files: edit.files.iter().map(file).collect(),
        expressions: edit.expressions.clone(),
        options: edit.options.clone(),
        backup_suffix: edit.suffix.clone().unwrap_or_default(),
    }
}

fn note(warning: &Warning) -> v1::Note {
    v1::Note { code: warning.code.to_owned(), text: warning.message.clone() }
}

fn verdict(verdict: Verdict) -> i32 {
    let verdict = match verdict {
        Verdict::Allow => v1::Verdict::Allow,
        Verdict::Ask => v1::Verdict::Ask,
        Verdict::Deny => v1::Verdict::Deny,
    };
    verdict.into()
}

fn shadow(hit: &ShadowHit) -> v1::ShadowHit {
    v1::ShadowHit {
        rule: hit.rule.clone(),
        verdict: verdict(hit.verdict),
        command_index: hit.command_index.map(number),
    }
}

fn reason(reason: &Reason) -> v1::Reason {
    v1::Reason {
        code: reason.code.to_owned(),
        message: reason.message.clone(),
        span: reason.span.map(span),
        rule: reason.rule.clone().unwrap_or_default(),
        command_index: reason.command_index.map(number),
    }
}

fn command(command: &FoundCommand) -> v1::FoundCommand {
    v1::FoundCommand {
        argv: command.argv.iter().map(word).collect(),
        span: Some(span(command.span)),
        nesting: number(command.nesting.len()),
        read_only: command.read_only,
        category: category(command.category),
    }
}

fn word(word: &Word) -> v1::Word {
    word.text.clone().map_or_else(v1::Word::default, v1::Word::known)
}

fn path(path: &PathUse) -> v1::PathUse {
    let access = match path.access {
        Access::Read => "READ",
        Access::Write => "WRITE",
        Access::Create => "CREATE",
        Access::Delete => "DELETE",
    };
    v1::PathUse {
        access: access.to_owned(),
        command_index: number(path.command_index),
        ..v1::PathUse::default()
    }
    .with_path(path.path.clone())
}

fn rewrite(rewrite: &Rewrite) -> String {
    format!("bytes {} to {} as `{}`", rewrite.span.start, rewrite.span.end, rewrite.text)
}

fn requirement(requirement: Requirement) -> String {
    match requirement {
        Requirement::ReadOnlyMount => "READ_ONLY_MOUNT",
        Requirement::TrustedPath => "TRUSTED_PATH",
    }
    .to_owned()
}

fn category(category: Category) -> String {
    match category {
        Category::Search => "SEARCH",
        Category::Read => "READ",
        Category::List => "LIST",
        Category::Neutral => "NEUTRAL",
        Category::Silent => "SILENT",
        Category::Edit => "EDIT",
        Category::Other => "OTHER",
    }
    .to_owned()
}

fn span(span: Span) -> v1::Span {
    v1::Span { start: number(span.start), end: number(span.end) }
}

/// Converts an offset or index. Commands are far shorter than the maximum.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
