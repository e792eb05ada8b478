//! The variables of a command's environment, from session and request. Each is treated as the same assignment in
//! the text.

use std::collections::BTreeMap;

use crate::decision::Span;
use crate::parse::{Assign, Word};
use crate::request::Request;

/// The environment of one type of run.
#[derive(Clone, Copy)]
pub(super) struct Environment<'a> {
    env: Option<&'a BTreeMap<String, Vec<u8>>>,
    read_only: bool,
    /// The command's HOME.
    pub(super) home: &'a str,
}

impl<'a> Environment<'a> {
    /// Returns the environment of the request.
    pub(super) fn of(request: &Request<'a>) -> Self {
        let own = request.env.and_then(|env| env.get("HOME")).and_then(|home| std::str::from_utf8(home).ok());
        Self { env: request.env, read_only: false, home: own.unwrap_or(request.home) }
    }

    /// Returns the environment without the variables that a read-only run sets itself.
    pub(super) fn of_read_only(request: &Request<'a>) -> Self {
        Self { env: request.env, read_only: true, home: request.home }
    }

    /// Reports whether the request sets variables that a read-only run overrides.
    pub(super) fn has_overridden(request: &Request<'_>) -> bool {
        let mut names = request.env.into_iter().flat_map(BTreeMap::keys);
        names.any(|name| airlock_variables::is_overridden(name.as_bytes()))
    }

    pub(super) fn assignments(self) -> Vec<Assign> {
        let own = self.env.into_iter().flatten();
        let counts = |name: &str| !(self.read_only && airlock_variables::is_overridden(name.as_bytes()));
        own.filter(|(name, _)| counts(name))
            .map(|(name, value)| Assign {
                name: name.clone().into_bytes(),
                values: vec![Word::known(value, Span::default())],
                span: Span::default(),
            })
            .collect()
    }
}
