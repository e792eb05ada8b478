//! Tests with a collector that uses TLS and requires a client certificate. It is reachable only with valid
//! certificates, also after all certificates are replaced.

use std::{
    fs,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    metrics_service_client::MetricsServiceClient,
    metrics_service_server::{MetricsService, MetricsServiceServer},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;
use tonic::{
    Request, Response, Status,
    transport::{Certificate, Identity, Server, ServerTlsConfig},
};

use super::*;
use crate::{Settings, Telemetry};

/// A CA, and the files that it signed.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns a certificate and its key (PEM).
    fn sign(&self, host: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Writes the files of a client.
    fn write(&self, directory: &TempDir) -> CollectorTls {
        let at = |name: &str| directory.path().join(name);
        let (certificate, key) = self.sign("client");
        for (name, text) in [("ca", self.0.pem()), ("certificate", certificate), ("key", key)] {
            fs::write(at(name), text).unwrap();
        }
        CollectorTls { ca: Some(at("ca")), certificate: Some((at("certificate"), at("key"))) }
    }
}

type Received = Arc<Mutex<Vec<ExportMetricsServiceRequest>>>;

struct Metrics(Received);

#[tonic::async_trait]
impl MetricsService for Metrics {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// A collector in its own runtime. Its connections end with the runtime.
struct Collector {
    runtime: Option<tokio::runtime::Runtime>,
    address: SocketAddr,
    received: Received,
}

impl Collector {
    fn listen(authority: &Authority, address: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (certificate, key) = authority.sign("localhost");
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(authority.0.pem()));
        let received = Received::default();
        let service = MetricsServiceServer::new(Metrics(received.clone()));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let incoming = tonic::transport::server::TcpIncoming::from(listener);
            let server = Server::builder().tls_config(tls).unwrap().add_service(service);
            server.serve_with_incoming(incoming).await.unwrap();
        });
        Self { runtime: Some(runtime), address, received }
    }

    fn endpoint(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// Stops the collector; its port is free afterwards.
    async fn stop(mut self) {
        let runtime = self.runtime.take();
        spawn_blocking(move || drop(runtime)).await.unwrap();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn send(channel: &Channel) -> Result<(), Status> {
    let mut client = MetricsServiceClient::new(channel.clone());
    client.export(ExportMetricsServiceRequest::default()).await.map(|_| ())
}

#[tokio::test]
async fn renewed_certificates_are_used_at_the_next_connection() {
    let (first, second) = (Authority::new(), Authority::new());
    let directory = TempDir::new().unwrap();
    let tls = first.write(&directory);
    let collector = Collector::listen(&first, "127.0.0.1:0");
    let (endpoint, address) = (collector.endpoint(), collector.address.to_string());
    let channel = channel(&endpoint, &tls).unwrap();
    send(&channel).await.unwrap();
    assert_eq!(collector.count(), 1);

    // The collector restarts with certificates of another CA. The client does not restart.
    collector.stop().await;
    second.write(&directory);
    let collector = Collector::listen(&second, &address);
    while send(&channel).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(collector.count(), 1);
}

#[tokio::test]
async fn nothing_is_sent_without_the_right_certificates() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (ours, theirs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (right, wrong) = (authority.write(&ours), other.write(&theirs));
    let collector = Collector::listen(&authority, "127.0.0.1:0");
    for tls in [
        CollectorTls { ca: wrong.ca.clone(), ..right.clone() },
        CollectorTls { certificate: wrong.certificate.clone(), ..right.clone() },
        CollectorTls { certificate: None, ..right.clone() },
    ] {
        send(&channel(&collector.endpoint(), &tls).unwrap()).await.unwrap_err();
    }
    assert_eq!(collector.count(), 0);
    send(&channel(&collector.endpoint(), &right).unwrap()).await.unwrap();

    // An invalid file is detected at the start, and the error names it.
    let missing = CollectorTls { ca: Some("/nowhere/ca.pem".into()), ..right.clone() };
    let error = channel(&collector.endpoint(), &missing).unwrap_err().to_string();
    assert!(error.contains("/nowhere/ca.pem"), "{error}");
    fs::write(ours.path().join("ca"), "").unwrap();
    assert!(matches!(channel(&collector.endpoint(), &right), Err(CollectorError::NoAuthority { .. })));
}

#[tokio::test]
async fn metrics_go_out_by_tls_and_name_their_installation() {
    let authority = Authority::new();
    let directory = TempDir::new().unwrap();
    let collector = Collector::listen(&authority, "127.0.0.1:0");
    let settings = Settings {
        service: "airlock-server".to_owned(),
        instance: "s".to_owned(),
        namespace: Some("production".to_owned()),
        endpoint: Some(collector.endpoint()),
        tls: authority.write(&directory),
        sampling: 1.0,
        // An export has two seconds, and on a slow host the first connection may take longer.
        interval: Duration::from_millis(100),
        json: false,
        level: "info".to_owned(),
        flush: Duration::from_secs(5),
    };
    let telemetry = Telemetry::start(settings).unwrap();
    telemetry.meter("airlock").u64_counter("a").build().add(1, &[]);
    while collector.count() == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    spawn_blocking(move || telemetry.flush()).await.unwrap();
    let received = collector.received.lock().unwrap();
    let resource = received[0].resource_metrics[0].resource.as_ref().unwrap();
    let told: Vec<String> =
        resource.attributes.iter().map(|one| format!("{}={:?}", one.key, one.value)).collect();
    assert!(
        told.iter().any(|one| one.starts_with("service.namespace=") && one.contains("production")),
        "{told:?}"
    );
}

#[test]
fn addresses_of_collectors_are_plain_or_secure() {
    assert_eq!(is_tls("http://127.0.0.1:4317"), Some(false));
    assert_eq!(is_tls("https://[fd00::1]:4317"), Some(true));
    for wrong in ["127.0.0.1:4317", "grpc://x:1", "https://", "x", ""] {
        assert_eq!(is_tls(wrong), None, "{wrong}");
    }
}
