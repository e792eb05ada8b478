//! The calls of the conformance cases, made with the Rust client. Responses are values of JSON.

mod approvals;
mod files;
mod record;
mod spec;
mod values;

use std::{collections::HashMap, fs, path::Path};

use airlock_cli::render::names;
use airlock_client::{
    Client, ClientError, Credentials, Forward, From, OutputPiece, RunOptions, Selection, Settings,
    run_to_end, v1, wait_to_end,
};
use bytes::Bytes;
use serde_json::{Value, json};

use record::Recorder;
use spec::{network, signal, spec, texts};
pub(super) use values::of_error;
use values::{of_bytes, of_result, seconds, text_of};

/// Makes the calls of one case.
pub(super) struct Calls {
    client: Client,
    sessions: Vec<String>,
    /// The number of bytes that were written to the input of each execution.
    written: HashMap<String, u64>,
}

impl Calls {
    pub(super) fn new(client: Client) -> Self {
        Self { client, sessions: Vec::new(), written: HashMap::new() }
    }

    /// Closes the sessions of the case.
    pub(super) async fn close(self) -> Result<(), String> {
        for session in &self.sessions {
            self.client.close_session(session).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Makes a call.
    pub(super) async fn call(&mut self, name: &str, args: &Value) -> Result<Value, ClientError> {
        match name {
            "session.create" => self.create_session(args).await,
            "session.list" => self.list_sessions(args).await,
            "session.close" => self.client.close_session(text_of(args, "session")).await.map(|_| json!({})),
            "run" => self.run(args).await,
            "start" => self.start(args).await,
            "attach" => self.attach(args).await,
            "wait" => {
                let deadline = seconds(args, "deadline");
                Ok(of_result(&wait_to_end(&self.client, text_of(args, "execution"), deadline).await?))
            }
            "kill" => self.client.cancel(text_of(args, "execution")).await.map(|_| json!({})),
            "signal" => {
                let signal = signal(text_of(args, "signal"));
                self.client.signal(text_of(args, "execution"), signal).await.map(|_| json!({}))
            }
            "resize" => {
                let size = v1::TerminalSize {
                    rows: u32::try_from(args["rows"].as_u64().unwrap()).unwrap(),
                    cols: u32::try_from(args["cols"].as_u64().unwrap()).unwrap(),
                };
                self.client.resize(text_of(args, "execution"), size).await.map(|_| json!({}))
            }
            "stdin.write" => self.write(args).await,
            "stdin.end" => {
                let id = text_of(args, "execution");
                self.client
                    .write_stdin(id, self.written[id], &mut tokio::io::empty())
                    .await
                    .map(|_| json!({}))
            }
            "output.read" => self.read_output(args).await,
            "watch" => self.watch(args).await,
            "port.exchange" => self.exchange(args).await,
            "connect" => connect(args).await,
            name if name.starts_with("approval.") => approvals::call(&self.client, name, args).await,
            name => files::call(&self.client, name, args).await,
        }
    }

    async fn create_session(&mut self, args: &Value) -> Result<Value, ClientError> {
        let request = v1::SessionServiceCreateRequest {
            profile: text_of(args, "profile").to_owned(),
            labels: texts(&args["labels"]),
            network: network(&args["network"]),
            ..Default::default()
        };
        let session = self.client.create_session(request).await?;
        self.sessions.push(session.session_id.clone());
        let state = names::lower::<v1::SessionState>(session.state);
        Ok(json!({"id": session.session_id, "state": state, "profile": session.profile}))
    }

    async fn list_sessions(&self, args: &Value) -> Result<Value, ClientError> {
        let filter = v1::SessionFilter { labels: texts(&args["labels"]), ..Default::default() };
        let request = v1::SessionServiceListRequest { filter: Some(filter), ..Default::default() };
        let found = self.client.sessions(request).await?;
        assert!(found.next_page_token.is_empty(), "one page has all sessions of a case");
        Ok(json!({"count": found.sessions.len()}))
    }

    async fn run(&self, args: &Value) -> Result<Value, ClientError> {
        let options = RunOptions {
            input: args["input"].as_str().map(|text| Bytes::copy_from_slice(text.as_bytes())),
            deadline: seconds(args, "deadline"),
            keep_after_deadline: false,
        };
        let mut recorder = Recorder::default();
        let execution = run_to_end(&self.client, spec(args), options, |event| recorder.record(event)).await?;
        let mut made = of_result(&execution);
        made["events"] = recorder.json();
        Ok(made)
    }

    async fn start(&mut self, args: &Value) -> Result<Value, ClientError> {
        let execution = self.client.start(spec(args)).await?;
        self.written.insert(execution.execution_id.clone(), 0);
        Ok(json!({"execution": execution.execution_id}))
    }

    async fn attach(&self, args: &Value) -> Result<Value, ClientError> {
        let (cursor, offset) = (args["cursor"].as_str(), |stream: usize| args["offsets"][stream].as_u64());
        let from = match (cursor, offset(0).zip(offset(1))) {
            (Some(cursor), _) => From::Cursor(hex::decode(cursor).unwrap().into()),
            (None, Some((stdout, stderr))) => From::Offsets { stdout, stderr },
            (None, None) => From::Beginning,
        };
        let mut recorder = Recorder::default();
        let mut events = self.client.attach(text_of(args, "execution"), from);
        while !recorder.reached(&args["until"]) {
            let Some(event) = events.next().await? else { break };
            recorder.record(&event);
        }
        Ok(json!({"events": recorder.json()}))
    }

    async fn write(&mut self, args: &Value) -> Result<Value, ClientError> {
        let (id, mut data) = (text_of(args, "execution"), text_of(args, "data").as_bytes());
        let written = self.client.type_into(id, Some(self.written[id]), &mut data).await?;
        self.written.insert(id.to_owned(), written.accepted);
        Ok(json!({}))
    }

    async fn read_output(&self, args: &Value) -> Result<Value, ClientError> {
        let stream = if args["stderr"] == true { v1::OutputStream::Stderr } else { v1::OutputStream::Stdout };
        let mut reader = self.client.read_output(text_of(args, "execution"), stream, selection(args));
        let (mut data, mut gaps, mut lines, mut end) = (Vec::new(), Vec::new(), Vec::new(), json!(null));
        while let Some(piece) = reader.next().await? {
            match piece {
                OutputPiece::Bytes { data: part, .. } => data.extend_from_slice(&part),
                OutputPiece::Gap { from, to } => gaps.push([from, to]),
                OutputPiece::Line(line) => lines.push(json!({
                    "number": line.number,
                    "text": String::from_utf8_lossy(&line.data),
                    "context": line.context,
                })),
                OutputPiece::Done(done) => {
                    end = json!({
                        "total": done.total,
                        "complete": done.complete,
                        "matches": done.matches,
                        "more": done.more,
                    });
                }
            }
        }
        Ok(json!({"data": of_bytes(&data), "gaps": gaps, "lines": lines, "done": end}))
    }

    async fn watch(&self, args: &Value) -> Result<Value, ClientError> {
        let cursor: Bytes = hex::decode(text_of(args, "cursor")).unwrap().into();
        let mut watch = self.client.watch(text_of(args, "session"), cursor.clone());
        let (mut kinds, mut last) = (Vec::new(), String::new());
        while (kinds.len() as u64) < args["count"].as_u64().unwrap() {
            let event = watch.next().await?;
            last = hex::encode(&event.cursor);
            // A watch that continues is confirmed, too.
            if cursor.is_empty() || event.execution.is_some() {
                kinds.push(names::lower::<v1::WatchKind>(event.kind));
            }
        }
        Ok(json!({"kinds": kinds, "cursor": last}))
    }

    async fn exchange(&self, args: &Value) -> Result<Value, ClientError> {
        let port = u16::try_from(args["port"].as_u64().unwrap()).unwrap();
        let Forward { sender, mut receiver } =
            Forward::open(&self.client, text_of(args, "session"), port).await?;
        sender.send(Bytes::copy_from_slice(text_of(args, "send").as_bytes())).await;
        sender.finish().await;
        let mut received = Vec::new();
        while let Some(data) = receiver.next().await? {
            received.extend_from_slice(&data);
        }
        Ok(json!({"received": of_bytes(&received)}))
    }
}

fn selection(args: &Value) -> Selection {
    if let Some(search) = args["search"].as_object() {
        assert!(search.keys().all(|key| key == "pattern"), "{search:?}");
        let pattern = search["pattern"].as_str().unwrap().to_owned();
        return Selection::Search(v1::OutputSearch { pattern, ..Default::default() });
    }
    let number = |name: &str| args["selection"][name].as_u64();
    match (number("head_lines"), number("tail_lines"), number("tail_bytes"), number("offset")) {
        (Some(lines), ..) => Selection::HeadLines(lines),
        (_, Some(lines), ..) => Selection::TailLines(lines),
        (_, _, Some(bytes), _) => Selection::TailBytes(bytes),
        (.., Some(offset)) => Selection::Range { offset, length: number("length").unwrap_or(0) },
        _ => Selection::All,
    }
}

async fn connect(args: &Value) -> Result<Value, ClientError> {
    let settings = match args["state"].as_str() {
        Some(state) => Settings::of_dev(Path::new(state))?,
        None => {
            let mut settings = settings(args);
            if let Some(token) = args["token"].as_str() {
                settings.credentials = Credentials::Token(token.to_owned());
            }
            settings
        }
    };
    let client = Client::connect(settings).await?;
    client.sessions(v1::SessionServiceListRequest::default()).await?;
    Ok(json!({}))
}

/// Returns the settings for a server with a CA and a token, which are files.
pub(super) fn settings(known: &Value) -> Settings {
    let mut settings = Settings::new(known["address"].as_str().unwrap());
    settings.ca = known["ca"].as_str().map(|file| fs::read(file).unwrap());
    if let Some(file) = known["token_file"].as_str() {
        settings.credentials = Credentials::Token(fs::read_to_string(file).unwrap().trim().to_owned());
    }
    settings
}
