//! Tests of connections that a rule asks a person about: the proxy holds them, an answer covers one target, and the hold
//! ends.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use airlock_egress::{Outcome, Questions, Unanswered};
use airlock_network::{Rules, Target as Asked};
use async_trait::async_trait;
use tokio::{
    io::AsyncWriteExt,
    sync::{Notify, mpsc, watch},
};

use crate::{
    fixture::{Execution, Fixture, LISTED, UNLISTED, head_of, is_closed, rules, soon, status},
    target::Target,
};

/// A person who is told of each question, and gives one answer to all of them.
#[derive(Debug)]
struct Person {
    told: mpsc::Sender<String>,
    answer: watch::Sender<Option<bool>>,
    waiting: AtomicUsize,
    left: Notify,
}

struct Left<'a>(&'a Person);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        self.0.left.notify_one();
    }
}

#[async_trait]
impl Questions for Person {
    async fn ask(&self, target: &Asked, rule: &str) -> Result<(), Unanswered> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _left = Left(self);
        self.told.send(format!("{target} by {rule}")).await.unwrap();
        let mut answer = self.answer.subscribe();
        let is_yes = *answer.wait_for(Option::is_some).await.unwrap() == Some(true);
        let refused = || Unanswered { question: "a person said no".to_owned(), remedy: "wait".to_owned() };
        if is_yes { Ok(()) } else { Err(refused()) }
    }
}

fn person() -> (Arc<Person>, mpsc::Receiver<String>) {
    let (told, questions) = mpsc::channel(16);
    let (answer, waiting, left) = (watch::Sender::new(None), AtomicUsize::new(0), Notify::new());
    (Arc::new(Person { told, answer, waiting, left }), questions)
}

fn asking(allow: &[String], deny: &[&str], ask: &[String]) -> Rules {
    let deny: Vec<String> = deny.iter().map(|entry| (*entry).to_owned()).collect();
    Rules::parse(false, allow, &deny).unwrap().asking(ask).unwrap()
}

/// Asks for a tunnel, and does not wait for the answer.
async fn begin(execution: &Execution, target: &str) -> tokio::net::TcpStream {
    let mut stream = execution.connect().await;
    let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", execution.header());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_held_connection_sends_nothing_until_a_person_allows_it() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let (person, mut questions) = person();
    let own: Arc<dyn Questions> = Arc::clone(&person) as Arc<dyn Questions>;
    let listed = [format!("{LISTED}:{port}/tcp")];
    let ask = asking(&listed, &[], &[format!("*.test:{port}/tcp")]);
    let mut execution = fixture.ask(ask, Some(own)).await;
    let mut held = begin(&execution, &format!("web.test:{port}")).await;
    let question = soon(questions.recv()).await.unwrap();
    assert_eq!(question, format!("web.test:{port} by Network(*.test:{port}/tcp)"));
    assert_eq!((fixture.answers.asked().len(), target.connections()), (0, 0), "not even a lookup");
    person.answer.send_replace(Some(true));
    assert_eq!(status(&head_of(&mut held).await), 200);
    drop(held);
    let report = execution.report().await;
    assert_eq!(report.outcome, Outcome::Allowed);
    assert_eq!(report.rule.as_deref(), Some(format!("Network(*.test:{port}/tcp)").as_str()));
    assert_eq!(execution.status(&format!("{LISTED}:{port}")).await, 200, "the control: no rule asks");
    assert!(questions.try_recv().is_err());
}

#[tokio::test]
async fn a_no_is_a_refusal_with_its_reason() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let (person, _questions) = person();
    person.answer.send_replace(Some(false));
    let ask = || asking(&[format!("{LISTED}:{port}")], &[], &[format!("web.test:{port}")]);
    let own: Arc<dyn Questions> = person;
    for (questions, reason) in [(Some(own), "a person said no; wait"), (None, "nobody can be asked")] {
        let mut execution = fixture.ask(ask(), questions).await;
        let (_, head) = execution.tunnel(&format!("web.test:{port}")).await;
        assert_eq!(status(&head), 403, "{head}");
        assert!(head.contains(&format!("rule `Network(web.test:{port})`")), "{head}");
        let report = execution.report().await;
        assert_eq!(report.outcome, Outcome::Refused);
        assert!(report.remedy.unwrap().starts_with(reason), "{reason}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_refusal_of_the_rules_asks_nobody() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let (person, mut questions) = person();
    person.answer.send_replace(Some(true));
    let own: Arc<dyn Questions> = person;
    let all = [format!("*.test:{port}/tcp"), format!("{UNLISTED}:{port}"), "0.0.0.0/0".to_owned()];
    let ask = asking(&[format!("{LISTED}:{port}")], &["other.test"], &all);
    let execution = fixture.ask(ask, Some(own)).await;
    let refused = [
        format!("other.test:{port}"),
        "web.example:443".to_owned(),
        // A range does not list the loopback.
        format!("127.0.0.5:{port}"),
    ];
    for target in refused {
        assert_eq!(execution.status(&target).await, 403, "{target}");
    }
    assert!(questions.try_recv().is_err(), "nobody was asked");
    // The name is asked about. Its address is checked after the answer.
    let inside = format!("inside.test:{port}");
    assert_eq!(execution.status(&inside).await, 502, "the rules list the address, where nothing listens");
    let strict = asking(&[format!("{LISTED}:{port}")], &[], &[format!("*.test:{port}/tcp")]);
    let _ = execution.layers.send(Arc::new(airlock_network::Layers::new(vec![airlock_network::Layer {
        name: airlock_network::LayerName::Profile,
        rules: strict,
    }])));
    assert_eq!(execution.status(&format!("inside.test:{port}")).await, 403);
}

#[tokio::test]
async fn a_hold_ends_with_its_client_and_with_a_change_that_refuses_it() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let (person, mut questions) = person();
    let own: Arc<dyn Questions> = Arc::clone(&person) as Arc<dyn Questions>;
    let ask = asking(&[format!("{LISTED}:{port}")], &[], &[format!("web.test:{port}/tcp")]);
    let execution = fixture.ask(ask, Some(own)).await;
    let name = format!("web.test:{port}");

    let tunnel = begin(&execution, &name).await;
    soon(questions.recv()).await.unwrap();
    drop(tunnel);
    soon(person.left.notified()).await;
    assert_eq!(person.waiting.load(Ordering::SeqCst), 0, "the HTTP client has closed");

    let mut socks = execution.connect().await;
    let token = execution.token.expose();
    let mut bytes = vec![5, 1, 2, 1, 0, u8::try_from(token.len()).unwrap()];
    bytes.extend_from_slice(token.as_bytes());
    bytes.extend_from_slice(&[5, 1, 0, 3, 8]);
    bytes.extend_from_slice(b"web.test");
    bytes.extend_from_slice(&port.to_be_bytes());
    socks.write_all(&bytes).await.unwrap();
    soon(questions.recv()).await.unwrap();
    drop(socks);
    soon(person.left.notified()).await;
    assert_eq!(person.waiting.load(Ordering::SeqCst), 0, "the SOCKS client has closed");

    let mut held = begin(&execution, &name).await;
    soon(questions.recv()).await.unwrap();
    execution.layers.send(rules(&[], &[])).unwrap();
    assert_eq!(status(&head_of(&mut held).await), 403);
    assert!(is_closed(&mut held).await || person.waiting.load(Ordering::SeqCst) == 0);
    assert_eq!(target.connections(), 0);
}
