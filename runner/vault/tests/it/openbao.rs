//! The client reads secrets of a real server: OpenBao, which has the API of Vault.

mod long {
    use std::{
        fs,
        net::TcpListener,
        path::{Path, PathBuf},
        process::{Child, Command, Stdio},
        time::{Duration, Instant},
    };

    use airlock_vault::{Address, Place, Settings, Vault, VaultError};
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use serde_json::json;
    use tokio::task::JoinSet;

    use crate::fixture::{PATIENCE, VALUE};

    /// The token that the server accepts for everything.
    const ROOT: &str = "root-token-of-the-test";

    /// A server that keeps its data in memory. It ends when it is dropped.
    struct OpenBao {
        child: Child,
        address: String,
        files: tempfile::TempDir,
    }

    impl Drop for OpenBao {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn program() -> PathBuf {
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
        let path = cache.join("airlock/tools/bin/bao");
        assert!(path.is_file(), "{} is not there; run `scripts/setup.sh long`", path.display());
        path
    }

    impl OpenBao {
        fn start() -> Self {
            let files = tempfile::tempdir().unwrap();
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let listen = format!("127.0.0.1:{port}");
            let child = Command::new(program())
                .args(["server", "-dev-tls", "-dev-no-store-token"])
                .arg(format!("-dev-tls-cert-dir={}", files.path().display()))
                .arg(format!("-dev-root-token-id={ROOT}"))
                .arg(format!("-dev-listen-address={listen}"))
                .env("HOME", files.path())
                .stdout(Stdio::null())
                .stderr(fs::File::create(files.path().join("log")).unwrap())
                .spawn()
                .unwrap();
            let it = Self { child, address: format!("https://{listen}"), files };
            let end = Instant::now() + PATIENCE;
            while !it.runs(&["status"]) {
                assert!(Instant::now() < end, "{}", fs::read_to_string(it.files.path().join("log")).unwrap());
                std::thread::sleep(Duration::from_millis(200));
            }
            it
        }

        fn command(&self, arguments: &[&str]) -> Command {
            let mut command = Command::new(program());
            command
                .args(arguments)
                .env("HOME", self.files.path())
                .env("BAO_ADDR", &self.address)
                .env("BAO_CACERT", self.ca())
                .env("BAO_TOKEN", ROOT);
            command
        }

        fn runs(&self, arguments: &[&str]) -> bool {
            self.command(arguments).output().unwrap().status.success()
        }

        fn check(&self, arguments: &[&str]) {
            let output = self.command(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }

        fn ca(&self) -> PathBuf {
            self.files.path().join("vault-ca.pem")
        }

        /// Creates a policy of OpenBao that permits reading the secrets of the tests.
        fn prepare(&self) {
            let policy = "path \"secret/data/team/*\" { capabilities = [\"read\"] }\n\
                          path \"old/team/*\" { capabilities = [\"read\"] }\n";
            let file = self.files.path().join("policy.hcl");
            fs::write(&file, policy).unwrap();
            self.check(&["policy", "write", "runner", file.to_str().unwrap()]);
            self.check(&["secrets", "enable", "-path=old", "-version=1", "kv"]);
            self.check(&["kv", "put", "-mount=secret", "team/api", &format!("token={VALUE}")]);
            self.check(&["kv", "put", "-mount=secret", "private", &format!("token={VALUE}")]);
            self.check(&["kv", "put", "-mount=old", "team/api", &format!("token={VALUE}"), "ttl=30s"]);
        }

        fn settings(&self, token: &str) -> Settings {
            let token_file = self.files.path().join("token");
            fs::write(&token_file, token).unwrap();
            Settings {
                address: Address::parse(&self.address, false).unwrap(),
                namespace: None,
                ca: Some(self.ca()),
                token_file,
                kubernetes_role: None,
                kubernetes_mount: "kubernetes".to_owned(),
                timeout: PATIENCE,
                cache: Duration::ZERO,
            }
        }
    }

    #[tokio::test]
    async fn secrets_of_both_versions_are_read_with_a_token() {
        let bao = OpenBao::start();
        bao.prepare();
        let made = bao.command(&["token", "create", "-policy=runner", "-field=token"]).output().unwrap();
        let token = String::from_utf8(made.stdout).unwrap();
        let vault = Vault::new(bao.settings(&token));
        assert!(!vault.health().await.unwrap().version.is_empty());
        let (second, first) =
            (Place::new("secret", "team/api", "token", 2), Place::new("old", "team/api", "token", 1));
        let (second, first) = (second.unwrap(), first.unwrap());
        for place in [&second, &first] {
            assert_eq!(*vault.read(place).await.unwrap(), VALUE);
        }
        for (path, field) in [("private", "token"), ("team/none", "token"), ("team/api", "none")] {
            let error = vault.read(&Place::new("secret", path, field, 2).unwrap()).await.unwrap_err();
            let is_expected = match (path, field) {
                ("private", _) => matches!(error, VaultError::Forbidden),
                ("team/none", _) => matches!(error, VaultError::NotFound),
                _ => matches!(error, VaultError::Field),
            };
            assert!(is_expected, "{path} {field}: {error:?}");
        }
        bao.check(&["kv", "delete", "-mount=secret", "team/api"]);
        assert!(matches!(vault.read(&second).await, Err(VaultError::NotFound)), "a deleted version");
        bao.check(&["token", "revoke", token.trim()]);
        assert!(matches!(vault.read(&first).await, Err(VaultError::Forbidden)));
        bao.check(&["operator", "seal"]);
        assert!(matches!(vault.health().await, Err(VaultError::Unavailable(503))));
        assert!(matches!(vault.read(&first).await, Err(VaultError::Unavailable(503))));
    }

    /// Answers each review of a token as the API of Kubernetes does for the account `default:runner`.
    async fn reviews(tasks: &mut JoinSet<()>) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(|request: Request<Incoming>| async move {
                    assert!(request.uri().path().ends_with("/tokenreviews"), "{request:?}");
                    let user = json!({ "username": "system:serviceaccount:default:runner", "uid": "1", "groups": [] });
                    let review = json!({
                        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                        "status": { "authenticated": true, "user": user, "audiences": ["vault"] },
                    });
                    let answer = Response::builder().status(201).header("content-type", "application/json");
                    answer.body(Full::new(Bytes::from(review.to_string())))
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        });
        address
    }

    /// Returns a token of a service account. Only the review decides whether it is valid.
    fn service_account() -> String {
        let account = json!({ "namespace": "default", "serviceaccount": { "name": "runner", "uid": "1" } });
        let claims = json!({
            "iss": "https://kubernetes.default.svc", "sub": "system:serviceaccount:default:runner",
            "aud": ["vault"], "exp": 4_000_000_000_u64, "nbf": 1_600_000_000, "iat": 1_600_000_000, "kubernetes.io": account,
        });
        let part = |value: &serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let head = json!({ "alg": "RS256", "typ": "JWT" });
        format!("{}.{}.{}", part(&head), part(&claims), BASE64_URL_SAFE_NO_PAD.encode([7; 256]))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_service_account_logs_in_and_again_after_its_token_is_revoked() {
        let mut tasks = JoinSet::new();
        let kubernetes = reviews(&mut tasks).await;
        let bao = OpenBao::start();
        bao.prepare();
        bao.check(&["auth", "enable", "kubernetes"]);
        let host = format!("kubernetes_host={kubernetes}");
        let reviewer = format!("token_reviewer_jwt={}", service_account());
        let ca = format!("kubernetes_ca_cert=@{}", bao.ca().display());
        bao.check(&["write", "auth/kubernetes/config", &host, &reviewer, &ca, "disable_local_ca_jwt=true"]);
        let role = [
            "bound_service_account_names=runner",
            "bound_service_account_namespaces=default",
            "policies=runner",
            "audience=vault",
            "ttl=1h",
        ];
        bao.check(&[&["write", "auth/kubernetes/role/runner"], &role[..]].concat());
        let role = Some("runner".to_owned());
        let vault = Vault::new(Settings { kubernetes_role: role, ..bao.settings(&service_account()) });
        let place = Place::new("secret", "team/api", "token", 2).unwrap();
        assert_eq!(*vault.read(&place).await.unwrap(), VALUE);
        bao.check(&["lease", "revoke", "-prefix", "-sync", "auth/kubernetes"]);
        assert_eq!(*vault.read(&place).await.unwrap(), VALUE);
        let stranger =
            Settings { kubernetes_role: Some("other".to_owned()), ..bao.settings(&service_account()) };
        assert!(matches!(Vault::new(stranger).read(&place).await, Err(VaultError::Login(400..=403))));
    }
}
