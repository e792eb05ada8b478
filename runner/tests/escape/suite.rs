//! Converts a table of attempts to tests, each under both kinds of runner.

use nix::unistd::geteuid;

use crate::{
    host_state::HostState,
    site::{Needs, Site, User},
};

/// An attempt on a site. It panics if the attacker succeeds.
pub(crate) trait Attempt {
    /// Returns the special requirements of the runner.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Makes the attempt, and its control.
    async fn make(self, site: &mut Site);
}

/// Creates the tests `as_root::name` and `as_user::name` for each `name: attempt`.
macro_rules! attempts {
    ($($name:ident: $attempt:expr;)+) => {
        mod as_root {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    crate::suite::tried(crate::site::User::Root, $attempt).await;
                }
            )+
        }

        mod as_user {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    crate::suite::tried(crate::site::User::Ordinary, $attempt).await;
                }
            )+
        }
    };
}

/// Runs an attempt with a runner of this user.
pub(crate) async fn tried(user: User, attempt: impl Attempt) {
    assert!(geteuid().is_root(), "only root can start both types of runner: start the suite as root");
    let before = HostState::now();
    let mut site = Site::start(user, attempt.needs()).await;
    let uids = site.uids();
    attempt.make(&mut site).await;
    assert!(site.is_controlled(), "the row has no control");
    site.stop();
    before.assert_unchanged(&uids);
}
