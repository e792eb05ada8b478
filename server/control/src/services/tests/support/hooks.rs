//! Hooks that a test controls.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use airlock_domain::HookOutcome;
use tokio::sync::Notify;

use super::PATIENCE;
use crate::hooks::{HookQuestion, HookReply, HookReport, Hooks};

/// The names of the hooks that profiles of the fixture can select.
pub(crate) const NAMES: [&str; 2] = ["first", "second"];

/// The hooks. Without an answer from the test, a hook has no opinion.
#[derive(Default)]
pub(crate) struct FakeHooks {
    asked: Mutex<Vec<(String, HookQuestion)>>,
    /// `None`: the hook does not answer yet.
    answers: Mutex<HashMap<String, Option<HookOutcome>>>,
    changed: Notify,
    reports: Mutex<Vec<(String, HookReport)>>,
    /// The hooks accept no results.
    refuses: AtomicBool,
}

impl FakeHooks {
    /// Sets the answers of a hook from now on, also to questions that it holds.
    pub(crate) fn says(&self, hook: &str, outcome: HookOutcome) {
        self.answers.lock().unwrap().insert(hook.to_owned(), Some(outcome));
        self.changed.notify_waiters();
    }

    /// The hook does not answer from now on.
    pub(crate) fn holds(&self, hook: &str) {
        self.answers.lock().unwrap().insert(hook.to_owned(), None);
    }

    /// Returns the questions so far, with the hooks.
    pub(crate) fn asked(&self) -> Vec<(String, HookQuestion)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Sets whether the hooks refuse results from now on.
    pub(crate) fn refuses(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Waits until so many results were sent to the hooks, and returns them.
    pub(crate) async fn until_sent(&self, count: usize) -> Vec<(String, HookReport)> {
        let sent = || self.reports.lock().unwrap().clone();
        let reached = async {
            while sent().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap();
        sent()
    }

    /// Waits until so many questions were asked.
    pub(crate) async fn until_asked(&self, count: usize) {
        let reached = async {
            while self.count() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap();
    }
}

#[async_trait::async_trait]
impl Hooks for FakeHooks {
    fn names(&self) -> Vec<String> {
        NAMES.map(str::to_owned).to_vec()
    }

    fn longest_wait(&self, hook: &str) -> Option<Duration> {
        NAMES.contains(&hook).then_some(PATIENCE)
    }

    async fn before(&self, hook: &str, question: &HookQuestion) -> HookReply {
        self.asked.lock().unwrap().push((hook.to_owned(), question.clone()));
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let answer = self.answers.lock().unwrap().get(hook).copied();
            match answer.unwrap_or(Some(HookOutcome::None)) {
                Some(outcome) => return HookReply { outcome, reason: format!("{hook} says so") },
                None => changed.await,
            }
        }
    }

    async fn after(&self, hook: &str, report: &HookReport) -> Result<(), HookReply> {
        self.reports.lock().unwrap().push((hook.to_owned(), report.clone()));
        match self.refuses.load(Ordering::Relaxed) {
            true => Err(HookReply { outcome: HookOutcome::Unavailable, reason: "it is full".to_owned() }),
            false => Ok(()),
        }
    }
}
