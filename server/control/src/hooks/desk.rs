//! The questions to hooks: each is asked once, and its answer is stored with its audit entry before it has an effect.
//!
//! No lock and no transaction is held while a hook is called. A call is a task of its own, so that its answer is stored
//! even if the client has gone.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{ExecutionId, HookAnswer, HookBinding, HookedExecution};
use airlock_limits::shares::Shares;
use airlock_store::{HookQuestion as StoredQuestion, HookQuestionState, Store, StoreError};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use super::interface::{HookQuestion, Hooks};
use crate::{
    decision::{Consulted, Decided, DecisionEncoder, HookEffect, consulted},
    profiles::{ProfileHook, ResolvedProfile},
    shared::{Hints, Lifecycle, micros},
};

/// The time for which an answer may wait for the store before its question counts as unanswered.
const STORE_WAIT: Duration = Duration::from_secs(10);
/// The interval at which the answer to a question of another call is read.
const POLL: Duration = Duration::from_millis(100);
/// The maximum number of questions of this server that wait for their answers.
const QUESTIONS: usize = 4096;
/// The maximum number of them of one tenant.
const QUESTIONS_PER_TENANT: usize = 1024;

/// Asks the hooks about executions.
pub(crate) struct HookDesk {
    hooks: Arc<dyn Hooks>,
    store: Arc<dyn Store>,
    hints: Arc<Hints>,
    lifecycle: Lifecycle,
    encode: DecisionEncoder,
    waiting: Shares<String>,
    /// The stored executions whose hooks a task asks. At most one per question that waits.
    asking: Mutex<HashSet<ExecutionId>>,
}

impl HookDesk {
    pub(crate) fn new(
        (hooks, store): (Arc<dyn Hooks>, Arc<dyn Store>),
        (hints, lifecycle): (Arc<Hints>, Lifecycle),
        encode: DecisionEncoder,
    ) -> Self {
        Self { hooks, store, hints, lifecycle, encode, waiting: Shares::default(), asking: Mutex::default() }
    }

    /// Asks the profile's hooks in order, unless the policy denies the command, and returns the decision with their
    /// answers. `known` are answers about this execution. If the future is dropped, the current call continues and its
    /// answer is stored.
    ///
    /// # Errors
    /// `Unavailable` if the store cannot be reached or the server stops, `Full` if too many questions wait.
    pub(crate) async fn consult(
        &self,
        profile: &ResolvedProfile,
        execution: &HookedExecution,
        decided: Decided,
        mut known: Vec<HookAnswer>,
    ) -> Result<Decided, StoreError> {
        loop {
            let Consulted { effect, next } = consulted(&decided, &profile.hooks, &known);
            let Some(hook) = next else {
                return Ok(decided.with_hooks(effect, profile.name(), self.encode));
            };
            known.push(self.ask(hook, execution, &decided, effect).await?);
        }
    }

    /// Returns the decision about a stored execution with the stored answers. If a hook has to be asked, because the
    /// binding has changed, a task asks it and then schedules the session; the result is `None` until then.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(crate) async fn consult_later(
        self: &Arc<Self>,
        profile: &Arc<ResolvedProfile>,
        execution: HookedExecution,
        decided: Decided,
        mut known: Vec<HookAnswer>,
    ) -> Result<Option<Decided>, StoreError> {
        let mut found = consulted(&decided, &profile.hooks, &known);
        if found.next.is_some() {
            let stored = self.store.hook_answers(execution.execution_id).await?;
            let is_new = |answer: &HookAnswer| !known.iter().any(|one| is_same_question(one, answer));
            let more: Vec<HookAnswer> = stored.into_iter().filter(is_new).collect();
            known.extend(more);
            found = consulted(&decided, &profile.hooks, &known);
        }
        if found.next.is_none() {
            return Ok(Some(decided.with_hooks(found.effect, profile.name(), self.encode)));
        }
        let (id, session) = (execution.execution_id, execution.session_id);
        if self.asking().insert(id) {
            let asking = Asking { desk: self.clone(), id };
            let (desk, profile) = (self.clone(), profile.clone());
            let ask = async move {
                let asked = desk.consult(&profile, &execution, decided, known).await;
                drop(asking);
                match asked {
                    Ok(_) => desk.hints.sessions.insert(session),
                    // The reconcile loop schedules every session with a queue again.
                    Err(error) => {
                        tracing::warn!(execution_id = %id, %error, "cannot ask the hooks of a queued execution; retrying");
                    }
                }
            };
            self.lifecycle.spawn(ask);
        }
        Ok(None)
    }

    /// Returns a decision with the answers that are known. No hook is asked.
    pub(crate) fn recall(
        &self,
        profile: &ResolvedProfile,
        decided: Decided,
        known: &[HookAnswer],
    ) -> Decided {
        let Consulted { effect, .. } = consulted(&decided, &profile.hooks, known);
        decided.with_hooks(effect, profile.name(), self.encode)
    }

    /// Asks one hook, or waits for the answer if another call or server asks it.
    async fn ask(
        &self,
        hook: &ProfileHook,
        execution: &HookedExecution,
        decided: &Decided,
        effect: HookEffect,
    ) -> Result<HookAnswer, StoreError> {
        let binding = HookBinding(*decided.binding.as_bytes());
        let longest = self.hooks.longest_wait(&hook.name).unwrap_or_default();
        let stored = StoredQuestion {
            execution_id: execution.execution_id,
            session_id: execution.session_id,
            tenant: execution.tenant.clone(),
            principal: execution.principal.clone(),
            hook: hook.name.clone(),
            binding,
            required: hook.required,
            wait_micros: micros(longest.saturating_add(STORE_WAIT)),
        };
        loop {
            let share = self.waiting.take(execution.tenant.clone(), QUESTIONS, QUESTIONS_PER_TENANT);
            let full = |_| StoreError::Full { limit: "hook_questions", value: QUESTIONS as u64 };
            let share = share.map_err(full)?;
            match self.store.ask_hook(&stored).await? {
                HookQuestionState::Answered(answer) => return Ok(answer),
                HookQuestionState::Asked { wait_micros } => {
                    let wait = Duration::from_micros(wait_micros.unsigned_abs());
                    tokio::select! {
                        () = tokio::time::sleep(wait.clamp(Duration::from_millis(1), POLL)) => {}
                        () = self.lifecycle.stopped() => return Err(stopping()),
                    }
                }
                HookQuestionState::New => {
                    let question = HookQuestion {
                        execution: execution.clone(),
                        decision: decided.encoded_with(&effect, &execution.profile, self.encode),
                        binding,
                        allow_has_effect: effect.allow_has_effect(),
                    };
                    return self.call(stored, question, (effect, share)).await;
                }
            }
        }
    }

    /// Calls a hook and stores its answer.
    async fn call(
        &self,
        stored: StoredQuestion,
        question: HookQuestion,
        (effect, share): (HookEffect, airlock_limits::shares::Share<String>),
    ) -> Result<HookAnswer, StoreError> {
        let (tell, told) = oneshot::channel();
        let (hooks, store) = (self.hooks.clone(), self.store.clone());
        let call = async move {
            let _share = share;
            let reply = hooks.before(&stored.hook, &question).await;
            let mut answer = HookAnswer {
                hook: stored.hook.clone(),
                binding: question.binding,
                outcome: reply.outcome,
                reason: reply.reason,
                required: stored.required,
                in_effect: false,
            };
            answer.in_effect = effect.verdict_after(&answer, true).is_some();
            // If the caller has gone, the stored answer is sufficient.
            let _ = tell.send(store.answer_hook(&stored, &answer).await);
        };
        self.lifecycle.spawn(call.in_current_span());
        told.await.unwrap_or_else(|_| Err(stopping()))
    }

    fn asking(&self) -> MutexGuard<'_, HashSet<ExecutionId>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mark of a stored execution whose hooks a task asks.
struct Asking {
    desk: Arc<HookDesk>,
    id: ExecutionId,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.desk.asking().remove(&self.id);
    }
}

fn is_same_question(one: &HookAnswer, other: &HookAnswer) -> bool {
    one.hook == other.hook && one.binding == other.binding
}

fn stopping() -> StoreError {
    StoreError::Unavailable("the server is stopping, or a call to a hook was interrupted".to_owned())
}
