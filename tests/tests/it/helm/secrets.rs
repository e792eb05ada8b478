//! The certificates and tokens that the chart creates: one for each name, kept by upgrades, and absent from
//! configurations.

use std::{fs, process::Command};

use airlock_tests::{
    chart::{self, Rendered, render},
    process::{Process, until},
    site::PATIENCE,
    source,
    tools::program,
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::{container, rendered};

#[test]
fn each_runner_sees_only_its_own_key() {
    let rendered = rendered(&chart::directory().join("ci/pools-values.yaml"));
    let config = rendered.document("ConfigMap", "r-airlock-server")["data"]["server.toml"].as_str().unwrap();
    let config: toml::Table = config.parse().unwrap();
    let identities = config["identity"].as_array().unwrap();
    let mut runners = 0;
    for (pool, replicas) in [("default", 3), ("large", 1)] {
        let set = rendered.document("StatefulSet", &format!("r-airlock-{pool}"));
        let volumes = set["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
        let pool_volume = volumes.iter().find(|volume| volume["name"] == "pool").unwrap();
        let sources = pool_volume["projected"]["sources"].as_array().unwrap();
        assert_eq!(sources.len(), replicas);
        let mounts = container(set)["volumeMounts"].as_array().unwrap();
        assert!(
            !mounts.iter().any(|mount| mount["name"] == "pool"),
            "the runner sees only its own certificate"
        );
        for (ordinal, source) in sources.iter().enumerate() {
            let pod = format!("r-airlock-{pool}-{ordinal}");
            assert_eq!(source["secret"]["name"], format!("{pod}-tls"));
            let items = source["secret"]["items"].as_array().unwrap();
            assert!(items.iter().all(|item| item["path"].as_str().unwrap().starts_with(&format!("{pod}/"))));
            let identity = identities.iter().find(|one| one["name"].as_str() == Some(&pod)).unwrap();
            assert_eq!(identity["roles"].as_array().unwrap().len(), 1);
            assert_eq!(identity.get("runner_ids"), None, "the certificate is valid for its own name");
            let dns = identity["match"]["dns"].as_str().unwrap();
            let secret = rendered.document("Secret", &format!("{pod}-tls"));
            assert_eq!(secret["metadata"]["annotations"]["airlock/hosts"], dns);
            runners += 1;
        }
    }
    let told = identities.iter().filter(|one| one["roles"].as_array().unwrap()[0].as_str() == Some("runner"));
    assert_eq!(told.count(), runners);
}

#[test]
fn no_mount_keeps_a_renewed_secret_from_a_pod() {
    for set in chart::sets() {
        let rendered = rendered(&set);
        for workload in rendered.of("Deployment").chain(rendered.of("StatefulSet")) {
            let containers = workload["spec"]["template"]["spec"]["containers"].as_array().unwrap();
            let mounts = containers.iter().flat_map(|one| one["volumeMounts"].as_array().unwrap());
            for mount in mounts {
                assert_eq!((mount.get("subPath"), mount.get("subPathExpr")), (None, None), "{mount}");
            }
        }
    }
}

#[test]
fn a_runners_pod_copies_its_own_certificates_whenever_they_change() {
    let rendered = rendered(&chart::directory().join("ci/pools-values.yaml"));
    let set = rendered.document("StatefulSet", "r-airlock-default");
    let containers = set["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let copier = containers.iter().find(|one| one["name"] == "certificates").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    fs::create_dir(&from).unwrap();
    fs::create_dir(&to).unwrap();
    let put = |text: &str| {
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            fs::write(from.join(file), format!("{file} {text}")).unwrap();
        }
    };
    let has = |text: &str| {
        let holds = |file: &str| {
            fs::read_to_string(to.join(file)).is_ok_and(|found| found == format!("{file} {text}"))
        };
        ["tls.crt", "tls.key", "ca.crt"].iter().all(|file| holds(file))
    };
    put("one");
    // A short interval, so that the test is fast.
    let script = copier["args"][0].as_str().unwrap().replace("sleep 10", "sleep 0.1");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env("FROM", &from).env("TO", &to);
    let copying = Process::start(&mut command, &directory.path().join("log"));
    until("the first are there", PATIENCE, || has("one"));
    put("two");
    until("the renewed ones are there", PATIENCE, || has("two"));
    drop(copying);
}

#[test]
fn what_the_chart_makes_itself_fits_together() {
    let rendered = render(&[]).unwrap();
    let again = render(&[]).unwrap();
    let data = |rendered: &Rendered, secret: &str, key: &str| {
        let data = rendered.document("Secret", secret)["data"][key].as_str().unwrap().to_owned();
        String::from_utf8(BASE64.decode(data).unwrap()).unwrap()
    };
    let authority = data(&rendered, "r-airlock-ca", "tls.crt");
    assert_ne!(authority, data(&again, "r-airlock-ca", "tls.crt"), "each installation has its own");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("ca"), &authority).unwrap();
    for (secret, name) in [
        ("r-airlock-server-tls", "r-airlock-server.default.svc"),
        ("r-airlock-default-0-tls", "r-airlock-default-0.r-airlock-runners.default.svc"),
        ("r-airlock-default-1-tls", "r-airlock-default-1.r-airlock-runners.default.svc"),
    ] {
        assert_eq!(data(&rendered, secret, "ca.crt"), authority);
        fs::write(directory.path().join("certificate"), data(&rendered, secret, "tls.crt")).unwrap();
        let verified = Command::new("openssl")
            .args(["verify", "-verify_hostname", name, "-CAfile", "ca", "certificate"])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(verified.status.success(), "{secret}: {verified:?}");
    }
    // The configuration contains only hashes of the tokens.
    for name in ["agent", "operator"] {
        let token = data(&rendered, "r-airlock-tokens", name);
        assert_eq!(token.len(), 48);
        assert!(!rendered.document("ConfigMap", "r-airlock-server").to_string().contains(&token));
        let mut hash = Command::new(program("airlock-server"));
        fs::write(directory.path().join("token"), &token).unwrap();
        let hashed =
            hash.arg("hash-token").stdin(fs::File::open(directory.path().join("token")).unwrap()).output();
        let line = String::from_utf8(hashed.unwrap().stdout).unwrap();
        let config =
            rendered.document("ConfigMap", "r-airlock-server")["data"]["server.toml"].as_str().unwrap();
        assert!(config.contains(line.trim()), "{name}: {line}");
    }
}

/// The objects of a release in the cluster, as far as helm reads them.
struct Installed {
    directory: tempfile::TempDir,
    _api: Process,
    address: String,
}

impl Installed {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("port");
        let mut api = Command::new("python3");
        api.arg(source::root().join("tests/pods/api.py")).arg(directory.path());
        let api = Process::start(&mut api, &log);
        until("the API listens", PATIENCE, || api.output().ends_with('\n'));
        let address = format!("http://127.0.0.1:{}", api.output().trim());
        Self { directory, _api: api, address }
    }

    /// Installs or upgrades.
    fn upgrade(&self, options: &[&str]) -> Rendered {
        let online = ["--dry-run=server", "--kube-apiserver", &self.address];
        let rendered = render(&[&online, options].concat()).unwrap();
        for secret in rendered.of("Secret") {
            let name = secret["metadata"]["name"].as_str().unwrap();
            fs::write(self.directory.path().join(format!("{name}.json")), secret.to_string()).unwrap();
        }
        rendered
    }
}

#[test]
fn an_upgrade_keeps_what_the_chart_made_and_makes_what_is_missing() {
    let installed = Installed::new();
    let first = installed.upgrade(&[]);
    assert_eq!(first.text, installed.upgrade(&[]).text, "nothing has changed");

    let data = |rendered: &Rendered, secret: &str| rendered.document("Secret", secret)["data"].clone();
    let grown =
        installed.upgrade(&["--set", "runner.replicas=3", "--set", "server.hosts={airlock.example.org}"]);
    for kept in ["r-airlock-ca", "r-airlock-tokens", "r-airlock-default-0-tls", "r-airlock-default-1-tls"] {
        assert_eq!(data(&first, kept), data(&grown, kept), "{kept}");
    }
    let authority = data(&first, "r-airlock-server-tls")["ca.crt"].clone();
    assert_eq!(data(&grown, "r-airlock-default-2-tls")["ca.crt"], authority);
    assert_eq!(data(&grown, "r-airlock-server-tls")["ca.crt"], authority);
    assert_ne!(
        data(&grown, "r-airlock-server-tls")["tls.crt"],
        data(&first, "r-airlock-server-tls")["tls.crt"]
    );

    // A new CA signs new certificates.
    fs::remove_file(installed.directory.path().join("r-airlock-ca.json")).unwrap();
    let renewed = installed.upgrade(&["--set", "runner.replicas=3"]);
    for secret in ["r-airlock-server-tls", "r-airlock-default-0-tls"] {
        assert_ne!(data(&renewed, secret)["ca.crt"], authority);
        assert_ne!(data(&renewed, secret)["tls.crt"], data(&grown, secret)["tls.crt"]);
    }
    assert_eq!(data(&renewed, "r-airlock-tokens"), data(&first, "r-airlock-tokens"));
}

#[test]
fn a_pool_with_room_to_grow_does_not_change_when_it_grows() {
    let installed = Installed::new();
    let template = |rendered: &Rendered| {
        let set = rendered.document("StatefulSet", "r-airlock-default");
        (set["spec"]["template"].clone(), rendered.document("Deployment", "r-airlock-server").clone())
    };
    let small = installed.upgrade(&["--set", "runner.maxReplicas=4"]);
    let large = installed.upgrade(&["--set", "runner.maxReplicas=4,runner.replicas=4"]);
    assert_eq!(template(&small), template(&large));
    assert_eq!(large.document("StatefulSet", "r-airlock-default")["spec"]["replicas"], 4);
}
