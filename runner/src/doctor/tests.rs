//! Tests that findings contain a remedy and are shown completely.

use airlock_sandbox::State;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::*;
use crate::config::RunnerConfig;

#[test]
fn findings_are_one_line_each_with_their_cures_below() {
    let found = [Finding::ok("a", "fine"), Finding::failed("longer", "broken\u{1b}[2J", "mend it")];
    let text = render(&found);
    assert_eq!(
        text,
        "ok       a       fine\nfailed   longer  broken [2J\n                 effect: no command runs until this is fixed\n                 -> mend it\n\n1 ok, 0 degraded, 0 missing, 1 failed\n"
    );
    assert!(!is_well(&found) && is_well(&found[..1]));
    assert_eq!(to_json(&found)["checks"][1]["remedy"], "mend it");
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_told() {
    // Bound without listening, so that no other process can listen on it.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let free = held.local_addr().unwrap();
    let found = reach(&Target { host: "127.0.0.1".to_owned(), port: free.port(), trust: None }).await;
    assert_eq!(found.last().map(|finding| finding.state), Some(State::Missing), "{found:?}");
    assert!(
        found.last().is_some_and(|finding| finding.remedy.contains("that the server is running")),
        "{found:?}"
    );
    let found = reach(&Target { host: "no.such.invalid".to_owned(), port: 1, trust: None }).await;
    assert_eq!((found.len(), found[0].name.as_str()), (1, "name"), "{found:?}");
}

/// Starts a TLS server for `names`, with a certificate that is valid until `until`. Returns its port and its CA.
async fn server(authority: &str, names: &[&str], until: i32) -> (u16, Vec<u8>) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, authority);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let leaf = params.signed_by(&key, &authority).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(std::sync::Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_no_client_auth()
    .with_single_cert(
        vec![leaf.der().clone()],
        rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    )
    .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _ = acceptor.accept(socket).await;
        }
    });
    (port, authority.pem().into_bytes())
}

#[tokio::test]
async fn the_names_and_the_end_of_a_certificate_are_told_whether_it_is_trusted_or_not() {
    let (port, ca) = server("one", &["good.example", "127.0.0.1"], 2090).await;
    let (old, old_ca) = server("two", &["good.example"], 2021).await;
    let (_, stranger) = server("three", &["good.example"], 2090).await;
    for (port, ca, name, tls, says, certificate) in [
        (port, ca.clone(), "good.example", State::Ok, "certificate is valid for", State::Ok),
        (port, ca.clone(), "other.example", State::Missing, "other.example", State::Ok),
        (port, stranger, "good.example", State::Missing, "UnknownIssuer", State::Ok),
        (old, old_ca, "good.example", State::Missing, "xpired", State::Missing),
    ] {
        let trust = Some(Trust { ca, name: name.to_owned() });
        let found = reach(&Target { host: "127.0.0.1".to_owned(), port, trust }).await;
        let [_, _, handshake, validity] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((handshake.state, validity.state), (tls, certificate), "{found:?}");
        assert!(handshake.seen.contains(says), "{handshake:?}");
        assert!(validity.seen.contains("good.example"), "{validity:?}");
        assert_eq!(handshake.state == State::Ok, handshake.remedy.is_empty(), "{handshake:?}");
    }
    let trust = Some(Trust { ca: b"no pem".to_vec(), name: "good.example".to_owned() });
    let found = reach(&Target { host: "127.0.0.1".to_owned(), port, trust }).await;
    assert!(found.last().is_some_and(|finding| finding.remedy.contains("PEM")), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_configuration_asks_of_its_host_is_looked_at_and_nothing_stays() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let mut config = RunnerConfig::new("r1", &state, crate::config::ServerConfig::default());
    config.servers.clear();
    config.bases.insert("gone".to_owned(), directory.path().join("nowhere"));
    config.uids.first = 2_200_000;
    config.uids.count = 4;
    let found = configured(config.clone()).await.unwrap();
    let health = |name: &str| found.iter().find(|one| one.name == name).map(|one| one.state);
    assert_eq!(health("state_dir"), Some(State::Ok), "{found:#?}");
    assert_eq!(health("base gone"), Some(State::Missing), "{found:#?}");
    assert_eq!(health("bubblewrap"), Some(State::Ok), "{found:#?}");
    assert_eq!(health("read_only"), Some(State::Ok), "{found:#?}");
    assert!(!state.exists(), "no file was created");

    config.bwrap = "/no/such/bwrap".into();
    config.uids.first = 1;
    let found = configured(config).await.unwrap();
    let of = |name: &str| found.iter().find(|one| one.name == name).unwrap();
    assert_eq!(of("bubblewrap").state, State::Missing);
    assert!(of("bubblewrap").remedy.contains("install bubblewrap"), "{found:#?}");
    if rustix::process::geteuid().is_root() {
        assert!(of("uids").seen.contains("daemon"), "{found:#?}");
    }
}

/// Returns a configuration with a secret in this file, without servers.
fn with_secret(directory: &std::path::Path, file: &std::path::Path) -> RunnerConfig {
    let mut config = RunnerConfig::new("r1", directory.join("state"), crate::config::ServerConfig::default());
    config.servers.clear();
    let secret = "egress.secrets.TOKEN = { file = \"FILE\", requests = [\"a.example\"] }";
    let secret = secret.replace("FILE", file.to_str().unwrap());
    let text = format!(
        "{secret}\n{}",
        "runner_id = \"r\"\nstate_dir = \"/s\"\n[[server]]\nendpoint = \"http://127.0.0.1:1\"\ninsecure_loopback = true\n"
    );
    config.egress = RunnerConfig::parse(&text, std::path::Path::new("r.toml")).unwrap().egress;
    config
}

#[test]
fn a_file_with_a_secret_is_reported_by_owner_and_mode_and_never_shown() {
    use std::os::unix::fs::{PermissionsExt as _, chown};

    const VALUE: &str = "the-value-of-the-secret";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("value");
    let config = with_secret(directory.path(), &file);
    let found = || {
        let found = secrets::files(&config);
        assert_eq!(found.len(), 1);
        assert!(!format!("{found:?}").contains(VALUE), "{found:?}");
        assert!(!found[0].is_failure(), "only commands that use it fail: {found:?}");
        found.into_iter().next().unwrap()
    };
    assert_eq!(found().state, State::Missing);
    assert!(found().lost.contains("profiles that name it"), "{:?}", found());
    std::fs::write(&file, VALUE).unwrap();
    for (mode, state) in [
        (0o400, State::Ok),
        (0o640, State::Ok),
        (0o644, State::Degraded),
        (0o660, State::Degraded),
        (0o602, State::Degraded),
    ] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let found = found();
        assert_eq!(found.state, state, "{mode:o}: {found:?}");
        assert!(found.seen.contains(&format!("{mode:04o}")), "{found:?}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&file, Some(12_345), None).unwrap();
        assert!(found().seen.contains("12345"), "{:?}", found());
        chown(&file, Some(0), None).unwrap();
    }
    std::fs::write(&file, "short").unwrap();
    assert_eq!(found().state, State::Missing, "{:?}", found());
    assert!(found().seen.contains("5 bytes"), "{:?}", found());
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(found().seen.contains("is not a file"), "{:?}", found());
}

#[tokio::test]
async fn an_unreachable_vault_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let mut config = with_secret(directory.path(), &directory.path().join("value"));
    let vault = serde_json::json!({
        "address": format!("http://{}", held.local_addr().unwrap()),
        "insecure_loopback": true,
        "token_file": directory.path().join("token"),
    });
    config.egress.vault = Some(serde_json::from_value(vault).unwrap());
    let secret = config.egress.secrets.get_mut("TOKEN").unwrap();
    secret.file = None;
    secret.vault = Some(serde_json::from_value(serde_json::json!({ "path": "a", "field": "b" })).unwrap());
    let found = secrets::vault(&config).await;
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((finding.name.as_str(), finding.state), ("egress.vault", State::Missing), "{finding:?}");
    assert!(
        finding.seen.contains("cannot be reached") && finding.remedy.contains("egress.vault.address"),
        "{finding:?}"
    );
    let files = secrets::files(&config);
    assert!(
        files.iter().any(|one| one.name == "egress.vault.token_file" && one.state == State::Missing),
        "{files:?}"
    );
}
