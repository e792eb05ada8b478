//! Previews of file edits: runs an edit on copies of its files, and returns the changes. Writes nothing in the session.
//!
//! The output and the results are untrusted data from inside the sandbox. They are bounded, and used only as data.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_domain::{
    BoundFile, CommandSpec, DecidedEdit, EditPreview, EditedFile, ExchangeFailed, ExchangeFailure,
    ExchangeFromRunner, FilePreview, FileState, Grant, Pty, limits::EDIT_DIFF_BYTES,
};
use airlock_sandbox::{self as sandbox, LaunchSpec, MAX_COMMAND, Profile, Running};

use super::{
    capture::{self, Interrupted},
    edit::SHAPE,
    rules,
    tools::{Tools, environment},
};
use crate::{
    config::RunnerConfig,
    edit::{self, Copies, EditError, Input, Output},
    environ::Environ,
    exchange::{Outgoing, failed},
    files::{Files, unified_diff},
    floor,
    session::OpenSession,
    trust::bound,
};

/// The maximum time of one preview, without the start of its sandbox.
const TIME: Duration = Duration::from_secs(5);
/// The maximum length of the messages of sed that are read.
const MESSAGES_BYTES: u64 = 4096;

/// Creates the previews of file edits.
#[derive(Debug)]
pub(crate) struct EditPreviews {
    pub(crate) tools: Arc<Tools>,
    /// The sandbox profile with the minimal root of the host system.
    pub(crate) root: Arc<Profile>,
    pub(crate) config: Arc<RunnerConfig>,
    pub(crate) environ: Arc<Environ>,
}

impl EditPreviews {
    /// Sends the changes of the edit of a grant. If the future is dropped, the preview ends soon after.
    ///
    /// # Errors
    /// The reason why there is no preview.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        files: &Files,
        session: Arc<OpenSession>,
        grant: Box<Grant>,
        answers: &Outgoing,
    ) -> Result<(), ExchangeFailed> {
        let previews = Arc::clone(self);
        let preview = files.work_on(&session, move |session, cancel| {
            previews.make(session, &grant, &|| cancel.is_cancelled()).map_err(|error| no_preview(&error))
        });
        // A disconnected server is not an error.
        let _ = answers.send(ExchangeFromRunner::Previewed(preview.await?)).await;
        Ok(())
    }

    /// Returns the changes. Blocks.
    fn make(
        &self,
        session: &OpenSession,
        grant: &Grant,
        is_over: &dyn Fn() -> bool,
    ) -> Result<EditPreview, EditError> {
        let Some(edit) = &grant.decided.edit else { return Err(EditError::SameFile) };
        let command = of_copies(edit, &grant.command)?;
        let grant = &Grant { command, ..grant.clone() };
        let (profile, env) = self.profile(session, grant)?;
        let (profile, masks) = rules::resolve(&profile, session, None)
            .map_err(|failure| EditError::Floor(failure.to_string()))?;
        edit::check_masks(edit, &masks)?;
        let inputs = edit::read(session, edit, &grant.command.directory)?;
        let backups = backups(session, edit, is_over)?;
        let copies = Copies::make(session, edit, &inputs, &grant.command.directory)?;
        let mut place = session.for_launch(&self.tools.launcher, false)?;
        copies.directories().clone_into(&mut place.directories);
        let spec = LaunchSpec {
            env,
            shape: SHAPE,
            prefix: grant.profile.shell_prefix.iter().map(|word| word.clone().into_bytes()).collect(),
            ..LaunchSpec::of(&grant.command)
        };
        let running = self.tools.launcher.start(&profile, &place, &self.tools.limits(grant), &spec)?;
        wait(running, is_over)?;
        let outputs = copies.results(session, edit)?;
        Ok(EditPreview { files: shown(edit, &inputs, &outputs, backups) })
    }

    /// Returns the profile within the floor, and the environment, as a job with this grant gets them.
    fn profile(&self, session: &OpenSession, grant: &Grant) -> Result<(Profile, Environment), EditError> {
        let Self { root, config, environ, .. } = self;
        let floor = |refusal: floor::Refusal| EditError::Floor(refusal.message);
        floor::check(grant, &config.floor).map_err(floor)?;
        let mut profile = floor::profile(root, &grant.profile, config).map_err(floor)?;
        if !grant.snapshot_digest.is_empty() {
            let snapshot = session.verified_snapshot(&grant.snapshot_digest);
            let path = snapshot.as_deref().and_then(super::search_path).map(str::to_owned);
            profile.path =
                path.ok_or_else(|| EditError::Floor("the shell snapshot has changed".to_owned()))?;
        }
        let scrubbed = environ.scrubbed(&grant.profile.pass_env);
        let env = environment(grant, &profile, &scrubbed.passed, None);
        Ok((profile, env.map_err(|_| EditError::Floor("the environment cannot be built".to_owned()))?))
    }
}

type Environment = Vec<(std::ffi::OsString, std::ffi::OsString)>;

/// Returns the command of an edit as it runs on copies.
///
/// # Errors
/// If its quoted words are too long for a command.
pub(super) fn of_copies(edit: &DecidedEdit, command: &CommandSpec) -> Result<CommandSpec, EditError> {
    let text = edit::text(edit);
    if text.len() > MAX_COMMAND {
        return Err(EditError::Sed(format!("its words are longer than {MAX_COMMAND} bytes")));
    }
    Ok(CommandSpec { text, stdin: false, pty: None::<Pty>, separate_stderr: false, ..command.clone() })
}

/// Returns the state of each backup, in the order of the edit.
fn backups(
    session: &OpenSession,
    edit: &DecidedEdit,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Option<BoundFile>>, EditError> {
    let paths = edit.files.iter().map(|file| file.backup.clone()).filter(|backup| !backup.is_empty());
    let found = bound::look(paths.collect(), session.directories(), session.owner(), is_over);
    let mut found = found.into_iter();
    let state = |file: &EditedFile| {
        let state = if file.backup.is_empty() { None } else { found.next() };
        match state.as_ref().map(|bound| bound.state) {
            None | Some(FileState::Digest(_) | FileState::Absent) => Ok(state),
            Some(_) => Err(EditError::Backup(file.backup.clone())),
        }
    };
    edit.files.iter().map(state).collect()
}

/// Waits for the end of sed. Its messages are errors: a script without `w` prints nothing else.
fn wait(running: Running, is_over: &dyn Fn() -> bool) -> Result<(), EditError> {
    let Running { streams, control, waiter, .. } = running;
    let deadline = Instant::now() + TIME;
    let messages = capture::output(streams.stdout, MESSAGES_BYTES, deadline, is_over);
    // Without messages it ends by itself, and its exit counts.
    let ends = matches!(&messages, Ok(text) if text.is_empty()) && capture::ends(&control, deadline);
    if !ends {
        control.kill();
    }
    let ended = waiter.wait();
    match messages {
        Ok(text) if !text.is_empty() => {
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            Err(EditError::Sed(String::from_utf8_lossy(line).into_owned()))
        }
        Ok(_) if ends && matches!(ended.cause, sandbox::Cause::Exited(_)) => Ok(()),
        Ok(_) if ends => Err(EditError::Sed("it was ended by a signal or a limit".to_owned())),
        Err(Interrupted::Read(error)) => Err(EditError::Sed(error.to_string())),
        Err(Interrupted::Cancelled) => Err(EditError::Cancelled),
        Ok(_) | Err(Interrupted::Slow) => Err(EditError::Slow(TIME.as_secs())),
    }
}

/// Returns the changes for an approver. All diffs together have at most [`EDIT_DIFF_BYTES`].
fn shown(
    edit: &DecidedEdit,
    inputs: &[Input],
    outputs: &[Output],
    backups: Vec<Option<BoundFile>>,
) -> Vec<FilePreview> {
    let mut left = EDIT_DIFF_BYTES;
    let files = edit.files.iter().zip(inputs).zip(outputs).zip(backups);
    let file = |(((file, input), output), backup): (((&EditedFile, &Input), &Output), Option<BoundFile>)| {
        let diff = unified_diff(&file.path, (&input.content, &output.content), left);
        let is_binary = diff.is_none();
        let (diff, is_truncated) = diff.unwrap_or_default();
        left = left.saturating_sub(diff.len());
        FilePreview {
            path: file.path.clone(),
            before: input.digest,
            after: output.digest,
            before_bytes: input.content.len() as u64,
            after_bytes: output.content.len() as u64,
            mode: input.mode,
            is_binary,
            replaces_link: input.is_link && output.is_written,
            diff,
            is_truncated,
            backup,
        }
    };
    files.map(file).collect()
}

fn no_preview(error: &EditError) -> ExchangeFailed {
    let failure = match error {
        EditError::Missing(_) => ExchangeFailure::NotFound,
        _ => ExchangeFailure::FailedPrecondition,
    };
    failed(failure, "NO_PREVIEW", error.to_string())
}
