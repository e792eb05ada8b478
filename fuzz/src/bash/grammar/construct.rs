//! The type of a construct.

/// A construct and its forms.
#[derive(Debug, Clone, Copy)]
pub struct Construct {
    /// Its name, also used in `docs/constructs.md`.
    pub name: &'static str,
    pub(super) templates: &'static [&'static str],
}

pub(super) const fn construct(name: &'static str, templates: &'static [&'static str]) -> Construct {
    Construct { name, templates }
}
