//! Tests of files that change while the server runs: certificates, authorities, tokens and profiles. An invalid file has
//! no effect.

use std::{fs, path::Path, time::Duration};

use airlock_proto::v1::{
    self, execution_service_client::ExecutionServiceClient, policy_service_client::PolicyServiceClient,
};
use rcgen::ExtendedKeyUsagePurpose;
use sha2::{Digest as _, Sha256};
use tonic::{Code, transport::Channel};

use crate::edge::{
    exchange::by,
    runner::link_up,
    runs::request,
    until,
    world::{World, authority, leaf},
};

/// The file is replaced atomically, as deployments do.
fn put(folder: &Path, name: &str, text: &str) {
    let aside = folder.join(format!("{name}.new"));
    fs::write(&aside, text).unwrap();
    fs::rename(aside, folder.join(name)).unwrap();
}

async fn list(channel: &Channel, token: &str) -> Result<(), Code> {
    let request = by(token, v1::ExecutionServiceListRequest::default());
    let answer = ExecutionServiceClient::new(channel.clone()).list(request).await;
    answer.map(drop).map_err(|status| status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_and_authority_are_used_by_new_connections_and_broken_files_are_not() {
    let world = World::new().await;
    let old = world.plain();
    list(&old, "executor").await.unwrap();
    let mut link = link_up(&world).await;

    // An incomplete renewal: the key does not match the certificate yet.
    let successor = authority("successor");
    let (certificate, key) = leaf(&successor, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
    put(world.folder(), "server.pem", "no certificate");
    put(world.folder(), "server.pem", &certificate);
    list(&world.plain(), "executor").await.unwrap();
    put(world.folder(), "server.key", &key);
    until("the successor's certificate is shown", async || {
        list(&world.trusting(&successor), "executor").await.is_ok()
    })
    .await;
    assert!(list(&world.plain(), "executor").await.is_err(), "new connections see the new certificate");
    list(&old, "executor").await.unwrap();

    // New connections with a certificate of the old authority are refused. Open connections continue.
    put(world.folder(), "clients.pem", &authority("other clients").pem());
    let ca = successor;
    until("certificates of the old authority are refused", async || {
        list(&world.certified_by_server_of("lead", &ca), "executor").await.is_err()
    })
    .await;
    link.say.send(airlock_domain::FromRunner::Reconciled.into()).await.unwrap();
    link.order_or_heartbeat().await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_of_the_file_are_followed_and_a_wrong_file_changes_nothing() {
    // The test polls with tokens that no identity has yet.
    let world = World::with("[limits]\nauthentication_failures_per_minute = 1000000\n").await;
    let channel = world.plain();
    let file = world.folder().join("server.toml");
    let text = fs::read_to_string(&file).unwrap();
    let added = |token: &str, profile: &str| {
        let hash = hex::encode(Sha256::digest(token));
        format!(
            "{text}[[identity]]\nname = \"{token}\"\ntenant = \"one\"\nroles = [\"executor\"]\n\
             profiles = [\"{profile}\"]\nmatch = {{ token_sha256 = \"{hash}\" }}\n"
        )
    };
    assert_eq!(list(&channel, "late").await, Err(Code::Unauthenticated));
    put(world.folder(), "server.toml", &added("late", "strict"));
    until("the new token counts", async || list(&channel, "late").await.is_ok()).await;

    put(world.folder(), "server.toml", "server_id = ");
    put(world.folder(), "server.toml", &added("later", "no-such-profile"));
    list(&channel, "late").await.unwrap();
    put(world.folder(), "server.toml", &added("last", "strict"));
    until("the file is read again", async || list(&channel, "last").await.is_ok()).await;
    assert_eq!(
        list(&channel, "late").await,
        Err(Code::Unauthenticated),
        "a removed token belongs to no identity"
    );
    assert_eq!(list(&channel, "later").await, Err(Code::Unauthenticated));
    list(&channel, "executor").await.unwrap();
    world.server.shut_down().await;
}

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
