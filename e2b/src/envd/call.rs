//! A call of a running sandbox, and a stream to its caller.

use std::{future::Future, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Response, header};
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    body::Body,
    connect::{self, Sink},
    entries,
    front::{Front, Target},
    refusal::{Kind, Refusal},
    sandbox::Sandbox,
};

/// The time between two messages of a stream without news, unless the caller names another one.
const KEEPALIVE: Duration = Duration::from_secs(50);
/// The least time between two such messages.
const KEEPALIVE_MIN: Duration = Duration::from_secs(1);

/// A call of a running sandbox.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) front: Arc<Front>,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) headers: HeaderMap,
}

impl Call {
    /// Returns the sandbox that a request names, if it has the sandbox's access token.
    pub(super) fn of(
        front: &Arc<Front>,
        headers: &HeaderMap,
        named: Option<&Target>,
    ) -> Result<Self, Refusal> {
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
    pub(super) fn user(&self) -> Result<(), Refusal> {
        let Some(given) = self.headers.get(header::AUTHORIZATION) else { return Ok(()) };
        let wrong = || Refusal::invalid("the header `authorization` must be `Basic` with a user");
        let encoded = given.to_str().ok().and_then(|text| text.strip_prefix("Basic ")).ok_or_else(wrong)?;
        let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.ok_or_else(wrong)?;
        entries::user(decoded.split(':').next().unwrap_or_default())
    }

    /// Returns the time between two messages of a stream without news.
    pub(super) fn keepalive(&self) -> Duration {
        let given = self.headers.get("keepalive-ping-interval").and_then(|value| value.to_str().ok());
        let seconds = given.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        seconds.map_or(KEEPALIVE, |time| time.clamp(KEEPALIVE_MIN, KEEPALIVE))
    }

    /// Returns the longest time of a stream.
    pub(super) fn limit(&self) -> Result<Duration, Refusal> {
        let most = self.front.registry.limits().stream;
        Ok(connect::deadline(&self.headers)?.map_or(most, |time| time.min(most)))
    }

    /// Returns the result of a call, and forgets a sandbox whose session has ended.
    pub(super) async fn watched<T>(
        &self,
        answer: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        answer.await.map_err(|refusal| self.noticed(refusal))
    }

    /// Forgets a sandbox whose session has ended, and returns the refusal.
    pub(super) fn noticed(&self, refusal: Refusal) -> Refusal {
        if refusal.is_gone() && !self.sandbox.life.borrow().is_paused {
            let (registry, sandbox) = (Arc::clone(&self.front.registry), Arc::clone(&self.sandbox));
            self.front.registry.tasks().spawn(async move { registry.end(&sandbox).await });
        }
        refusal
    }
}

/// A stream to the caller.
pub(super) struct Stream {
    pub(super) call: Call,
    pub(super) sink: Sink,
    pub(super) limit: Duration,
    _permit: OwnedSemaphorePermit,
}

/// Opens a stream.
pub(super) fn open(call: &Call) -> Result<(Stream, Response<Body>), Refusal> {
    call.user()?;
    let (limit, permit) = (call.limit()?, call.sandbox.stream()?);
    let (sink, response) = connect::stream();
    Ok((Stream { call: call.clone(), sink, limit, _permit: permit }, response))
}
