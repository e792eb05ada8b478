//! The first part of a path, or the host, decides what answers a request.

use std::sync::Arc;

use http::{Request, Response};

use super::{
    api,
    body::{Body, RequestBody, refused},
    envd,
    front::{ENVD_PORT, Front, Target, target},
};

/// The calls of a sandbox's services for processes and files.
const SERVICES: [&str; 2] = ["process.Process", "filesystem.Filesystem"];
/// The other paths of a sandbox's services.
const PATHS: [&str; 5] = ["files", "health", "init", "envs", "metrics"];

/// Answers a request.
pub(crate) async fn answer(front: Arc<Front>, request: Request<RequestBody>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let mut parts = path.split('/').skip(1);
    let first = parts.next().unwrap_or_default();
    let named = target(request.headers(), request.uri().authority());
    match (first, named) {
        (_, Some(Target { port, sandbox })) if port != ENVD_PORT => {
            envd::port(&front, request, sandbox, port).await
        }
        (service, named) if SERVICES.contains(&service) => {
            let method = parts.next().unwrap_or_default().to_owned();
            let service = service.to_owned();
            envd::call(&front, request, named, (&service, &method)).await
        }
        (first, named) if PATHS.contains(&first) => {
            let first = first.to_owned();
            envd::plain(&front, request, named, &first).await
        }
        _ => match front.account(request.headers()) {
            Ok(account) => api::answer(front, account, request).await,
            Err(refusal) => refused(&refusal),
        },
    }
}

#[cfg(test)]
mod tests;
