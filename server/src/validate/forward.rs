//! The messages of a forwarded connection.

use airlock_control::{api::ApiError, exchange::ForwardPart};
use airlock_domain::SessionId;
use airlock_proto::v1::{self, session_service_forward_request::Message};

use super::checker::Checker;

/// Validates the first message. Returns the session and the port.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn forward(first: v1::SessionServiceForwardRequest) -> Result<(SessionId, u16), ApiError> {
    let mut checker = Checker::default();
    let Some(Message::Open(open)) = first.message else {
        checker.bad("open", "must be in the first message");
        return checker.finish(None);
    };
    let session_id = checker.id("open.session_id", &open.session_id);
    let port = u16::try_from(open.port).ok().filter(|port| *port != 0);
    if port.is_none() {
        checker.bad("open.port", format!("is {}, not a port from 1 to 65535", open.port));
    }
    checker.finish(session_id.zip(port))
}

/// Validates a further message.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn forward_part(message: v1::SessionServiceForwardRequest) -> Result<ForwardPart, ApiError> {
    let mut checker = Checker::default();
    let part = match message.message {
        Some(Message::Data(data)) => Some(ForwardPart::Data(data)),
        Some(Message::End(_)) => Some(ForwardPart::End),
        Some(Message::Open(_)) => {
            checker.bad("open", "was sent twice");
            None
        }
        None => {
            checker.bad("data", "is missing");
            None
        }
    };
    checker.finish(part)
}
