//! The door that every call passes: a span with the caller's trace, who calls, whether they may, and
//! the count of how it ended. Handlers behind it cannot be reached without a caller.

mod answer;
mod request;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use http::{HeaderMap, Request, Response};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};
use tracing::{Instrument as _, Span, field::Empty};

use answer::{Answer, Ending};

pub(super) use request::RequestFault;

use crate::{
    api::ApiError,
    authn::{
        Authenticator, Caller, Peer,
        roles::{self, Access},
    },
    status::{self, AuthenticationError},
    telemetry::{self, Metrics},
};

/// Where tokens are.
const AUTHORIZATION: &str = "authorization";
/// Calls of which it matters whether their client ended its stream or was cut off.
const STREAMED: [&str; 2] = ["/airlock.v1.FileService/Upload", "/airlock.v1.ExecutionService/WriteStdin"];
/// What calls that are in no table are counted as.
const UNKNOWN_METHOD: &str = "/_OTHER";

/// What the door goes by. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) metrics: Metrics,
    /// No new calls but those that are open to anyone.
    pub(crate) closed: CancellationToken,
    /// What is not answered by now is answered that the server stops.
    pub(crate) draining: CancellationToken,
}

/// A service behind a door.
#[derive(Clone)]
pub(crate) struct Guarded<S> {
    door: Door,
    inner: S,
}

impl<S> Layer<S> for Door {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { door: self.clone(), inner }
    }
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The one that is ready is the one that is called; the clone waits for its own turn.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let door = self.door.clone();
        let began = Instant::now();
        let (method, access) = match roles::method(request.uri().path()) {
            Some((method, access)) => (method, Some(access)),
            None => (UNKNOWN_METHOD, None),
        };
        let span = rpc_span(method, request.headers());
        let ending = Ending::new(method, began, door.metrics.clone(), span.clone());
        let draining = door.draining.clone();
        if STREAMED.contains(&method) {
            request = request::watch(request);
        }
        let handled = async move {
            match door.admit(&mut request, access) {
                Ok(()) => inner.call(request).await.map(with_details),
                Err(status) => Ok(status.into_http()),
            }
        };
        Box::pin(async move {
            let response = tokio::select! {
                biased;
                response = handled.instrument(span) => response?,
                () = draining.cancelled() => status::from_api(&ApiError::shutting_down()).into_http(),
            };
            Ok(Answer::wrap(response, ending, draining))
        })
    }
}

impl Door {
    /// Lets a call pass, with its caller, or says why not.
    fn admit(&self, request: &mut Request<Body>, access: Option<Access>) -> Result<(), Status> {
        let access = access.ok_or_else(|| status::adopt(Code::Unimplemented, ""))?;
        if access == Access::Anyone {
            return Ok(());
        }
        let caller = self.authenticate(request).map_err(|error| {
            self.metrics.authentication_failed(error.reason());
            status::unauthenticated(error)
        })?;
        Span::current().record("airlock.principal", caller.principal.name.as_str());
        Span::current().record("airlock.tenant", caller.principal.tenant.as_str());
        roles::authorize(&caller.principal, access).map_err(|error| status::from_api(&error))?;
        if self.closed.is_cancelled() {
            return Err(status::from_api(&ApiError::shutting_down()));
        }
        request.extensions_mut().insert(caller);
        Ok(())
    }

    fn authenticate(&self, request: &Request<Body>) -> Result<Caller, AuthenticationError> {
        let span = tracing::info_span!("authenticate").entered();
        let peer = request.extensions().get::<Peer>().ok_or(AuthenticationError::Missing)?;
        let authorization = request.headers().get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
        self.authenticator.authenticate(peer, authorization).inspect_err(|error| {
            telemetry::fail(&span, error.reason());
            tracing::info!(peer = %peer.address, reason = error.reason(), "authentication failed");
        })
    }
}

fn rpc_span(method: &'static str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        "rpc",
        otel.name = method.trim_start_matches('/'),
        otel.kind = "server",
        rpc.system.name = "grpc",
        rpc.method = method.trim_start_matches('/'),
        rpc.response.status_code = Empty,
        airlock.principal = Empty,
        airlock.tenant = Empty,
    );
    telemetry::adopt_headers(&span, headers);
    span
}

/// A refusal that tonic made by itself gets its details too.
fn with_details(response: Response<Body>) -> Response<Body> {
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() != Code::Ok && status.details().is_empty() => {
            status::adopt(status.code(), status.message()).into_http()
        }
        _ => response,
    }
}
