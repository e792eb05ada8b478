//! Tests that changed profiles apply to decisions while the server runs, and that an invalid file has no effect.

use std::{fs, path::Path, time::Duration};

use airlock_proto::v1::{self, policy_service_client::PolicyServiceClient};
use tonic::transport::Channel;

use crate::edge::{runs::request, world::World};

fn write(folder: &Path, name: &str, denied: &str) {
    let text = format!(
        "name = \"{name}\"\n[policy]\ndeny = [\"Bash({denied})\"]\n[policy.shadow]\nask = [\"Bash(ls:*)\"]\n"
    );
    // The file is replaced atomically, as editors and deployments do.
    let aside = folder.join(format!("{name}.new"));
    fs::write(&aside, text).unwrap();
    fs::rename(aside, folder.join(format!("{name}.toml"))).unwrap();
}

/// Returns the decision by the caller's default profile.
async fn decided(client: &mut PolicyServiceClient<Channel>, command: &str) -> v1::Decision {
    let check = v1::PolicyServiceCheckRequest { command: command.to_owned(), ..Default::default() };
    client.check(request("executor", check)).await.unwrap().into_inner().decision.unwrap()
}

/// Waits until the profile denies the command.
async fn denied(client: &mut PolicyServiceClient<Channel>, command: &str) -> v1::Decision {
    loop {
        let decision = decided(client, command).await;
        if decision.verdict() == v1::Verdict::Deny {
            return decision;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the server has loaded a profile.
async fn known(client: &mut PolicyServiceClient<Channel>, name: &str) {
    let list = || v1::PolicyServiceListProfilesRequest::default();
    loop {
        let profiles = client.list_profiles(request("admin", list())).await.unwrap().into_inner().profiles;
        if profiles.iter().any(|profile| profile.name == name) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_follow_the_files_and_a_broken_or_removed_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine", "one");
    let tables = format!("[profiles]\ndirectory = \"{}\"\ndefault = \"mine\"\n", folder.path().display());
    let world = World::with(&tables).await;
    let mut client = PolicyServiceClient::new(world.plain());
    let first = denied(&mut client, "one").await;

    let shadowed = decided(&mut client, "true; ls -l").await;
    let expected = v1::ShadowHit {
        rule: "Bash(ls:*)".to_owned(),
        verdict: v1::Verdict::Ask.into(),
        command_index: Some(1),
    };
    assert_eq!(
        (shadowed.verdict(), shadowed.shadow),
        (v1::Verdict::Allow, vec![expected]),
        "the old profile does not decide"
    );

    write(folder.path(), "mine", "two");
    let second = denied(&mut client, "two").await;
    assert_ne!(first.policy_version, second.policy_version);
    assert_eq!(decided(&mut client, "one").await.verdict(), v1::Verdict::Ask);

    fs::write(folder.path().join("mine.toml"), "name = \"mine\"\n[policy]\ndeny = [\"Bash(\"]\n").unwrap();
    write(folder.path(), "after-broken", "x");
    known(&mut client, "after-broken").await;
    assert_eq!(decided(&mut client, "two").await.policy_version, second.policy_version);

    fs::remove_file(folder.path().join("mine.toml")).unwrap();
    write(folder.path(), "after-removed", "x");
    known(&mut client, "after-removed").await;
    assert_eq!(decided(&mut client, "two").await.verdict(), v1::Verdict::Deny);

    write(folder.path(), "mine", "mended");
    denied(&mut client, "mended").await;
    world.server.shut_down().await;
}
