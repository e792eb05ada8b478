//! The hold of a connection that a rule asks a person about.
//!
//! Nothing is sent anywhere before the answer, not even to a resolver: the name itself can carry data.

use std::{fmt, sync::Arc};

use airlock_network::{Host, Layers, Refusal, Target, Verdict};
use async_trait::async_trait;

use crate::open::{Execution, NotOpened};

/// Asks a person about connections of an execution.
#[async_trait]
pub trait Questions: fmt::Debug + Send + Sync {
    /// Waits for the answer about a target. Connections to the same target share one question. Dropping the future of the
    /// last of them ends the question.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no positive answer. The wait is bounded.
    async fn ask(&self, target: &Target, rule: &str) -> Result<(), Unanswered>;
}

/// The reason why a connection has no positive answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The reason, as the second half of a sentence: `nobody answered within 60 seconds`.
    pub question: String,
    /// The action that helps.
    pub remedy: String,
}

/// A verdict that permits a connection, by rules that are still the present ones.
pub(crate) struct Permitted {
    pub(crate) layers: Arc<Layers>,
    /// The rule, for the report. `None`: only a warning.
    pub(crate) rule: Option<String>,
    /// The layers that do not allow the target and only warn.
    pub(crate) ignored: Option<Refusal>,
    /// Whether the connection may carry any protocol.
    pub(crate) is_raw: bool,
}

impl Execution {
    /// Decides about a target. Waits for the answer of a person if a rule asks about it.
    pub(crate) async fn permit(&self, target: &Target) -> Result<Permitted, NotOpened> {
        let layers = self.layers();
        let rule = match layers.decide(target) {
            Verdict::Asked { rule, .. } => rule,
            verdict => return permitted(layers, target, verdict),
        };
        if let Host::Address(address) = &target.host {
            self.common.guard.check(*address, &layers, target).map_err(refused)?;
        }
        tokio::select! {
            biased;
            refusal = self.refused(target) => return Err(refused(refusal)),
            answer = self.answer(target, &rule) => answer?,
        }
        // The rules may have changed in the meantime.
        let layers = self.layers();
        match layers.decide(target) {
            Verdict::Asked { rule, answered } => {
                let permitted = permitted(layers, target, *answered)?;
                let rule = permitted.rule.is_some().then_some(rule);
                Ok(Permitted { rule, ..permitted })
            }
            verdict => permitted(layers, target, verdict),
        }
    }

    async fn answer(&self, target: &Target, rule: &str) -> Result<(), NotOpened> {
        let answer = match &self.access.questions {
            Some(questions) => questions.ask(target, rule).await,
            None => Err(Unanswered {
                question: "nobody can be asked".to_owned(),
                remedy: "allow the host in the profile".to_owned(),
            }),
        };
        answer.map_err(|Unanswered { question, remedy }| {
            refused(Refusal::unanswered(target, rule, &question, &remedy))
        })
    }

    /// Ends when a change of the rules refuses the target.
    async fn refused(&self, target: &Target) -> Refusal {
        let mut changes = self.access.layers.clone();
        loop {
            if let Verdict::Refused(refusal) = self.layers().decide(target) {
                return refusal;
            }
            if changes.changed().await.is_err() {
                // The rules cannot change any more.
                std::future::pending::<()>().await;
            }
        }
    }

    fn layers(&self) -> Arc<Layers> {
        Arc::clone(&self.access.layers.borrow())
    }
}

fn permitted(layers: Arc<Layers>, target: &Target, verdict: Verdict) -> Result<Permitted, NotOpened> {
    match verdict {
        Verdict::Allowed { rule } => {
            let is_raw = rule.ends_with("/tcp");
            Ok(Permitted { layers, rule: Some(rule), ignored: None, is_raw })
        }
        Verdict::Warned { refusal, raw } => {
            Ok(Permitted { layers, rule: None, ignored: Some(refusal), is_raw: raw })
        }
        Verdict::Refused(refusal) => Err(refused(refusal)),
        // The caller asks first.
        Verdict::Asked { rule, .. } => {
            Err(refused(Refusal::unanswered(target, &rule, "nobody was asked", "try again")))
        }
    }
}

fn refused(refusal: Refusal) -> NotOpened {
    NotOpened::Refused(Box::new(refusal))
}
