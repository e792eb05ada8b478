//! The interceptor of every call. It creates a span with the caller's trace context, authenticates and
//! authorizes the caller, and counts the outcome. A handler cannot be reached without a caller.

mod answer;
pub(crate) mod calls;
mod request;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use airlock_control::api::ApiError;
use airlock_limits::shares::Share;
use http::{HeaderMap, Request, Response};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};
use tracing::{Instrument as _, Span, field::Empty};

use answer::{Answer, Ending};
use calls::Calls;

pub(super) use request::RequestFault;

use crate::{
    authn::{
        Authenticator, Caller,
        roles::{self, Access},
    },
    status::{self, AuthenticationError},
    telemetry::{self, Metrics},
    tls::ConnectionInfo,
};

/// The header that contains the token.
const AUTHORIZATION: &str = "authorization";
/// Client-streaming calls for which a handler must distinguish the end of the stream from a cut connection.
const STREAMED: [&str; 3] = [
    "/airlock.v1.FileService/Upload",
    "/airlock.v1.ExecutionService/WriteStdin",
    "/airlock.v1.SessionService/Forward",
];
/// The message for a call that exceeded `limits.call_timeout`.
const TOO_LONG: &str = "the call took longer than `limits.call_timeout`; it may have succeeded";
/// The name under which unknown methods are counted.
const UNKNOWN_METHOD: &str = "/_OTHER";

/// The state of the interceptor. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Interceptor {
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) metrics: Metrics,
    /// The tenants' shares of concurrent calls.
    pub(crate) calls: Calls,
    /// Refuses new calls, except those that are open to anyone.
    pub(crate) closed: CancellationToken,
    /// Calls that are unanswered when this is cancelled end with `SHUTTING_DOWN`.
    pub(crate) draining: CancellationToken,
}

/// A service with the interceptor in front of it.
#[derive(Clone)]
pub(crate) struct Guarded<S> {
    interceptor: Interceptor,
    inner: S,
}

impl<S> Layer<S> for Interceptor {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { interceptor: self.clone(), inner }
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
        // `poll_ready` was called on this instance, so it handles the call. The clone is polled for the next
        // one.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let interceptor = self.interceptor.clone();
        let began = Instant::now();
        let (method, access) = match roles::method(request.uri().path()) {
            Some((method, access)) => (method, Some(access)),
            None => (UNKNOWN_METHOD, None),
        };
        let span = rpc_span(method, request.headers());
        let open = request.extensions().get::<ConnectionInfo>().map(|info| info.activity.begin());
        let ending = Ending::new(method, began, interceptor.metrics.clone(), span.clone(), open);
        let timeout = interceptor.calls.timeout(method);
        let draining = interceptor.draining.clone();
        if STREAMED.contains(&method) {
            request = request::watch(request);
        }
        let handled = async move {
            match interceptor.admit(&mut request, (method, access)) {
                Ok(_place) => inner.call(request).await.map(with_details),
                Err(status) => Ok(status.into_http()),
            }
        };
        Box::pin(async move {
            let response = tokio::select! {
                biased;
                response = handled.instrument(span) => response?,
                () = draining.cancelled() => status::from_api(&ApiError::shutting_down()).into_http(),
                () = over(timeout) => status::adopt(Code::DeadlineExceeded, TOO_LONG).into_http(),
            };
            Ok(Answer::wrap(response, ending, draining))
        })
    }
}

impl Interceptor {
    /// Admits a call with its caller, or returns the refusal. The caller holds the returned share until the
    /// call is answered.
    fn admit(
        &self,
        request: &mut Request<Body>,
        (method, access): (&'static str, Option<Access>),
    ) -> Result<Option<Share<String>>, Status> {
        let access = access.ok_or_else(|| status::adopt(Code::Unimplemented, ""))?;
        if access == Access::Anyone {
            return Ok(None);
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
        let place = self.calls.place(method, &caller.principal.tenant);
        let place = place.map_err(|error| status::from_api(&error))?;
        request.extensions_mut().insert(caller);
        Ok(place)
    }

    fn authenticate(&self, request: &Request<Body>) -> Result<Caller, AuthenticationError> {
        let span = tracing::info_span!("authenticate").entered();
        let info = request.extensions().get::<ConnectionInfo>().ok_or(AuthenticationError::Missing)?;
        let peer = &info.peer;
        let authorization = request.headers().get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
        self.authenticator.authenticate(peer, authorization).inspect_err(|error| {
            telemetry::fail(&span, error.reason());
            tracing::info!(peer = %peer.address, reason = error.reason(), "authentication failed");
        })
    }
}

/// Returns when a call has reached its timeout.
async fn over(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
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

/// Adds details to a refusal that tonic created.
fn with_details(response: Response<Body>) -> Response<Body> {
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() != Code::Ok && status.details().is_empty() => {
            status::adopt(status.code(), status.message()).into_http()
        }
        _ => response,
    }
}
