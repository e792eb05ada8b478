//! The services of a sandbox: processes, files and their HTTP endpoints. Every call needs the access token of its sandbox;
//! a signed URL needs a signature that was made with it.

mod call;
mod changes;
mod download;
mod files;
mod filesystem;
mod follow;
mod input;
mod outcome;
mod port;
mod process;
mod query;
mod spec;
mod upload;
mod watch;

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};

use call::Call;

use super::{
    body::{Body, RequestBody, empty, json, refused},
    connect,
    front::{Front, Target},
    refusal::{Kind, Refusal},
};

pub(crate) use port::port;

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
