//! The tools: their names, descriptions and arguments. The submodules have their work.

mod arguments;
mod check;
mod commands;
mod files;
mod output;

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    call::Call,
    text::{self, Reply},
};
use arguments::{FILE_BYTES, LINES, PART_BYTES, PART_BYTES_MAX, WAIT_SECONDS_MAX};

/// The number of characters of a result that a client should give to the model as they are. Claude Code stores a longer
/// result in a file on its own host, which the model cannot read with the tools of Airlock.
const RESULT_CHARACTERS: u64 = 200_000;

/// Calls a tool. Returns `None` for an unknown name.
pub(crate) async fn call(name: &str, mut arguments: JsonObject, call: &Call<'_>) -> Option<Reply> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    // Models send null for an argument that they leave out.
    arguments.retain(|_, value| !value.is_null());
    if let Some(problems) = check::problems(&tool.input_schema, &arguments) {
        return Some(Err(text::note(&format!("wrong arguments: {problems}"))));
    }
    Some(match name {
        "run" => with(arguments, |command| commands::run(call, command)).await,
        "start" => with(arguments, |command| commands::start(call, command)).await,
        "output" => with(arguments, |output| output::output(call, output)).await,
        "input" => with(arguments, |input| output::input(call, input)).await,
        "stop" => with(arguments, |stop| commands::stop(call, stop)).await,
        "read_file" => with(arguments, |read| files::read(call, read)).await,
        "write_file" => with(arguments, |write| files::write(call, write)).await,
        "edit_file" => with(arguments, |edit| files::edit(call, edit)).await,
        "list_files" => with(arguments, |list| files::list(call, list)).await,
        _ => return None,
    })
}

/// Parses the arguments of a tool and calls it.
async fn with<T: DeserializeOwned>(arguments: JsonObject, tool: impl AsyncFnOnce(T) -> Reply) -> Reply {
    match serde_json::from_value(Value::Object(arguments)) {
        // A tool is a large future.
        Ok(parsed) => Box::pin(tool(parsed)).await,
        Err(error) => {
            let problem = airlock_escape::line(error.to_string().as_bytes());
            Err(text::note(&format!("wrong arguments: {problem}")))
        }
    }
}

/// Returns the definitions of all tools.
pub(crate) fn list() -> Vec<Tool> {
    TOOLS.clone()
}

static TOOLS: LazyLock<Vec<Tool>> =
    LazyLock::new(|| about_commands().into_iter().chain(about_executions()).chain(about_files()).collect());

fn tool(name: &'static str, description: String, required: &[&str], properties: &Value) -> Tool {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }) else {
        return Tool::default();
    };
    let reads = matches!(name, "output" | "read_file" | "list_files");
    let annotations =
        ToolAnnotations::new().read_only(reads).open_world(matches!(name, "run" | "start" | "input"));
    let Value::Object(meta) = json!({
        // The model needs no search to find these tools.
        "anthropic/alwaysLoad": true,
        "anthropic/maxResultSizeChars": RESULT_CHARACTERS,
    }) else {
        return Tool::default();
    };
    Tool::new(name, description, Arc::new(schema)).with_annotations(annotations).with_meta(MetaObject(meta))
}

fn about_commands() -> [Tool; 2] {
    let command = json!({"type": "string", "minLength": 1, "description": "The text for bash."});
    let description =
        json!({"type": "string", "description": "The purpose in a few words. An approver sees it."});
    let seconds = |text: &str| json!({"type": "integer", "minimum": 1, "description": text});
    [
        tool(
            "run",
            "Runs a bash command in a sandbox and waits for its end. The working directory and the files remain for \
             the next command; variables do not. Returns the output (standard output and standard error in the order \
             of the writes), then lines that begin with `airlock: `: the exit code unless it is 0, the reason why a \
             command did not run, and notes. Of an output above about 30,000 bytes, it returns about 2,500 bytes of the \
             beginning and of the end; the tool `output` returns the rest. Policy decides about every command. It can \
             deny it, or ask a person; the call then waits. Use `start` for a server or another command that does not \
             end."
                .to_owned(),
            &["command"],
            &json!({
                "command": command,
                "timeout_seconds": seconds("End the command after this time. Default: the profile's, normally 120."),
                "description": description,
            }),
        ),
        tool(
            "start",
            "Starts a bash command in the background and returns its ID at once. Its input stays open. Use `output` to \
             read its output, `input` to write to it, and `stop` to end it. It ends with this connection."
                .to_owned(),
            &["command"],
            &json!({
                "command": command,
                "timeout_seconds": seconds("End the command after this time. Default: the profile's maximum."),
                "description": description,
            }),
        ),
    ]
}

fn about_executions() -> [Tool; 3] {
    let wait = |default: u64| {
        json!({
            "type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": default,
            "description": "Wait up to this number of seconds for new output or for the end of the command.",
        })
    };
    let id = json!({"type": "string", "minLength": 1, "description": "The ID of the command, as another tool returned it."});
    [
        tool(
            "output",
            format!(
                "Returns a part of a command's output, and whether the command still runs. Without an offset it \
                 continues after the previous call. At most {PART_BYTES_MAX} bytes per call. Use it for a command of \
                 `start`, for one that waits for an approval, and for the rest of a long output. Terminal escapes and \
                 other control characters are left out."
            ),
            &["id"],
            &json!({
                "id": id,
                "offset": {"type": "integer", "minimum": 0, "description": "The first byte to return, counted from the start of the output."},
                "length": {"type": "integer", "minimum": 1, "maximum": PART_BYTES_MAX, "default": PART_BYTES, "description": "The number of bytes."},
                "wait_seconds": wait(0),
            }),
        ),
        tool(
            "input",
            "Writes text to the input of a command of `start`, and returns the new output.".to_owned(),
            &["id", "text"],
            &json!({
                "id": id,
                "text": {"type": "string", "description": "The text as it is. A line needs its newline."},
                "end": {"type": "boolean", "default": false, "description": "Close the input after the text."},
                "wait_seconds": wait(1),
            }),
        ),
        tool(
            "stop",
            "Ends a command and everything that it started: SIGTERM, then SIGKILL. Returns its result."
                .to_owned(),
            &["id"],
            &json!({"id": id}),
        ),
    ]
}

fn about_files() -> [Tool; 4] {
    let about = "Absolute, or relative to the working directory of the commands. Workspace: /workspace.";
    let path = json!({"type": "string", "minLength": 1, "description": about});
    [
        tool(
            "read_file",
            format!(
                "Returns lines of a UTF-8 text file, at most {PART_BYTES_MAX} bytes, and the number of the next line if there \
                 is one. A line that begins with `airlock:` is shown with `| ` before it."
            ),
            &["path"],
            &json!({
                "path": path,
                "line": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line."},
                "lines": {"type": "integer", "minimum": 1, "default": LINES, "description": "The number of lines."},
            }),
        ),
        tool(
            "write_file",
            format!(
                "Writes a text file of at most {FILE_BYTES} bytes. Replaces an existing file, and creates missing \
                 directories."
            ),
            &["path", "content"],
            &json!({"path": path, "content": {"type": "string", "description": "The whole content."}}),
        ),
        tool(
            "edit_file",
            format!(
                "Replaces an exact text in a UTF-8 file of at most {FILE_BYTES} bytes. The old text must occur exactly \
                 once, unless `all` is set."
            ),
            &["path", "old_text", "new_text"],
            &json!({
                "path": path,
                "old_text": {"type": "string", "description": "The text to replace, with its white space."},
                "new_text": {"type": "string", "description": "The text to put there."},
                "all": {"type": "boolean", "default": false, "description": "Replace every occurrence."},
            }),
        ),
        tool(
            "list_files",
            "Lists the files of a directory, or with `recursive` all files below it, at most 1,000. A directory has a \
             slash after its name."
                .to_owned(),
            &[],
            &json!({
                "path": {"type": "string", "description": format!("{about} Default: the working directory.")},
                "recursive": {"type": "boolean", "default": false, "description": "Also list what is below directories, except in `.git`."},
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_and_a_description() {
        let tools = list();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let expected =
            ["run", "start", "output", "input", "stop", "read_file", "write_file", "edit_file", "list_files"];
        assert_eq!(names, expected);
        for tool in &tools {
            assert!(tool.input_schema.contains_key("properties"), "{}", tool.name);
            assert!(tool.description.as_ref().is_some_and(|text| text.len() > 40), "{}", tool.name);
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        for tool in list() {
            let required = tool.input_schema.get("required").and_then(Value::as_array).cloned();
            for name in required.unwrap_or_default() {
                let problems = check::problems(&tool.input_schema, &JsonObject::new()).unwrap_or_default();
                assert!(problems.contains(&format!("`{}` is missing", name.as_str().unwrap_or_default())));
            }
        }
    }
}
