//! Tests of certificates, authorities and tokens that change while the server runs.

use std::{fs, path::Path};

use airlock_proto::v1::{self, execution_service_client::ExecutionServiceClient};
use rcgen::ExtendedKeyUsagePurpose;
use sha2::{Digest as _, Sha256};
use tonic::{Code, transport::Channel};

use crate::edge::{
    exchange::by,
    runner::link_up,
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
