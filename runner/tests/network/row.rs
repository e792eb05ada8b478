//! One attempt: bytes that a command sends to the proxy. In the control, the same or the plain bytes arrive, because the
//! rules or the check do not stop them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use airlock_network::{Layer, LayerName, Layers, Rules};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time,
};

use crate::{
    index::Tried,
    lab::{Lab, MARK},
    proxy::Execution,
};

/// The time for the end of a connection. The proxy ends slow connections earlier.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes that depend on the execution: its credential, and the address of its proxy.
pub(crate) type Message = Arc<dyn Fn(&Lab, &Execution) -> Vec<u8> + Send + Sync>;

/// The rules of an attempt.
#[derive(Clone, Default)]
pub(crate) struct Access {
    any: bool,
    allow: Vec<String>,
    deny: Vec<String>,
}

/// Every public host on the ports 80 and 443.
pub(crate) fn any() -> Access {
    Access { any: true, ..Access::default() }
}

/// Only these entries.
pub(crate) fn only(allow: &[&str]) -> Access {
    any().only().and(allow)
}

impl Access {
    fn only(self) -> Self {
        Self { any: false, ..self }
    }

    /// Adds entries to `allow`. `{proxy}` is the port of the proxy.
    pub(crate) fn and(mut self, allow: &[&str]) -> Self {
        self.allow.extend(allow.iter().map(|entry| (*entry).to_owned()));
        self
    }

    /// Adds entries to `deny`.
    pub(crate) fn not(mut self, deny: &[&str]) -> Self {
        self.deny.extend(deny.iter().map(|entry| (*entry).to_owned()));
        self
    }

    fn layers(&self, proxy: u16) -> Arc<Layers> {
        let filled = |entry: &String| entry.replace("{proxy}", &proxy.to_string());
        let allow: Vec<String> = self.allow.iter().map(filled).collect();
        let rules = Rules::parse(self.any, &allow, &self.deny).unwrap_or_else(|errors| panic!("{errors:?}"));
        Arc::new(Layers::new(vec![Layer { name: LayerName::Profile, rules }]))
    }
}

/// A row. A row that was not given a control fails.
pub(crate) struct Row {
    group: &'static str,
    name: String,
    access: Access,
    message: Message,
    /// A text that must not arrive, in lower case.
    mark: String,
    answers: Vec<(String, Vec<Vec<IpAddr>>)>,
    control: Option<(Access, Message)>,
}

impl Row {
    pub(crate) fn new(group: &'static str, name: &str, access: Access, message: Message) -> Self {
        let (name, mark) = (name.to_owned(), MARK.to_owned());
        Self { group, name, access, message, mark, answers: Vec::new(), control: None }
    }

    /// Sets the text that must not arrive.
    pub(crate) fn mark(self, mark: &str) -> Self {
        Self { mark: mark.to_owned(), ..self }
    }

    /// Sets the answers of the resolver for a name, one after the other.
    pub(crate) fn resolved(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parsed = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.push((name.to_owned(), answers.iter().map(parsed).collect()));
        self
    }

    /// Sets the control: the same bytes under other rules.
    pub(crate) fn but_under(self, access: Access) -> Self {
        let message = Arc::clone(&self.message);
        Self { control: Some((access, message)), ..self }
    }

    /// Sets the control: other bytes under the same rules.
    pub(crate) fn but_sent(self, message: Message) -> Self {
        let access = self.access.clone();
        Self { control: Some((access, message)), ..self }
    }

    /// Sets the control: other bytes under other rules.
    pub(crate) fn but(self, access: Access, message: Message) -> Self {
        Self { control: Some((access, message)), ..self }
    }

    /// Sets the control: the same bytes in a tunnel that the proxy does not look into.
    pub(crate) fn but_in_a_raw_tunnel(self) -> Self {
        let message = Arc::clone(&self.message);
        let wrapped: Message = Arc::new(move |lab, execution| {
            let connect = format!("CONNECT web.test:80 HTTP/1.1\r\n{}\r\n", execution.header());
            [connect.into_bytes(), message(lab, execution)].concat()
        });
        self.but(only(&["web.test:80/tcp"]), wrapped)
    }

    /// Makes the attempt, and its control.
    pub(crate) async fn tried(self, lab: &Lab) -> Tried {
        let attempt = self.sent(lab, &self.access, &self.message).await;
        let control = match &self.control {
            Some((access, message)) => self.sent(lab, access, message).await,
            None => None,
        };
        Tried { group: self.group, name: self.name, attempt, control }
    }

    /// Sends a message on one connection, and returns what it reached.
    async fn sent(&self, lab: &Lab, access: &Access, message: &Message) -> Option<String> {
        for (name, answers) in &self.answers {
            let answers: Vec<&[IpAddr]> = answers.iter().map(Vec::as_slice).collect();
            lab.fixture.answers.set(name, &answers);
        }
        let mut execution = lab.fixture.serve(&[]).await;
        execution.layers.send(access.layers(execution.address.port())).unwrap();
        lab.forget();
        let bytes = message(lab, &execution);
        let mut stream = execution.connect().await;
        // The proxy may close before it has read everything.
        let _ = stream.write_all(&bytes).await;
        // The end of a tunnel's client ends the tunnel. A client of HTTP waits for its answer.
        if bytes.starts_with(b"CONNECT ") || bytes.starts_with(&[5]) {
            let _ = stream.shutdown().await;
        }
        let mut answer = Vec::new();
        let ended = time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "{}: {}: the connection stays open", self.group, self.name);
        execution.cancel.cancel();
        (&mut execution.task).await.unwrap();
        lab.settled().await;
        lab.reached(&self.mark)
    }
}

/// Returns bytes of HTTP. `{auth}` is the header with the credential, and `{proxy}` the port of the proxy.
pub(crate) fn http(text: &str) -> Message {
    let text = text.to_owned();
    Arc::new(move |_, execution| {
        let text = text.replace("{auth}", &execution.header());
        text.replace("{proxy}", &execution.address.port().to_string()).into_bytes()
    })
}

/// Returns a request with an absolute URL.
pub(crate) fn get(url: &str) -> Message {
    http(&format!("GET {url} HTTP/1.1\r\n{{auth}}Connection: close\r\n\r\n"))
}

/// Returns a request for a tunnel, and the first bytes in it.
pub(crate) fn connect(target: &str, first: &str) -> Message {
    http(&format!("CONNECT {target} HTTP/1.1\r\n{{auth}}\r\n{first}"))
}
