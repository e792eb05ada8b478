//! Conversion of questions about connections, and of their answers.

use super::error::{ConvertError, duration, parsed, wire_duration};
use crate::runner_v1 as wire;
use airlock_domain::{ApprovalId, ConnectionAnswer, ConnectionAsked, ExecutionId, FromRunner, ToRunner};

impl From<ConnectionAsked> for wire::ConnectionAsked {
    fn from(asked: ConnectionAsked) -> Self {
        Self {
            approval_id: asked.approval_id.to_string(),
            execution_id: asked.execution_id.to_string(),
            host: asked.host,
            port: asked.port.into(),
            rule: asked.rule,
            wait: Some(wire_duration(asked.wait)),
        }
    }
}

impl TryFrom<wire::ConnectionAsked> for ConnectionAsked {
    type Error = ConvertError;

    fn try_from(asked: wire::ConnectionAsked) -> Result<Self, ConvertError> {
        let port = u16::try_from(asked.port);
        Ok(Self {
            approval_id: parsed("connection_asked.approval_id", &asked.approval_id)?,
            execution_id: parsed("connection_asked.execution_id", &asked.execution_id)?,
            host: asked.host,
            port: port.map_err(|_| ConvertError::new("connection_asked.port", "is not a port"))?,
            rule: asked.rule,
            wait: duration("connection_asked.wait", asked.wait)?,
        })
    }
}

pub(super) fn unasked(execution_id: ExecutionId, approval_id: ApprovalId) -> wire::ConnectionUnasked {
    wire::ConnectionUnasked { approval_id: approval_id.to_string(), execution_id: execution_id.to_string() }
}

pub(super) fn no_longer_asked(unasked: &wire::ConnectionUnasked) -> Result<FromRunner, ConvertError> {
    Ok(FromRunner::Unasked {
        execution_id: parsed("connection_unasked.execution_id", &unasked.execution_id)?,
        approval_id: parsed("connection_unasked.approval_id", &unasked.approval_id)?,
    })
}

pub(super) fn answered(
    execution_id: ExecutionId,
    approval_id: ApprovalId,
    answer: ConnectionAnswer,
) -> wire::AnswerConnection {
    let (allowed, denied, reason) = match answer {
        ConnectionAnswer::Allowed => (true, false, String::new()),
        ConnectionAnswer::Denied { reason } => (false, true, reason),
        ConnectionAnswer::Unanswered { reason } => (false, false, reason),
    };
    wire::AnswerConnection {
        approval_id: approval_id.to_string(),
        execution_id: execution_id.to_string(),
        allowed,
        reason,
        denied,
    }
}

pub(super) fn answer(answer: wire::AnswerConnection) -> Result<ToRunner, ConvertError> {
    Ok(ToRunner::AnswerConnection {
        execution_id: parsed("answer_connection.execution_id", &answer.execution_id)?,
        approval_id: parsed("answer_connection.approval_id", &answer.approval_id)?,
        answer: match (answer.denied, answer.allowed) {
            (true, _) => ConnectionAnswer::Denied { reason: answer.reason },
            (false, true) => ConnectionAnswer::Allowed,
            (false, false) => ConnectionAnswer::Unanswered { reason: answer.reason },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn questions_and_answers_survive_the_wire() {
        let (execution_id, approval_id) = (ExecutionId::new(), ApprovalId::new());
        let asked = ConnectionAsked {
            approval_id,
            execution_id,
            host: "a.example".to_owned(),
            port: u16::MAX,
            rule: "Network(a.example)".to_owned(),
            wait: Duration::from_millis(1500),
        };
        let unasked = FromRunner::Unasked { execution_id, approval_id };
        for message in [FromRunner::Asked(asked.clone()), unasked] {
            let wire = wire::ConnectRequest::from(message.clone());
            assert_eq!(FromRunner::try_from(wire), Ok(message));
        }
        let reason = "no".to_owned();
        for answer in [
            ConnectionAnswer::Allowed,
            ConnectionAnswer::Denied { reason: reason.clone() },
            ConnectionAnswer::Unanswered { reason },
        ] {
            let message = ToRunner::AnswerConnection { execution_id, approval_id, answer };
            let wire = wire::ConnectResponse::from(message.clone());
            assert_eq!(ToRunner::try_from(wire), Ok(message));
        }
        let beyond = wire::ConnectionAsked { port: 65_536, ..asked.into() };
        assert_eq!(ConnectionAsked::try_from(beyond).unwrap_err().field, "connection_asked.port");
    }

    #[test]
    fn a_denial_wins_over_a_permission() {
        let both = wire::AnswerConnection {
            allowed: true,
            ..answered(
                ExecutionId::new(),
                ApprovalId::new(),
                ConnectionAnswer::Denied { reason: String::new() },
            )
        };
        let read = answer(both).unwrap();
        assert!(matches!(read, ToRunner::AnswerConnection { answer: ConnectionAnswer::Denied { .. }, .. }));
    }
}
