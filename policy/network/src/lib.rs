//! The rules of network access: names, addresses, presets, and the decision about a target.
//!
//! The crate is pure. It resolves no name, opens no connection, and reads no clock. It returns an answer for every
//! input, in a time that is linear in the size of the input. It allows nothing that an entry does not list.
//!
//! A connection needs two answers. [`Layers::decide`] decides about the name or address that a command asks for.
//! [`AddressGuard::check`] decides about the address that the name resolves to. Dial only an address that passed both.
//!
//! `host` normalizes names and numeric addresses, `address` classifies addresses, `names` lists names of local networks,
//! `rules` parses the lists of a layer, `requests` decides about methods and paths, `presets` contains named lists, and
//! `layers` and `guard` decide. A `pattern` contains the hosts of one rule. A `refusal` names the change that would let a target through, and `suggest` the smallest
//! list that would.
#![forbid(unsafe_code)]

mod address;
mod guard;
mod host;
mod layers;
mod names;
mod pattern;
mod place;
mod presets;
mod refusal;
mod requests;
mod rules;
mod suggest;
mod target;

pub use address::AddressKind;
pub use guard::AddressGuard;
pub use host::{Host, HostError, HostName};
pub use ipnet::IpNet;
pub use layers::{Layer, Layers, Verdict};
pub use pattern::HostPattern;
pub use presets::{Preset, PresetAccess, presets};
pub use refusal::{LayerName, Refusal, RefusedAddress};
pub use requests::{RequestRule, RequestRuleError};
pub use rules::{List, MOST_CHARACTERS, MOST_ENTRIES, RuleError, Rules};
pub use suggest::{OtherChange, Suggestion, Used, suggest};
pub use target::{Target, TargetError};
