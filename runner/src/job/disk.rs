//! Watches a session's disk usage while one of its commands can write.
//!
//! If the kernel enforces the session's limits, writes fail and the command continues; only the free disk space is
//! watched. Otherwise usage is counted with the runner's rights, so that file modes hide nothing. Only names and sizes
//! are read.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use airlock_domain::{Cause, ExecutionId, Violation, ViolationAction};
use airlock_sandbox::{DiskBackend, DiskUse, disk_use};
use tokio::{task::spawn_blocking, time::sleep};

use super::disk_space::DiskSpace;
use crate::{config::WorkspaceConfig, session::OpenSession};

/// The minimum pause after a count, as a multiple of the duration of the count.
const REST: u32 = 10;
const ALL: DiskUse = DiskUse { bytes: u64::MAX, inodes: u64::MAX };
const LAYER: &str = "disk";

/// The watch of one command's session. Counting stops on drop.
#[derive(Debug)]
pub(super) struct DiskWatch {
    session: Arc<OpenSession>,
    execution: ExecutionId,
    /// The limit for counting. `None` if the kernel counts or no limit is set.
    most: Option<DiskUse>,
    /// The usage before the command began.
    before: DiskCount,
    disk_space: DiskSpace,
    every: Duration,
    /// The reason why the command was ended.
    told: OnceLock<(&'static str, String)>,
}

/// The state that one count passes to the next.
#[derive(Debug, Clone, Copy)]
struct DiskCount {
    /// The limit, or the usage before the command began if that is higher.
    most: Option<DiskUse>,
    /// The bytes of the first count.
    first: Option<u64>,
}

impl DiskWatch {
    /// Counts the session's usage before its command begins. Otherwise the first writes would count as existing data.
    /// Blocks while it counts, unless the kernel counts.
    pub(super) fn begin(
        config: &WorkspaceConfig,
        disk_space: &DiskSpace,
        session: &Arc<OpenSession>,
        execution: ExecutionId,
    ) -> Self {
        let limits = config.for_sandbox();
        let counted = session.disk().backend() == DiskBackend::Watch && limits.has_limits();
        let most = counted.then(|| limits.most());
        let mut watch = Self {
            session: Arc::clone(session),
            execution,
            most,
            before: DiskCount { most, first: None },
            disk_space: disk_space.clone(),
            every: config.watch_every,
            told: OnceLock::new(),
        };
        match watch.count(watch.before) {
            Ok(Some(last)) => watch.before = last,
            // The first count of the running command finds the same.
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%execution, %error, "cannot measure a session's disk usage");
            }
        }
        watch
    }

    /// Returns when the session exceeds its limit. Also returns when free disk space is below the reserve and this
    /// session has grown most. A session that exceeded its limit before the command may continue with that usage, so
    /// that a command can delete files.
    pub(super) async fn exceeded(self: Arc<Self>) -> Cause {
        let execution = self.execution;
        let mut last = self.before;
        loop {
            let begun = Instant::now();
            let watch = Arc::clone(&self);
            match spawn_blocking(move || watch.count(last)).await {
                Ok(Ok(Some(next))) => last = next,
                Ok(Ok(None)) => return Cause::DiskLimit,
                Ok(Err(error)) => {
                    tracing::warn!(%execution, %error, "cannot measure a session's disk usage");
                }
                Err(error) => {
                    tracing::warn!(%execution, %error, "the session's disk usage was not measured");
                }
            }
            sleep(self.every.max(begun.elapsed() * REST)).await;
        }
    }

    /// Counts once. Returns `None` if a limit is exceeded. Blocks.
    fn count(&self, last: DiskCount) -> std::io::Result<Option<DiskCount>> {
        let first = last.first.is_none();
        let Some(used) = self.used(last)? else { return Ok(Some(last)) };
        let Ok(used) = used else {
            self.tell("limit", "its directories are nested too deeply to be measured".to_owned());
            return Ok(None);
        };
        let most = match last.most {
            Some(most) if first => {
                Some(DiskUse { bytes: most.bytes.max(used.bytes), inodes: most.inodes.max(used.inodes) })
            }
            most => most,
        };
        if let Some(most) = most.filter(|most| used.exceeds(*most)) {
            self.tell("limit", over(self.most.unwrap_or(most)));
            return Ok(None);
        }
        let began = last.first.unwrap_or(used.bytes);
        if self.disk_space.takes_too_much(self.execution, used.bytes.saturating_sub(began)) {
            let free = self.disk_space.free();
            self.tell(
                "reserve",
                format!(
                    "the runner's disk has {free} bytes free, less than its reserve, \
                                          and this session grew most"
                ),
            );
            return Ok(None);
        }
        Ok(Some(DiskCount { most, first: Some(began) }))
    }

    /// Returns the current usage if it is needed. The inner error means that it could not be determined.
    fn used(&self, last: DiskCount) -> std::io::Result<Option<Result<DiskUse, ()>>> {
        let disk = self.session.disk();
        let near = || self.disk_space.is_near();
        let by_names = match disk.backend() {
            DiskBackend::Watch => last.most.is_some() || near(),
            // The kernel reports the whole disk unless the limit of the project is lower, so its numbers are not the
            // usage.
            DiskBackend::Quota => near(),
            // The file system of a loop image reports its usage, see below. Files in memory use no disk.
            DiskBackend::Loop | DiskBackend::Tmpfs => false,
        };
        if by_names {
            // The first count is complete: the usage may exceed the limit already.
            let until = last.most.filter(|_| last.first.is_some()).unwrap_or(ALL);
            return Ok(Some(disk_use(self.session.directories(), until)?.ok_or(())));
        }
        if disk.backend() == DiskBackend::Loop && (near() || last.first.is_none()) {
            return Ok(disk.used_and_left()?.map(|(used, _)| Ok(used)));
        }
        Ok(None)
    }

    fn tell(&self, kind: &'static str, detail: String) {
        // The first reason wins.
        let _ = self.told.set((kind, detail));
    }

    /// Returns the violations of disk limits at the command's end. Blocks briefly.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let violation = |kind: &str, action, detail: String| Violation {
            layer: LAYER.to_owned(),
            kind: kind.to_owned(),
            path: Vec::new(),
            action,
            detail,
            quarantine_id: String::new(),
        };
        let ended =
            self.told.get().map(|(kind, detail)| violation(kind, ViolationAction::Failed, detail.clone()));
        let full = self.session.disk().full().ok().flatten().map(|full| {
            let detail = format!("the session's disk limit is reached: {full}");
            violation("full", ViolationAction::Reported, detail)
        });
        ended.into_iter().chain(full).collect()
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        self.disk_space.forget(self.execution);
    }
}

fn over(most: DiskUse) -> String {
    let limit = |name, value| (value != u64::MAX).then(|| format!("`{name}` of {value}"));
    let limits = [limit("workspace.bytes", most.bytes), limit("workspace.inodes", most.inodes)];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    format!("the session used more disk space than {}", limits.join(" or "))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use airlock_domain::SessionId;
    use airlock_sandbox::{UidIsolation, UidRange};
    use tokio::time::timeout;

    use super::*;
    use crate::{
        config::WorkspaceBackend,
        files::BaselineLimits,
        session::{CopyLimits, Opening, SessionTable},
    };

    const MIB: u64 = 1 << 20;
    /// Longer than any delay of a busy host.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn config() -> WorkspaceConfig {
        WorkspaceConfig {
            backend: WorkspaceBackend::Watch,
            bytes: Some(2 * MIB),
            inodes: None,
            watch_every: Duration::from_millis(10),
        }
    }

    fn session(state: &Path) -> (SessionTable, Arc<OpenSession>) {
        let copy = CopyLimits {
            bytes: MIB,
            entries: 1000,
            baseline: BaselineLimits { bytes: 64 << 10, file_bytes: 4 << 10 },
        };
        let range = UidRange::new(40_000_000, 64);
        let disk = config().for_sandbox();
        let sessions = SessionTable::restore(state, UidIsolation::detect(), range, 8, copy, disk).unwrap();
        let Opening::Reserved(reserved) = sessions.reserve(SessionId::new()) else {
            panic!("the session is new")
        };
        let session = sessions.make(&reserved, None, |_, _| {}).unwrap();
        (sessions, session)
    }

    fn write(session: &OpenSession, name: &str, bytes: u64) {
        fs::write(session.directories().workspace.join(name), vec![1; usize::try_from(bytes).unwrap()])
            .unwrap();
    }

    fn watch(state: &Path, session: &Arc<OpenSession>) -> Arc<DiskWatch> {
        Arc::new(DiskWatch::begin(&config(), &DiskSpace::new(state, 0), session, ExecutionId::new()))
    }

    #[tokio::test]
    async fn what_a_command_writes_before_it_is_first_looked_at_counts_against_it() {
        let dir = airlock_mounts::ScratchDir::new();
        let (_sessions, session) = session(dir.path());
        let watch = watch(dir.path(), &session);
        write(&session, "at-once", 4 * MIB);
        let cause = timeout(PATIENCE, watch.exceeded()).await.expect("the excess is detected");
        assert_eq!(cause, Cause::DiskLimit);
    }

    #[tokio::test]
    async fn what_was_there_before_a_command_may_stay_and_no_more_may_come() {
        let dir = airlock_mounts::ScratchDir::new();
        let (_sessions, session) = session(dir.path());
        write(&session, "before", 4 * MIB);
        let watch = watch(dir.path(), &session);
        assert!(watch.count(watch.before).unwrap().is_some(), "the file can be made smaller");
        write(&session, "more", MIB);
        let cause = timeout(PATIENCE, watch.exceeded()).await.expect("the excess is detected");
        assert_eq!(cause, Cause::DiskLimit);
    }
}
