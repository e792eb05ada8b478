//! Tests of the paths that a session's commands may read and write, and of their disk limits.

use std::time::Duration;

use airlock_domain::Cause;

use crate::{
    fake::Manners,
    fixture::{Fixture, GROWS, grant},
};

const SMALL: u64 = 8 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn path_rules_of_a_profile_hold() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, "mkdir -p a/b out; echo secret > a/b/.env; ln -s .env a/b/link")).await;
    let mut ruled = grant(session, "cat a/b/.env || cat a/b/link || echo x > a/new || echo x > out/new");
    ruled.profile.paths.deny_read = vec![".env".to_owned()];
    ruled.profile.paths.allow_write = Some(vec!["out".to_owned()]);
    let (_, result) = it.run(ruled.clone()).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    let (_, result) = it.run(grant(session, "[ -e out/new ] && ! [ -e a/new ] && cat a/b/.env")).await;
    assert_eq!((result.cause, result.stdout_bytes), (Cause::Exited { code: 0 }, 7), "the control");

    it.run(grant(session, "ln -s round circle; ln -s circle round")).await;
    ruled.profile.paths.deny_read = vec!["round".to_owned()];
    let (_, result) = it.run(ruled).await;
    let Cause::SandboxFailed { step, message, hint } = result.cause else { panic!("{result:?}") };
    assert_eq!(step, "path_rules");
    assert_eq!(message, "path rules: resolving `/workspace/round` needs more than 40 links");
    assert!(!hint.is_empty());
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_were_found_for_a_command_before_cover_what_came_since() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let ruled = |command: &str| {
        let mut ruled = grant(session, command);
        ruled.profile.paths.deny_read =
            vec![".env".to_owned(), "~/**/.env".to_owned(), "//tmp/**/.env".to_owned()];
        ruled
    };
    for round in 0..3 {
        for directory in ["/workspace", "/home/agent", "/tmp"] {
            // The next command starts with the result of the scan after this one.
            it.run(ruled("true")).await;
            let made = format!("mkdir {directory}/{round} && echo secret > {directory}/{round}/.env");
            assert_eq!(it.run(ruled(&made)).await.1.cause, Cause::Exited { code: 0 });
            let read = format!("cat {directory}/{round}/.env");
            assert_eq!(it.run(ruled(&read)).await.1.cause, Cause::Exited { code: 1 }, "{read}");
            assert_eq!(it.said(grant(session, &read)).await, "secret\n", "the control");
        }
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_exceeds_the_disk_limit_is_ended() {
    for command in [
        "head -c 64M /dev/zero > file",
        "for i in {1..9}; do head -c 1M /dev/zero > ~/$i; head -c 1M /dev/zero > /tmp/$i; done",
        "for i in {1..300}; do : > $i; done",
        "mkdir d; head -c 64M /dev/zero > d/file; chmod 0 d",
    ] {
        let mut it = limited(Some(200)).await;
        let session = it.open("").await;
        let (_, result) = it.run(grant(session, &format!("{command}; {GROWS}"))).await;
        assert_eq!(result.cause, Cause::DiskLimit, "{command}");
        // A later command can delete files and continue.
        let again = "chmod -R 700 .; rm -rf ./* ~/* /tmp/*; sleep 1; echo x > file";
        let (_, result) = it.run(grant(session, again)).await;
        assert_eq!(result.cause, Cause::Exited { code: 0 }, "{command}");
        it.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_within_the_disk_limit_continues() {
    let within = "head -c 4M /dev/zero > file; for i in {1..100}; do : > $i; done; sleep 1";
    let mut it = limited(Some(200)).await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, within)).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
    // Without a limit the command is not ended.
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, "head -c 64M /dev/zero > file; sleep 1")).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
}

async fn limited(inodes: Option<u64>) -> Fixture {
    Fixture::with(Manners::default(), |config| {
        config.workspace.bytes = Some(SMALL);
        config.workspace.inodes = inodes;
        config.workspace.watch_every = Duration::from_millis(50);
    })
    .await
}
