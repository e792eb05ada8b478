//! The check whether the server supports network rules. A server ignores fields that it does not know, so an older one
//! would give a command more network than its caller permits.

use std::{collections::HashMap, sync::atomic::Ordering};

use tonic::Code;

use super::super::{
    ClientError, Rejection,
    connection::{ANSWER_BYTES, Connection},
    v1::{self, execution_service_client::ExecutionServiceClient},
};
use super::{CALL_TIMEOUT, with_timeout};

impl Connection {
    /// Returns an error if rules are given and the server does not support them. A start without a command is always
    /// refused, and the refusal names every invalid field that the server knows.
    pub(in super::super) async fn require_network(
        &self,
        rules: Option<&v1::NetworkRules>,
    ) -> Result<(), ClientError> {
        if rules.is_none() || self.knows_network().load(Ordering::Relaxed) {
            return Ok(());
        }
        let network = Some(v1::NetworkRules { allow: vec!["://".to_owned()], ..Default::default() });
        let spec = Some(v1::ExecutionSpec { network, ..Default::default() });
        let request = v1::ExecutionServiceStartRequest { spec };
        let answer = call!(self, ExecutionServiceClient::start, request, CALL_TIMEOUT);
        let rejection = match &answer {
            Err(error) => match error.rejection().filter(|no| no.code == Code::InvalidArgument) {
                Some(rejection) => Some(rejection),
                None => return answer.map(drop),
            },
            Ok(_) => None,
        };
        let names = |no: &Rejection| no.violations.iter().any(|one| one.field.starts_with("spec.network"));
        if rejection.is_some_and(names) {
            self.knows_network().store(true, Ordering::Relaxed);
            return Ok(());
        }
        Err(ClientError::Rejected(Box::new(Rejection {
            code: Code::Unimplemented,
            reason: String::new(),
            message: format!("the server at {} does not support network rules", self.address()),
            violations: Vec::new(),
            retry_after: None,
            execution_id: None,
            metadata: HashMap::new(),
        })))
    }
}
