//! The decision about a target, with the hold of a connection that a rule asks a person about.
//!
//! Nothing is sent anywhere before the answer, not even to a resolver: the name itself can carry data.

use std::sync::Arc;

use airlock_network::{AddressGuard, Host, Layers, Refusal, Target, Verdict};

use crate::access::{Access, Unanswered};

/// A verdict that permits a connection, by rules that are still the present ones.
pub(crate) struct Permitted {
    pub(crate) layers: Arc<Layers>,
    /// The rule, for the report. `None`: the layers only warn.
    pub(crate) rule: Option<String>,
    /// The layers that do not allow the target and only warn.
    pub(crate) ignored: Option<Refusal>,
    /// Whether the connection may carry any protocol.
    pub(crate) is_raw: bool,
}

/// Decides about a target. Waits for the answer of a person if a rule asks about it, until the client has `closed`.
///
/// # Errors
///
/// Returns the refusal.
pub(crate) async fn permit(
    access: &Access,
    guard: &AddressGuard,
    target: &Target,
    closed: impl Future<Output = ()>,
) -> Result<Permitted, Refusal> {
    let layers = present(access);
    let rule = match layers.decide(target) {
        Verdict::Asked { rule, .. } => rule,
        verdict => return permitted(layers, target, verdict),
    };
    if let Host::Address(address) = &target.host {
        guard.check(*address, &layers, target)?;
    }
    tokio::select! {
        biased;
        refusal = refused(access, target) => return Err(refusal),
        answer = answer(access, target, &rule) => answer?,
        () = closed => {
            return Err(Refusal::unanswered(target, &rule, "the program closed the connection", "connect again"));
        }
    }
    // The rules may have changed in the meantime.
    let layers = present(access);
    match layers.decide(target) {
        Verdict::Asked { rule, answered } => {
            let permitted = permitted(layers, target, *answered)?;
            let rule = permitted.rule.is_some().then_some(rule);
            Ok(Permitted { rule, ..permitted })
        }
        verdict => permitted(layers, target, verdict),
    }
}

async fn answer(access: &Access, target: &Target, rule: &str) -> Result<(), Refusal> {
    let answer = match &access.questions {
        Some(questions) => questions.ask(target, rule).await,
        None => Err(Unanswered {
            question: "nobody can be asked".to_owned(),
            remedy: "allow the host in the profile".to_owned(),
        }),
    };
    answer.map_err(|Unanswered { question, remedy }| Refusal::unanswered(target, rule, &question, &remedy))
}

/// Ends when a change of the rules refuses the target.
async fn refused(access: &Access, target: &Target) -> Refusal {
    let mut changes = access.layers.clone();
    loop {
        if let Verdict::Refused(refusal) = present(access).decide(target) {
            return refusal;
        }
        if changes.changed().await.is_err() {
            // The rules cannot change any more.
            std::future::pending::<()>().await;
        }
    }
}

fn present(access: &Access) -> Arc<Layers> {
    Arc::clone(&access.layers.borrow())
}

fn permitted(layers: Arc<Layers>, target: &Target, verdict: Verdict) -> Result<Permitted, Refusal> {
    match verdict {
        Verdict::Allowed { rule } => {
            let is_raw = rule.ends_with("/tcp");
            Ok(Permitted { layers, rule: Some(rule), ignored: None, is_raw })
        }
        Verdict::Warned { refusal, raw } => {
            Ok(Permitted { layers, rule: None, ignored: Some(refusal), is_raw: raw })
        }
        Verdict::Refused(refusal) => Err(refusal),
        // The caller asks first.
        Verdict::Asked { rule, .. } => {
            Err(Refusal::unanswered(target, &rule, "nobody was asked", "connect again"))
        }
    }
}
