//! The endpoint `/files`: who may read or write which file. The transfer itself is in `download` and `upload`.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, Method, Request, Response};

use super::{call::Call, download, query::Query, upload};
use crate::{
    body::{Body, RequestBody},
    entries,
    front::{Front, Target},
    refusal::{Kind, Refusal},
    token::{Operation, Signed},
};

/// Answers a request for a file.
pub(super) async fn answer(
    front: &Arc<Front>,
    request: Request<RequestBody>,
    named: Option<&Target>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let operation = match parts.method {
        Method::GET => Operation::Read,
        Method::POST => Operation::Write,
        _ => return Err(Refusal::new(Kind::Unsupported, "a file is read with GET and written with POST")),
    };
    let query = Query::of(parts.uri.query().unwrap_or_default());
    let call = match (&query.signature, parts.headers.contains_key("x-access-token")) {
        (Some(signature), false) => signed(front, &parts.headers, named, &query, signature, operation)?,
        _ => Call::of(front, &parts.headers, named)?,
    };
    entries::user(&query.username)?;
    let transfers = Arc::clone(&front.transfers);
    let Ok(permit) = transfers.try_acquire_owned() else {
        return Err(Refusal::new(Kind::Unavailable, "too many files are transferred; try again in a moment"));
    };
    let answer = match operation {
        Operation::Read => download::answer(&call, &query, permit).await,
        Operation::Write => upload::answer(&call, &query, body).await,
    };
    answer.map_err(|refusal| call.noticed(refusal))
}

/// Returns the sandbox whose access token signed the request. An invalid signature tells nothing about sandboxes.
fn signed(
    front: &Arc<Front>,
    headers: &HeaderMap,
    named: Option<&Target>,
    query: &Query,
    signature: &str,
    operation: Operation,
) -> Result<Call, Refusal> {
    let no = |what: &str| Refusal::new(Kind::Unauthenticated, what);
    let path = query.path.as_deref().filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| Refusal::invalid("a signed request names a path"))?;
    let expiration = match &query.expiration {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| no("the expiration of the signature is not a number"))?),
    };
    let signed = Signed { path, operation, user: &query.username, signature, expiration };
    let found = front.registry.by_signature(&signed).filter(|sandbox| {
        // A host that names a sandbox must name this one.
        named.is_none_or(|named| named.sandbox == sandbox.id)
    });
    let sandbox = found.ok_or_else(|| no("the signature is invalid"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if expiration.is_some_and(|expiration| expiration <= now) {
        return Err(no("the signature has expired"));
    }
    Ok(Call { front: Arc::clone(front), sandbox: sandbox.running()?, headers: headers.clone() })
}
