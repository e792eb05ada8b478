//! Conversion of network rules. The edge of the server and the runner check the entries.

use crate::v1;
use airlock_domain::NetworkRules;

impl From<NetworkRules> for v1::NetworkRules {
    fn from(NetworkRules { any, allow, deny, warn, ask }: NetworkRules) -> Self {
        Self { any, allow, deny, warn, ask }
    }
}

impl From<v1::NetworkRules> for NetworkRules {
    fn from(v1::NetworkRules { any, allow, deny, warn, ask }: v1::NetworkRules) -> Self {
        Self { any, allow, deny, warn, ask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_the_wire() {
        for (any, warn) in [(false, true), (true, false)] {
            let (allow, deny) = (vec!["pypi".to_owned()], vec!["a.b".to_owned()]);
            let rules = NetworkRules { any, allow, deny, warn, ask: vec!["c.d".to_owned()] };
            assert_eq!(NetworkRules::from(v1::NetworkRules::from(rules.clone())), rules);
        }
    }
}
