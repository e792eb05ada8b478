//! Plain HTTP requests, and those inside inspected TLS: the request that the target gets, and its answer.
//!
//! hyper parses both and writes them anew, so the target sees one request with one length. Headers of a single hop are
//! removed, and so are protocol upgrades: a client that needs one asks for a tunnel. hyper answers `Expect:
//! 100-continue` when the target begins to read. The proxy adds no header that names itself.

use std::{pin::Pin, sync::Arc, time::Duration};

use airlock_network::{Host, Target};
use futures::future::{Either as Selected, select};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    client::conn::http1,
    header::{self, CONNECTION, HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::time;
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_util::either::Either;

use super::{
    answer,
    body::{Answer, Body, Connection, Forwarded, Stream, Upload},
    head,
    metered::Metered,
};
use crate::{
    client::Client,
    connection::Protocol,
    inspection::{Encoded, Inspection},
    open::{Failure, Opened},
    report::{Report, amend},
};

/// The longest body that the proxy signs without a header that contains its hash.
const MAX_SIGNED_BODY: usize = 1024 * 1024;
/// The answer to a longer one.
const TOO_LONG: &str =
    "the body to sign is longer than 1 MiB; send its hash in the header `x-amz-content-sha256`";

/// Headers that concern one hop, beside those that `Connection` names.
pub const ONE_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// How a request reaches its target.
pub(crate) struct Way {
    pub(crate) target: Target,
    /// Whether the request came inside TLS, and is sent over TLS.
    pub(crate) is_tls: bool,
    /// A connection that is open already.
    pub(crate) opened: Option<Opened>,
}

/// Forwards a request to its target, and returns the target's answer or the proxy's.
pub(crate) async fn forward(client: &Arc<Client>, way: Way, request: Request<Incoming>) -> Answer {
    let Way { target, is_tls, opened } = way;
    let inspection = client.execution.access.inspection.as_deref();
    if let Some(remedy) = inspection.and_then(|inspection| inspection.refusal(&target, &request)) {
        return not_permitted(client, &target, remedy, opened);
    }
    let Ok(request) = rewritten(&target, is_tls, request) else {
        return answer::bad_request("the URL is not valid");
    };
    let request = match inspection {
        Some(inspection) => inserted(inspection, &target, is_tls, request).await,
        None => Ok(request.map(Upload::Left)),
    };
    let request = match request {
        Ok(request) => request,
        Err(BodyTooLong) => return answer::bad_request(TOO_LONG),
    };
    let opened = match opened {
        Some(opened) => Ok(opened),
        // hyper ends the request when the client has closed.
        None => client.execution.open(target, Protocol::Http, std::future::pending()).await,
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(problem) => return answer::not_opened(&problem),
    };
    client.set_forwarding(Some(opened.watch.clone()));
    let report = Arc::clone(&opened.report);
    match answered(client, opened, is_tls, request).await {
        Ok(answer) => answer,
        Err(failure) => {
            client.set_forwarding(None);
            amend(&report, |report| report.failed(&failure.to_string()));
            answer::failed(failure)
        }
    }
}

/// The body of a request cannot be signed.
struct BodyTooLong;

/// Inserts the secrets that a request may carry.
async fn inserted(
    inspection: &Inspection,
    target: &Target,
    is_tls: bool,
    mut request: Request<Incoming>,
) -> Result<Request<Upload>, BodyTooLong> {
    inspection.prepare(request.headers_mut());
    if !is_tls {
        return Ok(request.map(Upload::Left));
    }
    if !inspection.needs_body(target, &request) {
        inspection.insert(target, &mut request, None);
        return Ok(request.map(Upload::Left));
    }
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, MAX_SIGNED_BODY).collect().await.map_err(|_| BodyTooLong)?.to_bytes();
    let mut request = Request::from_parts(parts, Upload::Right(Full::new(body.clone())));
    inspection.insert(target, &mut request, Some(&body));
    Ok(request)
}

/// Reports a request that the rules of its target do not permit, and answers it.
fn not_permitted(client: &Client, target: &Target, remedy: &str, opened: Option<Opened>) -> Answer {
    match opened {
        Some(opened) => amend(&opened.report, |report| report.refused_contents(remedy)),
        None => {
            let events = client.execution.access.events.clone();
            Report::new(target, Protocol::Http, events, None).refused_contents(remedy);
        }
    }
    answer::not_permitted(target, remedy)
}

/// Sends a request over an open connection, and returns the target's answer without secrets.
async fn answered(
    client: &Arc<Client>,
    opened: Opened,
    is_tls: bool,
    request: Request<Upload>,
) -> Result<Answer, Failure> {
    let is_head = request.method() == Method::HEAD;
    let inspection = client.execution.access.inspection.as_deref();
    let Opened { stream, target, meter, report, .. } = opened;
    let plain = Metered { stream, meter };
    let stream = match inspection.filter(|_| is_tls) {
        Some(inspection) => {
            Either::Right(tls(plain, &target, inspection, client.execution.limits().connect).await?)
        }
        None => Either::Left(plain),
    };
    let (mut answer, connection) = exchange(stream, request).await?;
    let redactor = match inspection {
        Some(inspection) => inspection.clean(&mut answer).map_err(|Encoded| Failure::Encoded)?,
        None => None,
    };
    remove_one_hop(answer.headers_mut());
    if redactor.is_some() && !is_head {
        // A placeholder has another length than its secret.
        answer.headers_mut().remove(header::CONTENT_LENGTH);
    }
    Ok(answer.map(|body| {
        Body::Right(Box::new(Forwarded::new(body, connection, Arc::clone(client), report, redactor)))
    }))
}

/// Begins TLS with a target, and verifies its certificate.
async fn tls(
    stream: Metered,
    target: &Target,
    inspection: &Inspection,
    limit: Duration,
) -> Result<TlsStream<Metered>, Failure> {
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.to_string()).map_err(|_| Failure::Tls)?,
        Host::Address(address) => ServerName::from(*address),
    };
    let connected = TlsConnector::from(inspection.client()).connect(name, stream);
    time::timeout(limit, connected).await.map_err(|_| Failure::ConnectTimeout)?.map_err(|_| Failure::Tls)
}

/// Sends a request, and waits for the head of its answer.
async fn exchange(
    stream: Stream,
    request: Request<Upload>,
) -> Result<(Response<Incoming>, Option<Pin<Box<Connection>>>), Failure> {
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(head::MAX_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Failure::Answer)?;
    let answer = Box::pin(sender.send_request(request));
    let (answer, connection) = match select(answer, Box::pin(connection)).await {
        Selected::Left((answer, connection)) => (answer, Some(connection)),
        Selected::Right((_, answer)) => (answer.await, None),
    };
    let answer = answer.map_err(|_| Failure::Answer)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::Answer);
    }
    Ok((answer, connection))
}

/// Creates the request that the target gets: the path instead of the URL, and one Host header.
fn rewritten(
    target: &Target,
    is_tls: bool,
    mut request: Request<Incoming>,
) -> Result<Request<Incoming>, InvalidUrl> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let path = Uri::try_from(path).map_err(|_| InvalidUrl)?;
    let default_port = if is_tls { 443 } else { 80 };
    let host = if target.port == default_port { target.host.to_string() } else { target.to_string() };
    let host = HeaderValue::try_from(host).map_err(|_| InvalidUrl)?;
    *request.uri_mut() = path;
    *request.version_mut() = hyper::Version::HTTP_11;
    let headers = request.headers_mut();
    remove_one_hop(headers);
    headers.remove(header::EXPECT);
    headers.insert(HOST, host);
    Ok(request)
}

/// A URL that has no path to forward.
struct InvalidUrl;

fn remove_one_hop(headers: &mut HeaderMap) {
    // The other length of an answer in chunks. Requests with both do not pass the gate.
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    for name in named.iter().chain(&ONE_HOP) {
        headers.remove(name);
    }
}
