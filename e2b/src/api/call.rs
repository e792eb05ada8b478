//! A request of the API.

use std::sync::Arc;

use http::Response;
use serde::de::DeserializeOwned;

use crate::{
    account::Account,
    body::{Body, RequestBody, collected},
    front::Front,
    refusal::Refusal,
    sandbox::Sandbox,
};

/// The longest body of a request in bytes.
const BODY_BYTES: usize = 256 * 1024;

/// A request of one account.
pub(super) struct Call {
    pub(super) front: Arc<Front>,
    pub(super) account: Arc<Account>,
    pub(super) query: String,
    pub(super) idempotency: Option<String>,
    /// Whether the call is of the second version.
    pub(super) is_second: bool,
    pub(super) body: RequestBody,
}

impl Call {
    /// Reads the body. An empty one has only defaults.
    pub(super) async fn body<T: DeserializeOwned>(self) -> Result<T, Refusal> {
        let bytes = collected(self.body, BODY_BYTES).await?;
        let text = if bytes.is_empty() { b"{}" } else { &*bytes };
        serde_json::from_slice(text)
            .map_err(|error| Refusal::invalid(format!("the body is not valid JSON of its type: {error}")))
    }

    /// Returns the last value of a parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key == name).last().map(|(_, value)| value.into_owned())
    }

    pub(super) fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, Refusal> {
        self.front.registry.find(&self.account, id)
    }
}

pub(super) type Answer = Result<Response<Body>, Refusal>;
