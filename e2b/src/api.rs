//! E2B's REST API for sandboxes. An account sees its own sandboxes only.

mod call;
mod create;
mod facts;
mod list;
mod network;
mod shown;
mod state;

use std::{future::Future, sync::Arc};

use http::{Method, Request, Response, StatusCode};

use call::{Answer, Call};

use super::{
    account::Account,
    body::{Body, RequestBody, empty, refused},
    front::Front,
    refusal::{Kind, Refusal},
};

/// The time of a request.
const REQUEST: std::time::Duration = std::time::Duration::from_secs(120);
/// The resources of E2B that Airlock has no counterpart for.
const FOREIGN: [(&str, &str); 7] = [
    ("templates", "templates: name the base of a workspace in [templates] of the configuration"),
    ("v2", "this resource"),
    ("v3", "templates: name the base of a workspace in [templates] of the configuration"),
    ("volumes", "volumes"),
    ("volumecontent", "volumes"),
    ("secrets", "secrets of E2B: the runner's proxy inserts secrets into requests"),
    ("teams", "teams"),
];

/// Answers a request of an account.
pub(crate) async fn answer(
    front: Arc<Front>,
    account: Arc<Account>,
    request: Request<RequestBody>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let idempotency =
        parts.headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let path = parts.uri.path().to_owned();
    let is_second = path.starts_with("/v2/");
    let call = Call { front, account, query, idempotency, is_second, body };
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let answer = timed(Box::pin(route(call, &parts.method, &segments))).await;
    answer.unwrap_or_else(|refusal| refused(&refusal))
}

async fn timed(answer: impl Future<Output = Answer>) -> Answer {
    tokio::time::timeout(REQUEST, answer)
        .await
        .unwrap_or_else(|_| Err(Refusal::new(Kind::Late, "the request did not end in time")))
}

async fn route(call: Call, method: &Method, path: &[&str]) -> Answer {
    let path = match path {
        // The second version of the list has pages. The other calls of both versions are alike.
        ["v2", rest @ ..] if rest.first() == Some(&"sandboxes") => rest,
        path => path,
    };
    match (method.as_str(), path) {
        ("GET", ["health"]) => Ok(empty(StatusCode::OK)),
        ("POST", ["sandboxes"]) => create::create(call).await,
        ("GET", ["sandboxes"]) => list::list(&call),
        ("GET", ["sandboxes", "metrics"]) => facts::all_metrics(&call).await,
        ("GET", ["sandboxes", id]) => shown::detail(&call, id),
        ("DELETE", ["sandboxes", id]) => state::kill(&call, id).await,
        ("POST", ["sandboxes", id, "timeout"]) => state::set_timeout(call, id).await,
        ("POST", ["sandboxes", id, "refreshes"]) => state::refresh(call, id).await,
        ("POST", ["sandboxes", id, "connect"]) => state::connect(call, id, StatusCode::OK).await,
        ("POST", ["sandboxes", id, "resume"]) => state::connect(call, id, StatusCode::CREATED).await,
        ("POST", ["sandboxes", id, "pause"]) => state::pause(call, id).await,
        ("PUT", ["sandboxes", id, "network"]) => network::update(call, id).await,
        ("GET", ["sandboxes", id, "metrics"]) => facts::metrics(&call, id).await,
        ("GET", ["sandboxes", id, "logs"]) => facts::logs(&call, id).await,
        ("POST", ["sandboxes", id, "fork"]) => {
            call.sandbox(id)?;
            Err(Refusal::unsupported(
                "a fork, which needs a snapshot of the memory; create a sandbox instead",
            ))
        }
        ("POST", ["sandboxes", id, "snapshots"]) => {
            call.sandbox(id)?;
            Err(Refusal::unsupported(
                "snapshots; pause with the mode `filesystem` keeps the files of one sandbox",
            ))
        }
        // There are none.
        ("GET", ["snapshots"]) => Ok(super::body::json(StatusCode::OK, &[(); 0])),
        ("DELETE", ["templates", id]) => {
            Err(Refusal::new(Kind::NotFound, format!("there is no snapshot or template `{id}`")))
        }
        _ => Err(unknown(method, path)),
    }
}

fn unknown(method: &Method, path: &[&str]) -> Refusal {
    let foreign = FOREIGN.iter().find(|(name, _)| path.first() == Some(name));
    match foreign {
        Some((_, what)) => Refusal::unsupported(what),
        None => Refusal::new(Kind::NotFound, format!("there is no call {method} /{}", path.join("/"))),
    }
}
