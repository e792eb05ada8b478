//! The services of a sandbox: processes, files and their HTTP endpoints. Every call needs the access token of its sandbox;
//! a signed URL needs a signature that was made with it.

mod changes;
mod download;
mod files;
mod filesystem;
mod follow;
mod input;
mod outcome;
mod port;
mod process;
mod spec;
mod upload;
mod watch;

use std::{future::Future, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    body::{Body, RequestBody, empty, json, refused},
    connect::{self, Sink},
    entries,
    front::{Front, Target},
    refusal::{Kind, Refusal},
    sandbox::Sandbox,
};

pub(crate) use port::port;

/// The time between two messages of a stream without news, unless the caller names another one.
const KEEPALIVE: Duration = Duration::from_secs(50);
/// The least time between two such messages.
const KEEPALIVE_MIN: Duration = Duration::from_secs(1);

/// A call of a running sandbox.
#[derive(Clone)]
struct Call {
    front: Arc<Front>,
    sandbox: Arc<Sandbox>,
    headers: HeaderMap,
}

impl Call {
    /// Returns the sandbox that a request names, if it has the sandbox's access token.
    fn of(front: &Arc<Front>, headers: &HeaderMap, named: Option<&Target>) -> Result<Self, Refusal> {
        let named = named.ok_or_else(|| Refusal::invalid("the header `e2b-sandbox-id` is missing"))?;
        let sandbox = front.registry.by_id(&named.sandbox).ok_or_else(Refusal::gone)?;
        if !headers.get("x-access-token").is_some_and(|token| sandbox.token.matches(token.as_bytes())) {
            return Err(Refusal::new(
                Kind::Unauthenticated,
                "the header `x-access-token` must be the access token of the sandbox",
            ));
        }
        Ok(Self { front: Arc::clone(front), sandbox: sandbox.running()?, headers: headers.clone() })
    }

    /// Checks the user that the caller names, as the name of basic authentication.
    fn user(&self) -> Result<(), Refusal> {
        let Some(given) = self.headers.get(header::AUTHORIZATION) else { return Ok(()) };
        let wrong = || Refusal::invalid("the header `authorization` must be `Basic` with a user");
        let encoded = given.to_str().ok().and_then(|text| text.strip_prefix("Basic ")).ok_or_else(wrong)?;
        let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.ok_or_else(wrong)?;
        entries::user(decoded.split(':').next().unwrap_or_default())
    }

    /// Returns the time between two messages of a stream without news.
    fn keepalive(&self) -> Duration {
        let given = self.headers.get("keepalive-ping-interval").and_then(|value| value.to_str().ok());
        let seconds = given.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        seconds.map_or(KEEPALIVE, |time| time.clamp(KEEPALIVE_MIN, KEEPALIVE))
    }

    /// Returns the longest time of a stream.
    fn limit(&self) -> Result<Duration, Refusal> {
        let most = self.front.registry.limits().stream;
        Ok(connect::deadline(&self.headers)?.map_or(most, |time| time.min(most)))
    }

    /// Returns the result of a call, and forgets a sandbox whose session has ended.
    async fn watched<T>(&self, answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
        answer.await.map_err(|refusal| self.noticed(refusal))
    }

    /// Forgets a sandbox whose session has ended, and returns the refusal.
    fn noticed(&self, refusal: Refusal) -> Refusal {
        if refusal.is_gone() && !self.sandbox.life.borrow().is_paused {
            let (registry, sandbox) = (Arc::clone(&self.front.registry), Arc::clone(&self.sandbox));
            self.front.registry.tasks().spawn(async move { registry.end(&sandbox).await });
        }
        refusal
    }
}

/// A stream to the caller.
struct Stream {
    call: Call,
    sink: Sink,
    limit: Duration,
    _permit: OwnedSemaphorePermit,
}

/// Opens a stream.
fn open(call: &Call) -> Result<(Stream, Response<Body>), Refusal> {
    call.user()?;
    let (limit, permit) = (call.limit()?, call.sandbox.stream()?);
    let (sink, response) = connect::stream();
    Ok((Stream { call: call.clone(), sink, limit, _permit: permit }, response))
}

/// Answers a call of a service.
pub(crate) async fn call(
    front: &Arc<Front>,
    request: Request<RequestBody>,
    named: Option<Target>,
    (service, method): (&str, &str),
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let id = named.as_ref().map(|target| target.sandbox.clone()).unwrap_or_default();
    if parts.method != Method::POST {
        return refused(&Refusal::new(Kind::Unsupported, "a call of a service is a POST"));
    }
    match Call::of(front, &parts.headers, named.as_ref()) {
        Ok(call) if service == "process.Process" => process::answer(&call, method, body).await,
        Ok(call) => filesystem::answer(&call, method, body).await,
        Err(refusal) => without(&refusal, &id),
    }
}

/// Returns the response for a sandbox that cannot be called, as E2B's proxy sends it.
fn without(refusal: &Refusal, id: &str) -> Response<Body> {
    match refusal.kind {
        Kind::Gone => {
            let status = refusal.kind.status();
            let value = serde_json::json!({
                "sandboxId": id, "message": refusal.message, "code": status.as_u16(),
            });
            json(status, &value)
        }
        _ => connect::refused(refusal),
    }
}

/// Answers a call of an HTTP endpoint.
pub(crate) async fn plain(
    front: &Arc<Front>,
    request: Request<RequestBody>,
    named: Option<Target>,
    path: &str,
) -> Response<Body> {
    let id = named.as_ref().map(|target| target.sandbox.clone()).unwrap_or_default();
    if path == "files" {
        return files::answer(front, request, named.as_ref())
            .await
            .unwrap_or_else(|refusal| plainly(&refusal, &id));
    }
    let call = match Call::of(front, request.headers(), named.as_ref()) {
        Ok(call) => call,
        Err(refusal) => return plainly(&refusal, &id),
    };
    match (request.method().as_str(), path) {
        ("GET", "health") => empty(StatusCode::NO_CONTENT),
        ("GET", "envs") => json(StatusCode::OK, &call.sandbox.envs),
        _ => refused(&Refusal::unsupported("this call of a sandbox's services")),
    }
}

fn plainly(refusal: &Refusal, id: &str) -> Response<Body> {
    if refusal.is_gone() { without(refusal, id) } else { refused(refusal) }
}
