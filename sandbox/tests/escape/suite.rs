//! How a table of attempts becomes tests, each under both kinds of runner.

use nix::unistd::geteuid;

use crate::again::{self, Again};
use crate::host_state::HostState;
use crate::stage::Stage;

/// Something tried on a stage that fails if the attacker got through.
pub(crate) trait Attempt {
    fn make(self, stage: &mut Stage);
}

impl<F: FnOnce(&mut Stage)> Attempt for F {
    fn make(self, stage: &mut Stage) {
        self(stage);
    }
}

/// Makes of each `name: attempt` the tests `as_root::name` and `as_user::name`.
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

/// Makes of each `name: attempt` the test `as_root_only::name`: of what only a
/// runner that gives uids can promise.
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

/// With a runner that is root.
pub(crate) fn as_root(attempt: impl Attempt) {
    assert!(geteuid().is_root(), "a runner with root is tried by root: start the suite as root");
    let before = HostState::now();
    let mut stage = Stage::new();
    attempt.make(&mut stage);
    stage.assert_controlled();
    let (uids, group) = (stage.uids(), stage.group());
    drop(stage);
    assert!(group.is_none_or(|group| !group.exists()), "the launcher's control group is left");
    before.assert_unchanged(&uids);
}

/// With a runner of an ordinary user: this very test again, in a process of
/// another uid.
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
