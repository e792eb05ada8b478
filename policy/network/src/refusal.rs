//! The reason why a target is refused, and the change that would let it through.

use std::{fmt, net::IpAddr};

use crate::{address::AddressKind, target::Target};

/// The origin of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayerName {
    /// The profile.
    Profile,
    /// The session.
    Session,
    /// The request.
    Request,
    /// The floor of the runner's configuration.
    Floor,
}

/// The reason why a target is refused. Its text is one line of ASCII: the target, the rule and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The target.
    pub target: String,
    /// The address that is refused, if the target itself was allowed.
    pub address: Option<RefusedAddress>,
    /// The entry that denies the target, or the rule that asks about it. `None` if no entry allows it.
    pub rule: Option<String>,
    /// Whether the rule asks about the target, and there is no positive answer.
    pub is_asked: bool,
    /// The first layer that refuses the target.
    pub layer: LayerName,
    /// The other layers that refuse it.
    pub others: Vec<LayerName>,
    /// The change that would let the target through, in every layer that refuses it. If the rule asks, the reason why
    /// there is no positive answer comes first.
    pub remedy: String,
}

/// An address that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedAddress {
    /// The address.
    pub ip: IpAddr,
    /// Its kind.
    pub kind: AddressKind,
}

impl Refusal {
    /// Creates the refusal of a target that the rule of a profile asks about and that has no positive answer.
    #[must_use]
    pub fn unanswered(target: &Target, rule: &str, question: &str, remedy: &str) -> Self {
        Self {
            target: target.to_string(),
            address: None,
            rule: Some(rule.to_owned()),
            is_asked: true,
            layer: LayerName::Profile,
            others: Vec::new(),
            remedy: format!("{question}; {remedy}"),
        }
    }
}

/// Returns the remedy for a target that no entry allows.
pub(crate) fn add(entries: &str, layers: &[LayerName]) -> String {
    let lists: Vec<&str> = layers.iter().map(|layer| layer.allow_list()).collect();
    format!("add {entries} to {}", lists.join(" and to "))
}

/// Returns the remedy for a target that entries deny.
pub(crate) fn remove(denials: &[(LayerName, &str)]) -> String {
    let denials: Vec<String> = denials
        .iter()
        .map(|(layer, rule)| {
            let entry = rule.split_once(": ").map_or(*rule, |(preset, _)| preset);
            format!("\"{entry}\" from {}", layer.deny_list())
        })
        .collect();
    format!("remove {}", denials.join(" and "))
}

/// Quotes the entries as the configuration does.
pub(crate) fn join(entries: impl IntoIterator<Item = String>, word: &str) -> String {
    let quoted: Vec<String> = entries.into_iter().map(|entry| format!("\"{entry}\"")).collect();
    quoted.join(&format!(" {word} "))
}

impl LayerName {
    /// Returns the layer with this name, as its text form writes it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Profile, Self::Session, Self::Request, Self::Floor]
            .into_iter()
            .find(|one| one.to_string() == name)
    }

    const fn allow_list(self) -> &'static str {
        match self {
            Self::Profile => "`network.allow` of the profile",
            Self::Session => "the session's own network list",
            Self::Request => "the request's own network list",
            Self::Floor => "`floor.network.allow` in the runner's configuration",
        }
    }

    const fn deny_list(self) -> &'static str {
        match self {
            Self::Profile => "`network.deny` of the profile",
            Self::Session => "the session's own list of denied hosts",
            Self::Request => "the request's own list of denied hosts",
            Self::Floor => "`floor.network.deny` in the runner's configuration",
        }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Profile => "profile",
            Self::Session => "session",
            Self::Request => "request",
            Self::Floor => "floor",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, address, rule, is_asked, layer, remedy, .. } = self;
        write!(f, "`{target}`")?;
        if let Some(rule) = rule.as_ref().filter(|_| *is_asked) {
            return write!(f, " needs an answer by the rule `{rule}` of the {layer}, and {remedy}");
        }
        if let Some(RefusedAddress { ip, kind }) = address {
            write!(f, " is at the {kind} address {ip}, which")?;
        }
        match (rule, address) {
            (Some(rule), None) => write!(f, " is denied by `{rule}` of the {layer}")?,
            (Some(rule), Some(_)) => write!(f, " `{rule}` of the {layer} denies")?,
            (None, None) => write!(f, " is not allowed by the {layer}")?,
            (None, Some(_)) => write!(f, " the {layer} does not list")?,
        }
        write!(f, "; {remedy}")
    }
}

impl std::error::Error for Refusal {}
