//! The options of a command and the parts of a result, by the names that the cases use.

use airlock_client::v1;
use serde_json::Value;

/// The arguments of a call that are not options of the command.
const OTHER: [&str; 4] = ["session", "command", "input", "deadline"];

/// Returns the command of a call.
pub(super) fn spec(args: &Value) -> v1::ExecutionSpec {
    let mut spec = v1::ExecutionSpec {
        command: args["command"].as_str().unwrap().to_owned(),
        session_id: args["session"].as_str().unwrap_or_default().to_owned(),
        ..Default::default()
    };
    for (name, value) in args.as_object().unwrap() {
        let is_set = value == true;
        let text = || value.as_str().unwrap().to_owned();
        match name.as_str() {
            "timeout" => {
                spec.timeout = Some(prost_types::Duration { seconds: value.as_i64().unwrap(), nanos: 0 });
            }
            "env" => spec.env = texts(value),
            "separate_stderr" => spec.separate_stderr = is_set,
            "stdin" => spec.stdin = is_set,
            "background" => spec.background = is_set,
            "request_id" => spec.request_id = text(),
            "umask" => spec.umask = text(),
            "network" => spec.network = network(value),
            "on_ask" => {
                assert_eq!(value, "wait");
                spec.on_ask = v1::OnAsk::Wait.into();
            }
            "pty" => {
                let size = |name: &str| u32::try_from(value[name].as_u64().unwrap()).unwrap();
                spec.pty = Some(v1::Pty { rows: size("rows"), cols: size("cols"), term: String::new() });
            }
            other => assert!(OTHER.contains(&other), "the runner does not know the option `{other}`"),
        }
    }
    spec
}

/// Returns a map of texts.
pub(super) fn texts<M: FromIterator<(String, String)>>(value: &Value) -> M {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect()
}

/// Returns network rules, if they are given.
pub(super) fn network(value: &Value) -> Option<v1::NetworkRules> {
    let allow = value["allow"].as_array()?;
    let allow = allow.iter().map(|host| host.as_str().unwrap().to_owned()).collect();
    Some(v1::NetworkRules { allow, ..Default::default() })
}

pub(super) fn signal(name: &str) -> v1::Signal {
    v1::Signal::from_str_name(&format!("SIGNAL_{}", name.to_uppercase())).unwrap()
}
