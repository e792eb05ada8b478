//! The stream of a client: its first message, and the pieces after it.

use std::{error::Error as _, time::Duration};

use airlock_control::{
    api::{ApiError, FieldViolation},
    exchange::ClientFault,
};
use futures::stream::{self, BoxStream};
use tokio::time::timeout;
use tonic::{Code, Request, Status, Streaming};

use super::interceptor::RequestFault;

/// A client's stream after its first message.
pub(super) struct Incoming<T> {
    messages: Streaming<T>,
    fault: RequestFault,
}

impl<T: Send + 'static> Incoming<T> {
    pub(super) fn new(request: Request<Streaming<T>>) -> Self {
        // Without this extension the stream was not observed, and its end cannot be distinguished from a cut.
        let fault = request.extensions().get::<RequestFault>().cloned().unwrap_or_else(RequestFault::unknown);
        Self { messages: request.into_inner(), fault }
    }

    /// Returns the first message. `name` is its name in the contract.
    ///
    /// # Errors
    /// Returns `Invalid` if the message is missing or late, or the fault that ended the stream.
    pub(super) async fn first(&mut self, name: &str, wait: Duration) -> Result<T, ApiError> {
        let missing = |problem: String| {
            ApiError::Invalid(vec![FieldViolation { field: name.to_owned(), description: problem }])
        };
        match timeout(wait, self.next()).await {
            Ok(first) => first?
                .ok_or_else(|| missing("is missing: the stream ended before it was received".to_owned())),
            Err(_) => Err(missing(format!("was not received within {} s", wait.as_secs()))),
        }
    }

    /// Returns the pieces after the first message. `first` is a piece that arrived with it.
    pub(super) fn pieces<P: Send + 'static>(
        self,
        first: Option<P>,
        read: fn(T) -> Result<P, ApiError>,
    ) -> BoxStream<'static, Result<P, ApiError>> {
        Box::pin(stream::unfold(Some((self, first)), move |state| async move {
            let (mut incoming, first) = state?;
            if let Some(piece) = first {
                return Some((Ok(piece), Some((incoming, None))));
            }
            match incoming.next().await {
                Ok(Some(message)) => Some((read(message), Some((incoming, None)))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        }))
    }

    /// Returns the next message, or `None` if the client ended the stream.
    async fn next(&mut self) -> Result<Option<T>, ApiError> {
        match self.messages.message().await {
            Ok(None) => self.fault.of_end().map_or(Ok(None), |fault| Err(ApiError::ClientStream(fault))),
            Ok(message) => Ok(message),
            Err(error) => Err(ApiError::ClientStream(fault(&error))),
        }
    }
}

/// Reports whether the transport failed. The message is not at fault then, although the code can be that of
/// an undecodable message.
pub(super) fn is_of_transport(error: &Status) -> bool {
    error.source().is_some()
}

fn fault(error: &Status) -> ClientFault {
    match error.code() {
        _ if is_of_transport(error) => ClientFault::Gone,
        Code::Internal => ClientFault::Unreadable(error.message().to_owned()),
        Code::OutOfRange => ClientFault::TooLarge(error.message().to_owned()),
        _ => ClientFault::Gone,
    }
}
