//! The layers of network rules in a grant, with their origins.

use crate::{EncodingError, Grant, NetworkRules, limits::NETWORK_LAYERS};

/// The origin of a layer of network rules in a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkLayer {
    /// The profile.
    Profile,
    /// The session.
    Session,
    /// The request of the command.
    Request,
}

impl Grant {
    /// Returns the layers of `egress` with their origins.
    pub fn network_layers(&self) -> impl Iterator<Item = (NetworkLayer, &NetworkRules)> {
        let last = self.egress.len().saturating_sub(1);
        let of_request = self.command.network.is_some();
        self.egress.iter().enumerate().map(move |(index, rules)| {
            let layer = match index {
                0 => NetworkLayer::Profile,
                _ if index == last && of_request => NetworkLayer::Request,
                _ => NetworkLayer::Session,
            };
            (layer, rules)
        })
    }

    /// Checks the number and the size of the network rules.
    pub(crate) fn check_network(&self) -> Result<(), EncodingError> {
        if self.egress.len() > NETWORK_LAYERS {
            let problem = format!("`egress` has {} layers, at most {NETWORK_LAYERS}", self.egress.len());
            return Err(EncodingError::new(problem));
        }
        match self.egress.iter().chain(&self.command.network).find_map(NetworkRules::beyond_limit) {
            Some(problem) => Err(EncodingError::new(format!("network rules: {problem}"))),
            None => {
                let inspection =
                    self.profile.inspection.beyond_limit().map(|problem| ("inspection", problem));
                let questions = || self.questions.beyond_limit().map(|problem| ("questions", problem));
                match inspection.or_else(questions) {
                    Some((field, problem)) => Err(EncodingError::new(format!("{field}: {problem}"))),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        ConnectionQuestions,
        limits::{CONNECTION_WAIT_MAX, NETWORK_BYTES, NETWORK_ENTRIES},
        testing,
    };

    fn only(allow: &str) -> NetworkRules {
        NetworkRules { allow: vec![allow.to_owned()], ..NetworkRules::default() }
    }

    fn layers(grant: &Grant) -> Vec<NetworkLayer> {
        grant.network_layers().map(|(layer, _)| layer).collect()
    }

    #[test]
    fn each_layer_of_a_grant_has_its_origin() {
        let (with, without) = (Some(only("c")), None);
        let cases = [
            (vec![], with.clone(), vec![]),
            (vec![only("a")], without.clone(), vec![NetworkLayer::Profile]),
            (vec![only("a"), only("b")], without, vec![NetworkLayer::Profile, NetworkLayer::Session]),
            (vec![only("a"), only("c")], with.clone(), vec![NetworkLayer::Profile, NetworkLayer::Request]),
            (
                vec![only("a"), only("b"), only("c")],
                with,
                vec![NetworkLayer::Profile, NetworkLayer::Session, NetworkLayer::Request],
            ),
        ];
        for (egress, network, expected) in cases {
            let mut grant = Grant { egress, ..testing::grant() };
            grant.command.network = network;
            assert_eq!(layers(&grant), expected, "{:?}", grant.egress);
        }
    }

    #[test]
    fn a_grant_without_network_is_encoded_as_before() {
        let mut grant =
            Grant { egress: Vec::new(), questions: ConnectionQuestions::default(), ..testing::grant() };
        grant.command.network = None;
        let encoded = String::from_utf8(grant.encode()).unwrap();
        // The profile's own `network` is its interface.
        assert!(!encoded.contains("egress") && !encoded.contains("questions"));
        assert!(encoded.matches("network").count() == 1, "{encoded}");
        let encoded = String::from_utf8(testing::grant().encode()).unwrap();
        assert!(encoded.contains("egress") && encoded.matches("\"network\"").count() == 2, "{encoded}");
    }

    #[test]
    fn rules_beyond_a_limit_are_refused() {
        let entry = "a".repeat(NETWORK_BYTES / NETWORK_ENTRIES);
        let most = NetworkRules { allow: vec![entry; NETWORK_ENTRIES], ..NetworkRules::default() };
        let mut large = most.clone();
        large.deny = vec!["a".to_owned()];
        let fits = Grant { egress: vec![most.clone(); NETWORK_LAYERS], ..testing::grant() };
        assert_eq!(Grant::decode(&fits.encode()).as_ref(), Ok(&fits));
        let wide = NetworkRules { deny: vec![String::new(); NETWORK_ENTRIES + 1], ..NetworkRules::default() };
        for egress in [vec![large], vec![wide.clone()], vec![most; NETWORK_LAYERS + 1]] {
            let beyond = Grant { egress, ..testing::grant() };
            assert!(Grant::decode(&beyond.encode()).is_err());
        }
        let wait = CONNECTION_WAIT_MAX + Duration::from_secs(1);
        let answered = vec!["a:1".to_owned(); NETWORK_ENTRIES + 1];
        for questions in [
            ConnectionQuestions { wait, ..ConnectionQuestions::default() },
            ConnectionQuestions { answered, ..ConnectionQuestions::default() },
        ] {
            let beyond = Grant { questions, ..testing::grant() };
            assert!(Grant::decode(&beyond.encode()).is_err());
        }
        let mut beyond = testing::grant();
        beyond.command.network = Some(wide);
        assert!(Grant::decode(&beyond.encode()).is_err());
    }
}
