//! The contract on an S3 server, and tests of connection settings and of outages.

use std::path::{Path as FilePath, PathBuf};

use airlock_store::testing::{PATIENCE, engine};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use uuid::Uuid;

use super::{
    super::{S3Credentials, S3Options, contract::PIECE},
    middle::{FaultMode, Middle},
    *,
};

/// The retry time in tests where the storage never answers.
const SHORT: Duration = Duration::from_millis(300);

/// A new bucket on this run's S3 server. Clients reach it directly or through a [`Middle`].
struct Bucket {
    name: String,
    port: u16,
    keys: TempDir,
}

impl Bucket {
    async fn make() -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let (_, port) = engine("s3");
        let name = format!("test-{}", Uuid::new_v4());
        let keys = tempfile::tempdir().unwrap();
        for file in ["id", "key"] {
            std::fs::write(keys.path().join(file), format!("the-{file}\n")).unwrap();
        }
        let bucket = Self { name, port, keys };
        assert!(bucket.ask(reqwest::Method::PUT, "").await.0.is_success());
        bucket
    }

    fn options(&self, endpoint: String) -> S3Options {
        S3Options {
            bucket: self.name.clone(),
            region: "us-east-1".to_owned(),
            endpoint: Some(endpoint),
            prefix: "some/where".to_owned(),
            path_style: true,
            insecure_http: true,
            ca: None,
            credentials: S3Credentials::Files {
                access_key_id: self.keys.path().join("id"),
                secret_access_key: self.keys.path().join("key"),
            },
            connect_timeout: PATIENCE,
            request_timeout: PATIENCE,
            retry_for: PATIENCE,
        }
    }

    fn direct(&self) -> S3Options {
        self.options(format!("http://127.0.0.1:{}", self.port))
    }

    fn behind(&self, middle: &Middle) -> S3Options {
        self.options(format!("http://{}", middle.address))
    }

    /// Sends a request directly to the S3 server.
    async fn ask(&self, method: reqwest::Method, what: &str) -> (reqwest::StatusCode, String) {
        let url = format!("http://127.0.0.1:{}/{}{what}", self.port, self.name);
        let key = "AWS4-HMAC-SHA256 Credential=the-id/20260101/us-east-1/s3/aws4_request, \
                   SignedHeaders=host, Signature=none";
        let request = reqwest::Client::new().request(method, url).header("authorization", key);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    /// Returns the number of uploads that are neither completed nor aborted.
    async fn open_uploads(&self) -> usize {
        let (status, said) = self.ask(reqwest::Method::GET, "?uploads").await;
        assert!(status.is_success(), "{said}");
        said.matches("<UploadId>").count()
    }
}

async fn fresh() -> Fixture {
    let bucket = Bucket::make().await;
    Fixture::of(Outputs::s3(&bucket.direct()).unwrap(), 11, Some(bucket.keys))
}

contract_tests!(fresh);

#[tokio::test]
async fn objects_are_below_the_prefix() {
    let bucket = Bucket::make().await;
    let id = ExecutionId::new();
    let outputs = Outputs::s3(&bucket.direct()).unwrap();
    outputs.writer(id).await.unwrap().finish().await.unwrap();
    let (_, listed) = bucket.ask(reqwest::Method::GET, "?list-type=2").await;
    assert!(listed.contains(&format!("<Key>some/where/{id}/manifest.json</Key>")), "{listed}");
    let elsewhere = Outputs::s3(&S3Options { prefix: String::new(), ..bucket.direct() }).unwrap();
    is_missing(&elsewhere, id).await;
}

#[tokio::test]
async fn large_outputs_go_in_parts_and_a_dropped_one_leaves_none() {
    let bucket = Bucket::make().await;
    let outputs = Outputs::s3(&bucket.direct()).unwrap();
    let id = ExecutionId::new();
    let length = 2 * outputs.part_bytes as u64 + 1;
    let mut dropped = outputs.writer(id).await.unwrap();
    write(&mut dropped, Stdout, length, &[], 1 << 20).await;
    assert_eq!(bucket.open_uploads().await, 1);
    drop(dropped);
    until("the dropped upload is aborted", async || bucket.open_uploads().await == 0).await;
    let mut writer = outputs.writer(id).await.unwrap();
    write(&mut writer, Stdout, length, &[], 1 << 20).await;
    writer.finish().await.unwrap();
    check(&read(&outputs, id, Stdout, 0).await, length, &[], 0, CHUNK_BYTES);
}

/// Stores an output once, as a server does on each attempt.
async fn store(outputs: &Outputs, id: ExecutionId, length: u64) -> Result<(), OutputError> {
    let mut writer = outputs.writer(id).await?;
    for offset in (0..length).step_by(1 << 20) {
        let end = length.min(offset + (1 << 20));
        writer.append(Stdout, offset, contract::bytes(offset..end)).await?;
    }
    writer.finish().await.map(drop)
}

#[tokio::test]
async fn a_storage_that_is_away_is_unavailable_and_loses_nothing() {
    let bucket = Bucket::make().await;
    let middle = Middle::before(bucket.port, None).await;
    let patient = Outputs::s3(&bucket.behind(&middle)).unwrap();
    let half_a_second = Duration::from_millis(500);
    let hasty = S3Options {
        request_timeout: half_a_second,
        connect_timeout: half_a_second,
        retry_for: SHORT,
        ..bucket.behind(&middle)
    };
    let hasty = Outputs::s3(&hasty).unwrap();
    let kept = ExecutionId::new();
    store(&patient, kept, 1000).await.unwrap();
    for mode in [FaultMode::Busy, FaultMode::Silent, FaultMode::Away] {
        middle.set(mode);
        let id = ExecutionId::new();
        let error = store(&hasty, id, 6 << 20).await.unwrap_err();
        assert!(matches!(error, OutputError::Unavailable { .. }), "{mode:?}: {error:?}");
        // An unreachable output must not be reported as missing.
        for error in [hasty.stored(kept).await.err(), hasty.open(kept, Stdout).await.err()] {
            assert!(matches!(error, Some(OutputError::Unavailable { .. })), "{mode:?}: {error:?}");
        }
        assert!(matches!(hasty.probe().await, Err(OutputError::Unavailable { .. })));
        middle.set(FaultMode::Fair);
        until("a later request is answered again", async || hasty.probe().await.is_ok()).await;
        store(&patient, id, 6 << 20).await.unwrap();
        check(&read(&patient, id, Stdout, 0).await, 6 << 20, &[], 0, CHUNK_BYTES);
        check(&read(&patient, kept, Stdout, 0).await, 1000, &[], 0, CHUNK_BYTES);
    }
}

#[tokio::test]
async fn a_storage_that_goes_midway_breaks_the_writer_and_the_next_one_stores_all() {
    let bucket = Bucket::make().await;
    let middle = Middle::before(bucket.port, None).await;
    let outputs = Outputs::s3(&bucket.behind(&middle)).unwrap();
    let hasty = Outputs::s3(&S3Options { retry_for: SHORT, ..bucket.behind(&middle) }).unwrap();
    let id = ExecutionId::new();
    let mut writer = hasty.writer(id).await.unwrap();
    write(&mut writer, Stdout, 6 << 20, &[], 1 << 20).await;
    middle.set(FaultMode::Away);
    assert!(matches!(writer.finish().await, Err(OutputError::Unavailable { .. })));
    middle.set(FaultMode::Fair);
    is_missing(&outputs, id).await;
    store(&outputs, id, 6 << 20).await.unwrap();
    check(&read(&outputs, id, Stdout, 0).await, 6 << 20, &[], 0, CHUNK_BYTES);
}

#[tokio::test]
async fn a_short_absence_is_not_even_seen() {
    let bucket = Bucket::make().await;
    let middle = Middle::before(bucket.port, None).await;
    let outputs = Outputs::s3(&bucket.behind(&middle)).unwrap();
    middle.set(FaultMode::Busy);
    let id = ExecutionId::new();
    let back = async {
        until("it is refused a few times", async || middle.refused() >= 3).await;
        middle.set(FaultMode::Fair);
    };
    let (stored, ()) = tokio::join!(store(&outputs, id, 1000), back);
    stored.unwrap();
    check(&read(&outputs, id, Stdout, 0).await, 1000, &[], 0, CHUNK_BYTES);
}

#[tokio::test]
async fn what_can_never_work_is_unusable() {
    let bucket = Bucket::make().await;
    let missing = S3Options { bucket: "no-such-bucket-here".to_owned(), ..bucket.direct() };
    let error = Outputs::s3(&missing).unwrap().probe().await.unwrap_err();
    assert!(matches!(error, OutputError::Unusable(_)), "{error:?}");
    let files = S3Credentials::Files {
        access_key_id: FilePath::new("/nowhere/id").to_owned(),
        secret_access_key: FilePath::new("/nowhere/key").to_owned(),
    };
    let error = Outputs::s3(&S3Options { credentials: files, ..bucket.direct() }).unwrap_err();
    assert!(matches!(&error, OutputError::Unusable(why) if why.contains("/nowhere/id")), "{error:?}");
    Outputs::s3(&bucket.direct()).unwrap().probe().await.unwrap();
}

#[tokio::test]
async fn a_storage_that_lets_a_second_writer_replace_the_first_is_unusable() {
    let bucket = Bucket::make().await;
    let middle = Middle::before(bucket.port, None).await;
    let outputs = Outputs::s3(&bucket.behind(&middle)).unwrap();
    outputs.probe().await.unwrap();
    middle.set(FaultMode::Forgetful);
    let error = outputs.probe().await.unwrap_err();
    assert!(matches!(&error, OutputError::Unusable(why) if why.contains("If-None-Match")), "{error:?}");
    let (_, listed) = bucket.ask(reqwest::Method::GET, "?list-type=2").await;
    assert!(!listed.contains("<Key>"), "no object remains: {listed}");
}

/// Returns a TLS configuration and the certificate file of its own CA.
fn tls(directory: &FilePath) -> (Arc<ServerConfig>, PathBuf) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let ca = directory.join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (Arc::new(config), ca)
}

#[tokio::test]
async fn tls_is_checked_and_plain_text_is_only_spoken_when_asked_for() {
    let bucket = Bucket::make().await;
    let (config, ca) = tls(bucket.keys.path());
    let middle = Middle::before(bucket.port, Some(config)).await;
    let endpoint = |host: &str| format!("https://{host}:{}", middle.address.port());
    let secure = S3Options { insecure_http: false, ca: Some(ca), ..bucket.options(endpoint("localhost")) };
    let outputs = Outputs::s3(&secure).unwrap();
    outputs.probe().await.unwrap();
    let id = ExecutionId::new();
    store(&outputs, id, 100).await.unwrap();
    let fixture = Outputs { read_bytes: PIECE, ..outputs };
    check(&read(&fixture, id, Stdout, 0).await, 100, &[], 0, PIECE);

    let secure = S3Options { retry_for: SHORT, ..secure };
    let unknown = S3Options { ca: None, ..secure.clone() };
    let other_name = S3Options { endpoint: Some(endpoint("127.0.0.1")), ..secure };
    let plain = S3Options { insecure_http: false, retry_for: SHORT, ..bucket.direct() };
    for bad in [unknown, other_name, plain] {
        // The error comes from the constructor or from the first use.
        if let Ok(outputs) = Outputs::s3(&bad) {
            let error = outputs.probe().await.unwrap_err();
            assert!(matches!(error, OutputError::Unavailable { .. } | OutputError::Unusable(_)), "{error:?}");
            store(&outputs, ExecutionId::new(), 1).await.unwrap_err();
        }
    }
}
