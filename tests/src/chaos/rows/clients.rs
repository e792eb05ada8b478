//! Clients that do not recover from a fault by themselves.

use std::time::Duration;

use airlock_client::{
    Client, Credentials, Patience, Settings,
    v1::{self, execution_service_client::ExecutionServiceClient},
};
use tonic::{
    Request, Streaming,
    transport::{Certificate, ClientTlsConfig, Endpoint},
};

use crate::chaos::scene::Scene;

/// Returns a client that does not retry.
pub(super) fn impatient(scene: &Scene) -> Client {
    let patience = Patience { call: Duration::ZERO, view: Duration::ZERO, ..Patience::default() };
    Client::connect_lazy(Settings { patience, ..scene.site.settings() }).unwrap()
}

/// Opens a view that is not reopened automatically.
pub(super) async fn view(scene: &Scene, id: &str) -> Streaming<v1::ExecutionServiceAttachResponse> {
    let settings = scene.site.settings();
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(settings.ca.unwrap_or_default()));
    let endpoint = Endpoint::from_shared(settings.address).unwrap().tls_config(tls).unwrap();
    let Credentials::Token(token) = settings.credentials else { panic!("the agent has a token") };
    let request = v1::ExecutionServiceAttachRequest { execution_id: id.to_owned(), from: None };
    let mut request = Request::new(request);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    let mut client = ExecutionServiceClient::new(endpoint.connect().await.unwrap());
    client.attach(request).await.unwrap().into_inner()
}
