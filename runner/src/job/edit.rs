//! The run of an approved file edit: the command runs on copies, and its results are written after its end.

use airlock_domain::{Cause, DecidedEdit, FileState};
use airlock_sandbox::{self as sandbox, Ended, Mask, Network, Session, Shape};

use super::handle::Job;
use crate::edit::{self, Copies, EditError, Input};

/// The reason of a refusal that allows a new approval.
const CHANGED: &str = "files_changed";
/// The failed step in a result.
const STEP: &str = "file_edit";

/// An approved edit that runs.
#[derive(Debug)]
pub(super) struct EditRun {
    inputs: Vec<Input>,
    copies: Copies,
}

impl EditRun {
    /// Copies the files of the job's edit. Returns `None` if the job is an ordinary command. Blocks.
    ///
    /// # Errors
    /// If a file is not the approved one, or if a command of this profile could not replace it.
    pub(super) fn begin(job: &Job, masks: &[Mask]) -> Result<Option<Self>, EditError> {
        let Some(edit) = &job.grant.decided.edit else { return Ok(None) };
        edit::check_masks(edit, masks)?;
        let inputs = edit::read(&job.session, edit, &job.grant.command.directory)?;
        for (file, input) in edit.files.iter().zip(&inputs) {
            let state = job.grant.decided.files.iter().find(|bound| bound.path == file.path);
            if state.map(|bound| bound.state) != Some(FileState::Digest(input.digest)) {
                return Err(EditError::Changed(file.path.clone()));
            }
        }
        let copies = Copies::make(&job.session, edit, &inputs, &job.grant.command.directory)?;
        Ok(Some(Self { inputs, copies }))
    }

    /// Changes the parameters of the launch so that the command sees only the copies, and has no network.
    pub(super) fn confine(&self, session: &mut Session, masks: &mut Vec<Mask>) {
        self.copies.directories().clone_into(&mut session.directories);
        session.net = None;
        masks.clear();
    }

    /// Writes the results of a command that has ended by itself. Returns the cause if they are not written. Blocks.
    pub(super) fn finish(self, job: &Job, ended: &Ended) -> Option<Cause> {
        let edit = job.grant.decided.edit.as_ref()?;
        // A command that was ended may have left only a part of its results.
        if !matches!(ended.cause, sandbox::Cause::Exited(_)) || job.handle.switch.cause().is_some() {
            return None;
        }
        self.write(job, edit).err().map(|error| cause(&error))
    }

    fn write(self, job: &Job, edit: &DecidedEdit) -> Result<(), EditError> {
        let outputs = self.copies.results(&job.session, edit)?;
        edit::commit(&job.session, &job.grant, edit, (&self.inputs, &outputs))
    }
}

/// Returns the shape of the sandbox of an edit. The session's own directories are not mounted.
pub(super) const SHAPE: Shape = Shape { read_only: false, network: Network::Empty };

/// Returns the cause of an edit that was not written.
pub(super) fn cause(error: &EditError) -> Cause {
    if error.is_changed() {
        return Cause::refused(CHANGED, format!("{error}; nothing was written"));
    }
    Cause::SandboxFailed {
        step: STEP.to_owned(),
        message: format!("the file edit was not written: {error}"),
        hint: "remove the cause, and send the command again".to_owned(),
    }
}
