//! Converts a table of attempts to tests, each under both kinds of runner.

use nix::unistd::geteuid;

use crate::again::{self, Again};
use crate::host_state::HostState;
use crate::stage::Stage;

/// An attempt on a stage. It panics if the attacker succeeds.
pub(crate) trait Attempt {
    fn make(self, stage: &mut Stage);
}

impl<F: FnOnce(&mut Stage)> Attempt for F {
    fn make(self, stage: &mut Stage) {
        self(stage);
    }
}

/// Creates the tests `as_root::name` and `as_user::name` for each `name: attempt`.
macro_rules! attempts {
    ($($(#[doc = $doc:literal])* $name:ident: $attempt:expr;)+) => {
        mod as_root {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[test]
                fn $name() {
                    crate::suite::as_root($attempt);
                }
            )+
        }

        mod as_user {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[test]
                fn $name() {
                    crate::suite::as_user(concat!(module_path!(), "::", stringify!($name)), $attempt);
                }
            )+
        }
    };
}

/// Creates the test `as_root_only::name` for each `name: attempt`, for promises that need a runner with separate uids.
macro_rules! attempts_as_root {
    ($($(#[doc = $doc:literal])* $name:ident: $attempt:expr;)+) => {
        mod as_root_only {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[test]
                fn $name() {
                    crate::suite::as_root($attempt);
                }
            )+
        }
    };
}

/// Runs an attempt with a runner that has root.
pub(crate) fn as_root(attempt: impl Attempt) {
    assert!(geteuid().is_root(), "a runner with root requires root: start the suite as root");
    let before = HostState::now();
    let mut stage = Stage::new();
    attempt.make(&mut stage);
    stage.assert_controlled();
    let (uids, group) = (stage.uids(), stage.group());
    drop(stage);
    assert!(group.is_none_or(|group| !group.exists()), "the launcher's cgroup remains");
    before.assert_unchanged(&uids);
}

/// Runs an attempt with a runner of an unprivileged user: runs the same test again in a process with another uid.
pub(crate) fn as_user(test: &str, attempt: impl Attempt) {
    if again::is_it() {
        assert!(!geteuid().is_root());
        let mut stage = Stage::new();
        attempt.make(&mut stage);
        stage.assert_controlled();
        return;
    }
    assert!(geteuid().is_root(), "only root can become another user: start the suite as root");
    let before = HostState::now();
    let (_, test) = test.split_once("::").unwrap();
    let uid = again::run(test, &Again { user: true, ..Again::default() });
    before.assert_unchanged(&[uid]);
}
