//! Conversion of network rules. The edge of the server and the runner check the entries.

use crate::v1;
use airlock_domain::NetworkRules;

impl From<NetworkRules> for v1::NetworkRules {
    fn from(NetworkRules { any, allow, deny }: NetworkRules) -> Self {
        Self { any, allow, deny }
    }
}

impl From<v1::NetworkRules> for NetworkRules {
    fn from(v1::NetworkRules { any, allow, deny }: v1::NetworkRules) -> Self {
        Self { any, allow, deny }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_the_wire() {
        for any in [false, true] {
            let rules = NetworkRules { any, allow: vec!["pypi".to_owned()], deny: vec!["a.b".to_owned()] };
            assert_eq!(NetworkRules::from(v1::NetworkRules::from(rules.clone())), rules);
        }
    }
}
