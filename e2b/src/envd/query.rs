//! The parameters of a request for a file.

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) path: Option<String>,
    pub(super) username: String,
    pub(super) signature: Option<String>,
    pub(super) expiration: Option<String>,
}

impl Query {
    pub(super) fn of(query: &str) -> Self {
        let mut found = Self::default();
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            match &*key {
                "path" => found.path = Some(value),
                "username" => found.username = value,
                "signature" => found.signature = Some(value),
                "signature_expiration" => found.expiration = Some(value),
                _ => {}
            }
        }
        found
    }
}
