//! The terms of an approval: the bound fields of a grant, in a form for people.

use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::edit;
use crate::v1;
use airlock_domain::{DecidedPath, EditPreview, Grant, Obeyed, PathAccess, secret};

/// The fields of a grant that an approval or its terms show in a field of their own. `terms.further` shows all
/// others.
const SHOWN: [&str; 13] = [
    "session_id",
    "command.text",
    "command.shell",
    "command.directory",
    "command.env",
    "command.stdin",
    "command.pty",
    "profile",
    "read_only",
    "requires",
    "unsandboxed",
    "snapshot_digest",
    "decided",
];

/// Returns the fields that [`Grant::binding`] covers in addition to session, command, shell, directory and
/// files, as an encoded `airlock.v1.ApprovalTerms`. Values of variables that look like secrets are masked. `preview` has
/// the changes of a file edit, or the reason why they are not known.
#[must_use]
pub fn approval_terms(grant: &Grant, preview: Option<Result<EditPreview, String>>) -> Vec<u8> {
    let mut terms = v1::ApprovalTerms::from(grant);
    match preview {
        Some(Ok(preview)) => terms.edit.get_or_insert_default().files = v1::EditPreview::from(preview).files,
        Some(Err(note)) => terms.edit = Some(v1::EditPreview { note, ..v1::EditPreview::default() }),
        None => {}
    }
    terms.encode_to_vec()
}

impl From<&Grant> for v1::ApprovalTerms {
    fn from(grant: &Grant) -> Self {
        Self {
            env: grant.command.env.iter().map(|(name, value)| variable(name, value)).collect(),
            profile: grant.profile.name.clone(),
            profile_sha256: grant.profile.digest().to_vec().into(),
            read_only: grant.read_only,
            unsandboxed: grant.unsandboxed,
            requires: grant.requires.iter().map(|requirement| requirement.name().to_owned()).collect(),
            snapshot_sha256: grant.snapshot_digest.clone().into(),
            stdin: grant.command.stdin,
            terminal: grant.command.pty.as_ref().map(|pty| pty.size.into()),
            programs: grant.decided.programs.iter().map(|program| v1::Word::known(program.clone())).collect(),
            git: grant.decided.git.clone(),
            paths: grant.decided.paths.iter().map(path).collect(),
            obeyed: grant.decided.obeyed.iter().map(obeyed).collect(),
            further: grant.further(&SHOWN),
            edit: grant.decided.edit.as_ref().map(edit::bound),
        }
    }
}

fn variable(name: &str, value: &[u8]) -> v1::BoundVariable {
    let known = v1::BoundVariable { name: name.to_owned(), length: value.len() as u64, ..Default::default() };
    if secret::looks_secret(name, value) {
        return v1::BoundVariable { masked: true, sha256: Sha256::digest(value).to_vec().into(), ..known };
    }
    known.with_value(value.to_vec())
}

fn path(path: &DecidedPath) -> v1::BoundPath {
    let access = match path.access {
        PathAccess::Read => "READ",
        PathAccess::Write => "WRITE",
        PathAccess::Create => "CREATE",
        PathAccess::Delete => "DELETE",
    };
    v1::BoundPath { access: access.to_owned(), ..Default::default() }.with_path(path.path.clone())
}

fn obeyed(obeyed: &Obeyed) -> String {
    let Obeyed { program, paths, format, settings } = obeyed;
    format!("{program}: {} ({format:?}: {})", paths.join(", "), settings.join(", "))
}

#[cfg(test)]
mod tests;
