//! Informs the guards of protected names about an upload, from before its first file to after its last. Must not be
//! held while waiting for a client.

use airlock_domain::ExchangeFailed;
use airlock_sandbox::{SessionDirectory, protect::Watched};

use super::{paths::Inside, quarantine::of_guard};
use crate::{
    guard::{Guarded, SessionGuard},
    session::OpenSession,
};

/// An upload that is being put into a session. Its files are not changes of a command.
#[derive(Debug)]
pub(super) struct GuardedUpload<'a> {
    session: &'a OpenSession,
    /// The informed guards. The workspace's guard is always included: its number also covers HOME and `/tmp`.
    notified: Vec<Notified<'a>>,
    /// The protected names of the target directory. `None` for `/tmp`, which is not watched.
    pub(super) watches: Option<Watched>,
}

/// A guard that was informed of an upload.
#[derive(Debug)]
struct Notified<'a> {
    guarded: &'a Guarded,
    id: u64,
    /// Whether the upload writes to the directory of this guard.
    is_target: bool,
}

impl<'a> GuardedUpload<'a> {
    /// Begins an upload at or below this path.
    pub(super) fn begin(session: &'a OpenSession, target: &Inside) -> Result<Self, ExchangeFailed> {
        let mut upload = Self { session, notified: Vec::new(), watches: None };
        let SessionGuard { workspace, home } = session.guard();
        upload
            .notify(workspace, (target.root() == SessionDirectory::Workspace).then(|| target.relative()))?;
        if target.root() == SessionDirectory::Home {
            upload.notify(home, Some(target.relative()))?;
        }
        Ok(upload)
    }

    fn notify(&mut self, guarded: &'a Guarded, target: Option<&[u8]>) -> Result<(), ExchangeFailed> {
        let notified = guarded.with(|guard, _| Ok((guard.uploading(target), guard.watched())));
        let (id, watches) = notified.map_err(of_guard)?;
        let is_target = target.is_some();
        self.notified.push(Notified { guarded, id, is_target });
        if is_target {
            self.watches = Some(watches);
        }
        Ok(())
    }

    /// Ends the upload, with the protected names that it created. Blocks while it scans the directory, if there are
    /// any.
    pub(super) fn end(mut self, watched: &[Vec<u8>]) -> Result<(), ExchangeFailed> {
        let mut done = Ok(());
        for Notified { guarded, id, is_target } in std::mem::take(&mut self.notified) {
            let paths = if is_target { watched } else { &[] };
            done = done.and(guarded.with(|guard, directory| guard.uploaded(directory, id, paths)));
        }
        done.map_err(of_guard)
    }
}

impl Drop for GuardedUpload<'_> {
    fn drop(&mut self) {
        for Notified { guarded, id, .. } in &self.notified {
            let ended = guarded.with(|guard, directory| guard.uploaded(directory, *id, &[]));
            if let Err(error) = ended {
                tracing::error!(session = %self.session.id, %error, "cannot unregister an upload");
            }
        }
    }
}
