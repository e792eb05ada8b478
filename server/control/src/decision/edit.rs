//! The file edit of a grant: its words and files from the decision, and the states and results from its preview.
//!
//! Only a question to a person has a file edit. A command that needs no answer runs as an ordinary command.

use airlock_domain::{BoundFile, CommandSpec, DecidedEdit, EditPreview, EditedFile, FileState, Grant};
use airlock_policy::{Decision, Verdict};

/// Returns the file edit of a decision that asks, if the command can be previewed: it reads no input and has no
/// terminal.
pub(super) fn of(decision: &Decision, command: &CommandSpec, is_sandboxed: bool) -> Option<DecidedEdit> {
    let is_plain = is_sandboxed && !command.stdin && command.pty.is_none() && decision.rewrites.is_empty();
    let edit = decision.edit.as_ref().filter(|_| is_plain && decision.verdict == Verdict::Ask)?;
    let words = decision.commands.first()?.argv.iter().map(|word| word.text.clone());
    let file = |file: &airlock_policy::EditedFile| EditedFile {
        path: file.path.clone().into_bytes(),
        backup: file.backup.clone().unwrap_or_default().into_bytes(),
        result: None,
    };
    Some(DecidedEdit { words: words.collect::<Option<_>>()?, files: edit.files.iter().map(file).collect() })
}

/// Returns the files of an edit without a required state, if there is an edit, and else `files`. An edit runs no files of
/// its session.
pub(super) fn files(edit: Option<&DecidedEdit>, files: Vec<BoundFile>) -> Vec<BoundFile> {
    let any = |path| BoundFile { path, state: FileState::Any };
    edit.map_or(files, |edit| edit.paths().into_iter().map(any).collect())
}

/// Returns the grant with the results of its edit. If they are not complete, the grant has no edit, and the command is an
/// ordinary one. Returns a grant without an edit unchanged.
pub(super) fn to_results(grant: &Grant, results: &[[u8; 32]]) -> Grant {
    let mut grant = grant.clone();
    let Some(edit) = &mut grant.decided.edit else { return grant };
    if edit.files.len() == results.len() {
        for (file, result) in edit.files.iter_mut().zip(results) {
            file.result = Some(*result);
        }
    } else {
        grant.decided.edit = None;
        grant.decided.files.clear();
    }
    grant
}

/// Returns the states of an edit's files and backups, ordered by path, as a preview found them.
pub(crate) fn states(preview: &EditPreview) -> Vec<BoundFile> {
    let found = preview.files.iter().flat_map(|file| {
        let state = FileState::Digest(file.before);
        std::iter::once(BoundFile { path: file.path.clone(), state }).chain(file.backup.clone())
    });
    let mut files: Vec<BoundFile> = found.collect();
    files.sort();
    files
}
