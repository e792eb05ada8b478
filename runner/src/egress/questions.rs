//! The questions of one execution to a person about its connections.
//!
//! A question is reported to every server, and again on each new link, until it is answered, its time is over, or no
//! connection waits for it any more. This module must not decide which targets are asked about.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{
    ApprovalId, ConnectionAnswer, ConnectionAsked, ConnectionQuestions, ExecutionId, FromRunner,
    limits::{CONNECTION_WAIT_MAX, QUESTIONS_AT_ONCE, QUESTIONS_PER_EXECUTION},
};
use airlock_egress::{Questions, Unanswered};
use airlock_network::Target;
use async_trait::async_trait;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use crate::reports::Reports;

/// The remedy for a connection without an answer.
const NAME_THE_HOST: &str = "name the host in the text of a command, and have the command approved";

/// The questions of one execution.
#[derive(Debug)]
pub(crate) struct ExecutionQuestions {
    execution_id: ExecutionId,
    wait: Duration,
    reports: Arc<Reports>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of questions so far.
    asked: usize,
    targets: BTreeMap<Target, Standing>,
}

/// The state of one target.
#[derive(Debug)]
enum Standing {
    Answered(ConnectionAnswer),
    Open(Question),
}

/// A question that connections wait for.
#[derive(Debug)]
struct Question {
    asked: ConnectionAsked,
    deadline: Instant,
    /// The number of connections that wait.
    waiting: usize,
    answer: watch::Sender<Option<ConnectionAnswer>>,
}

/// A connection that waits. Dropping it ends the question if no other connection waits for it.
struct Waiting<'a> {
    questions: &'a ExecutionQuestions,
    target: &'a Target,
    id: ApprovalId,
    deadline: Instant,
    answer: watch::Receiver<Option<ConnectionAnswer>>,
}

impl ExecutionQuestions {
    /// Creates the questions of an execution. The targets that its grant states are answered.
    pub(crate) fn new(execution_id: ExecutionId, given: &ConnectionQuestions, reports: Arc<Reports>) -> Self {
        let answered = given.answered.iter().filter_map(|text| Target::parse(text).ok());
        let targets =
            answered.map(|target| (target, Standing::Answered(ConnectionAnswer::Allowed))).collect();
        let wait = given.wait.min(CONNECTION_WAIT_MAX);
        Self { execution_id, wait, reports, state: Mutex::new(State { asked: 0, targets }) }
    }

    /// Passes on the answer of a server. An answer to a question that is no longer open is ignored.
    pub(crate) fn answer(&self, id: ApprovalId, answer: &ConnectionAnswer) {
        let mut state = self.state();
        let is_this = |standing: &Standing| matches!(standing, Standing::Open(question) if question.asked.approval_id == id);
        let Some((target, _)) = state.targets.iter().find(|(_, standing)| is_this(standing)) else { return };
        let target = target.clone();
        let Some(Standing::Open(question)) = state.targets.remove(&target) else { return };
        question.answer.send_replace(Some(answer.clone()));
        if !matches!(answer, ConnectionAnswer::Unanswered { .. }) {
            state.targets.insert(target, Standing::Answered(answer.clone()));
        }
    }

    /// Returns the open questions, for a new link.
    pub(crate) fn open(&self) -> Vec<FromRunner> {
        let state = self.state();
        let open = state.targets.values().filter_map(|standing| match standing {
            Standing::Open(question) => {
                let wait = question.deadline.saturating_duration_since(Instant::now());
                Some(FromRunner::Asked(ConnectionAsked { wait, ..question.asked.clone() }))
            }
            Standing::Answered(_) => None,
        });
        open.collect()
    }

    /// Joins the question about a target, or asks a new one.
    fn enter<'a>(&'a self, target: &'a Target, rule: &str) -> Result<Option<Waiting<'a>>, Unanswered> {
        let mut state = self.state();
        match state.targets.get_mut(target) {
            Some(Standing::Answered(answer)) => return as_result(answer).map(|()| None),
            Some(Standing::Open(question)) => {
                question.waiting += 1;
                let (id, deadline) = (question.asked.approval_id, question.deadline);
                let answer = question.answer.subscribe();
                return Ok(Some(Waiting { questions: self, target, id, deadline, answer }));
            }
            None => self.check_room(&state)?,
        }
        let (sender, answer) = watch::channel(None);
        let (id, deadline) = (ApprovalId::new(), Instant::now() + self.wait);
        let asked = ConnectionAsked {
            approval_id: id,
            execution_id: self.execution_id,
            host: target.host.to_string(),
            port: target.port,
            rule: rule.to_owned(),
            wait: self.wait,
        };
        let question = Question { asked: asked.clone(), deadline, waiting: 1, answer: sender };
        state.asked += 1;
        state.targets.insert(target.clone(), Standing::Open(question));
        drop(state);
        // Not while the state is locked: a new link locks the reports, and then reads the state.
        self.reports.send(&FromRunner::Asked(asked));
        Ok(Some(Waiting { questions: self, target, id, deadline, answer }))
    }

    fn check_room(&self, state: &State) -> Result<(), Unanswered> {
        let refused =
            |question: String, remedy: &str| Err(Unanswered { question, remedy: remedy.to_owned() });
        if self.wait.is_zero() {
            let remedy = format!("run the command with `--on-ask wait` (`on_ask: WAIT`), or {NAME_THE_HOST}");
            return refused("the request does not wait for an answer".to_owned(), &remedy);
        }
        let open = state.targets.values().filter(|standing| matches!(standing, Standing::Open(_))).count();
        if open >= QUESTIONS_AT_ONCE {
            let question = format!("connections to {open} other targets of the command wait for answers");
            return refused(question, "connect again after they are answered");
        }
        if state.asked >= QUESTIONS_PER_EXECUTION {
            let question = format!("the command has already asked {QUESTIONS_PER_EXECUTION} questions");
            return refused(question, NAME_THE_HOST);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Questions for ExecutionQuestions {
    async fn ask(&self, target: &Target, rule: &str) -> Result<(), Unanswered> {
        let Some(mut waiting) = self.enter(target, rule)? else { return Ok(()) };
        let deadline = waiting.deadline;
        let answered = timeout_at(deadline, waiting.answer.wait_for(Option::is_some)).await;
        // Copied, so that the value is not locked when the end of the wait locks the state.
        let answered = answered.ok().and_then(Result::ok).and_then(|answer| (*answer).clone());
        answered.as_ref().map_or_else(|| Err(self.unanswered()), as_result)
    }
}

impl ExecutionQuestions {
    fn unanswered(&self) -> Unanswered {
        Unanswered {
            question: format!("nobody answered within {} seconds", self.wait.as_secs()),
            remedy: format!("connect again, or {NAME_THE_HOST}"),
        }
    }
}

fn as_result(answer: &ConnectionAnswer) -> Result<(), Unanswered> {
    match answer {
        ConnectionAnswer::Allowed => Ok(()),
        ConnectionAnswer::Denied { reason } => {
            Err(Unanswered { question: reason.clone(), remedy: "do without this host".to_owned() })
        }
        ConnectionAnswer::Unanswered { reason } => {
            Err(Unanswered { question: reason.clone(), remedy: format!("connect again, or {NAME_THE_HOST}") })
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Self { questions, target, id, .. } = self;
        let mut state = questions.state();
        let Some(Standing::Open(question)) = state.targets.get_mut(*target) else { return };
        if question.asked.approval_id != *id {
            return;
        }
        question.waiting = question.waiting.saturating_sub(1);
        if question.waiting > 0 {
            return;
        }
        state.targets.remove(*target);
        drop(state);
        let (execution_id, approval_id) = (questions.execution_id, *id);
        questions.reports.send(&FromRunner::Unasked { execution_id, approval_id });
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn target(text: &str) -> Target {
        Target::parse(text).unwrap()
    }

    fn questions(
        wait: Duration,
        answered: &[&str],
    ) -> (Arc<ExecutionQuestions>, tokio::sync::mpsc::Receiver<FromRunner>) {
        let reports = Arc::new(Reports::default());
        let (_, _, queue) = reports.attach(1_000, CancellationToken::new(), Vec::new);
        let answered = answered.iter().map(|text| (*text).to_owned()).collect();
        let given = ConnectionQuestions { answered, wait };
        (Arc::new(ExecutionQuestions::new(ExecutionId::new(), &given, reports)), queue)
    }

    const MINUTE: Duration = Duration::from_secs(60);

    async fn next(queue: &mut tokio::sync::mpsc::Receiver<FromRunner>) -> ConnectionAsked {
        match queue.recv().await {
            Some(FromRunner::Asked(asked)) => asked,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn connections_to_one_target_share_a_question_and_its_answer() {
        let (questions, mut queue) = questions(MINUTE, &[]);
        let ask = |text: &'static str| {
            let questions = Arc::clone(&questions);
            tokio::spawn(async move { questions.ask(&target(text), "Network(a.example)").await })
        };
        let (first, second) = (ask("a.example:443"), ask("a.example:443"));
        let asked = next(&mut queue).await;
        assert_eq!(
            (asked.host.as_str(), asked.port, asked.rule.as_str()),
            ("a.example", 443, "Network(a.example)")
        );
        let other = ask("a.example:80");
        let about_other = next(&mut queue).await;
        assert_eq!(about_other.port, 80);
        questions.answer(ApprovalId::new(), &ConnectionAnswer::Allowed);
        assert_eq!(questions.open().len(), 2, "an answer to another question changes nothing");
        questions.answer(asked.approval_id, &ConnectionAnswer::Allowed);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(()), Ok(())));
        assert!(!other.is_finished(), "an answer covers one port");
        let reason = "a person said no".to_owned();
        questions.answer(about_other.approval_id, &ConnectionAnswer::Denied { reason: reason.clone() });
        assert_eq!(other.await.unwrap().unwrap_err().question, reason);
        // Both answers hold for the execution.
        assert_eq!(questions.ask(&target("a.example:443"), "r").await, Ok(()));
        assert!(questions.ask(&target("a.example:80"), "r").await.is_err());
        assert!(queue.try_recv().is_err(), "nothing was asked again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_ends_with_its_time_and_with_its_last_connection() {
        let (questions, mut queue) = questions(MINUTE, &["b.example:443"]);
        assert_eq!(questions.ask(&target("b.example:443"), "r").await, Ok(()), "the grant answers it");
        let late = questions.ask(&target("a.example:443"), "r").await.unwrap_err();
        assert_eq!(late.question, "nobody answered within 60 seconds");
        let asked = next(&mut queue).await;
        let unasked = |id| FromRunner::Unasked { execution_id: asked.execution_id, approval_id: id };
        assert_eq!(queue.recv().await, Some(unasked(asked.approval_id)));

        let again = Arc::clone(&questions);
        let task = tokio::spawn(async move { again.ask(&target("a.example:443"), "r").await });
        let asked = next(&mut queue).await;
        let reason = "too many questions are open".to_owned();
        questions.answer(asked.approval_id, &ConnectionAnswer::Unanswered { reason });
        assert!(task.await.unwrap().unwrap_err().remedy.starts_with("connect again"));

        let again = Arc::clone(&questions);
        let task = tokio::spawn(async move { again.ask(&target("a.example:443"), "r").await });
        let asked = next(&mut queue).await;
        task.abort();
        assert_eq!(queue.recv().await, Some(unasked(asked.approval_id)), "the client has closed");
        assert!(questions.open().is_empty());
        questions.answer(asked.approval_id, &ConnectionAnswer::Allowed);
        assert!(questions.open().is_empty(), "a late answer allows nothing");
    }

    #[tokio::test]
    async fn questions_are_bounded_and_need_a_request_that_waits() {
        let (silent, mut queue) = questions(Duration::ZERO, &[]);
        let refused = silent.ask(&target("a.example:443"), "r").await.unwrap_err();
        assert!(refused.remedy.contains("--on-ask wait"), "{refused:?}");
        assert!(queue.try_recv().is_err(), "nobody is asked");

        let (questions, mut queue) = questions(MINUTE, &[]);
        let mut tasks = tokio::task::JoinSet::new();
        let mut ask = |number: usize| {
            let questions = Arc::clone(&questions);
            tasks.spawn(async move { questions.ask(&target(&format!("h{number}.example:443")), "r").await })
        };
        for number in 0..QUESTIONS_AT_ONCE {
            ask(number);
            next(&mut queue).await;
        }
        let refused = questions.ask(&target("more.example:443"), "r").await.unwrap_err();
        assert!(refused.question.contains("wait for answers"), "{refused:?}");
        for number in QUESTIONS_AT_ONCE..QUESTIONS_PER_EXECUTION {
            let FromRunner::Asked(open) = questions.open().remove(0) else { panic!("it is open") };
            questions.answer(open.approval_id, &ConnectionAnswer::Allowed);
            ask(number);
            next(&mut queue).await;
        }
        let FromRunner::Asked(open) = questions.open().remove(0) else { panic!("it is open") };
        questions.answer(open.approval_id, &ConnectionAnswer::Allowed);
        let refused = questions.ask(&target("more.example:443"), "r").await.unwrap_err();
        assert!(refused.question.contains("already asked 64"), "{refused:?}");
    }
}
