//! HTTP to a server in a sandbox. The profile and the runner must permit the port, and the caller must have the token of the
//! sandbox for its ports.

use std::{sync::Arc, time::Duration};

use airlock_client::Forward;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use crate::{
    body::{Body, RequestBody, refused},
    front::Front,
    refusal::{Kind, Refusal},
};

/// The header with the token.
const TOKEN: &str = "e2b-traffic-access-token";
/// The bytes between the two sides.
const BUFFER: usize = 64 * 1024;
/// The time to the first byte of a response.
const ANSWER: Duration = Duration::from_secs(120);

/// Passes a request to the port of a sandbox.
pub(crate) async fn port(
    front: &Arc<Front>,
    request: Request<RequestBody>,
    sandbox: String,
    port: u16,
) -> Response<Body> {
    match Box::pin(passed(front, request, &sandbox, port)).await {
        Ok(response) => response,
        Err(refusal) => refused(&refusal),
    }
}

async fn passed(
    front: &Arc<Front>,
    mut request: Request<RequestBody>,
    sandbox: &str,
    port: u16,
) -> Result<Response<Body>, Refusal> {
    let sandbox = front.registry.by_id(sandbox).ok_or_else(Refusal::gone)?;
    let token = request.headers_mut().remove(TOKEN);
    if !token.is_some_and(|token| sandbox.traffic_token.matches(token.as_bytes())) {
        return Err(Refusal::new(
            Kind::Unauthenticated,
            format!("the header `{TOKEN}` must be the traffic access token of the sandbox"),
        ));
    }
    let sandbox = sandbox.running()?;
    let forward = Forward::open(sandbox.client(), &sandbox.session, port).await?;
    let (near, mut far) = tokio::io::duplex(BUFFER);
    let ended = sandbox.ended.clone();
    front.registry.tasks().spawn(async move {
        let _ = ended.run_until_cancelled(forward.relay(&mut far)).await;
    });
    let broken =
        |_: hyper::Error| Refusal::new(Kind::Unavailable, "the server in the sandbox did not answer");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(near)).await.map_err(broken)?;
    let ended = sandbox.ended.clone();
    front.registry.tasks().spawn(async move {
        let _ = ended.run_until_cancelled(connection).await;
    });
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let host = request.uri().authority().map(|host| host.as_str().to_owned());
    *request.uri_mut() = path.parse().map_err(|_| Refusal::invalid("the path is invalid"))?;
    if let Some(host) = host.and_then(|host| HeaderValue::try_from(host).ok()) {
        request.headers_mut().insert(header::HOST, host);
    }
    *request.version_mut() = http::Version::HTTP_11;
    // A protocol that replaces HTTP would need a connection of its own.
    request.headers_mut().remove(header::UPGRADE);
    request.headers_mut().remove(header::CONNECTION);
    let response = timeout(ANSWER, sender.send_request(request))
        .await
        .map_err(|_| Refusal::new(Kind::Late, "the server in the sandbox did not answer in time"))?
        .map_err(broken)?;
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONNECTION);
    parts.headers.remove(header::TRANSFER_ENCODING);
    Ok(Response::from_parts(parts, body.map_err(std::io::Error::other).boxed_unsync()))
}
