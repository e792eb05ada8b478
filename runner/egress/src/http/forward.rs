//! Plain HTTP requests: the request that the target gets, and its answer.
//!
//! hyper parses both and writes them anew, so the target sees one request with one length. Headers of a single hop are
//! removed, and so are protocol upgrades: a client that needs one asks for a tunnel. hyper answers `Expect:
//! 100-continue` when the target begins to read. The proxy adds no header that names itself.

use std::{pin::Pin, sync::Arc};

use airlock_network::Target;
use futures::future::{Either, select};
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::Incoming,
    client::conn::http1,
    header::{self, CONNECTION, HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;

use super::{
    answer,
    body::{Answer, Body, Connection, Forwarded},
    head,
    metered::Metered,
};
use crate::{client::Client, connection::Protocol, open::Failure, report::amend};

/// Headers that concern one hop, beside those that `Connection` names.
const ONE_HOP: [HeaderName; 9] = [
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

/// Forwards a request to its target, and returns the target's answer or the proxy's.
pub(crate) async fn forward(client: &Arc<Client>, target: Target, request: Request<Incoming>) -> Answer {
    let Ok(request) = rewritten(&target, request) else {
        return answer::bad_request("the URL is not valid");
    };
    let opened = match client.execution.open(target, Protocol::Http).await {
        Ok(opened) => opened,
        Err(problem) => return answer::not_opened(&problem),
    };
    client.set_forwarding(Some(opened.watch.clone()));
    let report = opened.report;
    let stream = Metered { stream: opened.stream, meter: opened.meter };
    match exchange(stream, request).await {
        Ok((mut answer, connection)) => {
            remove_one_hop(answer.headers_mut());
            answer.map(|body| {
                let forwarded = Forwarded::new(body, connection, Arc::clone(client), report);
                Body::Forwarded(Box::new(forwarded))
            })
        }
        Err(failure) => {
            client.set_forwarding(None);
            amend(&report, |report| report.failed(&failure.to_string()));
            answer::failed(failure)
        }
    }
}

/// Sends a request, and waits for the head of its answer.
async fn exchange(
    stream: Metered,
    request: Request<Incoming>,
) -> Result<(Response<Incoming>, Option<Pin<Box<Connection>>>), Failure> {
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(head::MAX_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Failure::Answer)?;
    let answer = Box::pin(sender.send_request(request));
    let (answer, connection) = match select(answer, Box::pin(connection)).await {
        Either::Left((answer, connection)) => (answer, Some(connection)),
        Either::Right((_, answer)) => (answer.await, None),
    };
    let answer = answer.map_err(|_| Failure::Answer)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::Answer);
    }
    Ok((answer, connection))
}

/// Creates the request that the target gets: the path instead of the URL, and one Host header.
fn rewritten(target: &Target, mut request: Request<Incoming>) -> Result<Request<Incoming>, InvalidUrl> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let path = Uri::try_from(path).map_err(|_| InvalidUrl)?;
    let host = match target.port {
        80 => target.host.to_string(),
        _ => target.to_string(),
    };
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
