//! The tools for files. Each is a command, not a call of the file service: policy decides about it, the sandbox enforces
//! the rules for paths and protected names, and the audit records it.

use airlock_client::v1::{Execution, ExecutionSpec, Result as Outcome, Started};

use super::{
    arguments::{EditFile, FILE_BYTES, ListFiles, PART_BYTES_MAX, ReadFile, WriteFile},
    commands, output,
};
use crate::{
    call::{Call, Left, OnCancel},
    text::{self, Reply, word},
    workspace::Open,
};

/// The maximum number of files in a list.
const FILES: usize = 1_000;
/// The characters of an edit that an approver sees of each text.
const EXCERPT: usize = 400;

/// Returns lines of a file.
pub(super) async fn read(call: &Call<'_>, read: ReadFile) -> Reply {
    let (line, lines) = (read.line.max(1), read.lines.max(1));
    let last = line.saturating_add(lines).min(u64::from(u32::MAX));
    // One more line shows whether there are more. The limit of bytes is that of the result.
    let command =
        format!("sed -n {} -- {}", word(&format!("{line},{last}p;{last}q")), word(&operand(&read.path)?));
    let (open, execution) = completed(call, command, format!("read_file {}", read.path), None).await?;
    let part = output::part(&open.client, &execution.execution_id, 0, PART_BYTES_MAX).await;
    let part = match part {
        Ok(part) => part,
        Err(error) => return Err(call.failed(&error).await),
    };
    let mut kept = 0;
    let mut count = 0;
    for one in
        part.bytes.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(lines).unwrap_or(usize::MAX))
    {
        let is_cut = part.next < part.total && !one.ends_with(b"\n") && count > 0;
        if is_cut {
            break;
        }
        kept += one.len();
        count += 1;
    }
    let shown = part.bytes.get(..kept).unwrap_or_default();
    if shown.contains(&0) {
        return Err(text::note(
            "the file is not a text file: it has a NUL byte; use `run`, for example with file, xxd or base64",
        ));
    }
    let mut out = text::foreign(shown);
    let next = line + count;
    if part.next < part.total && count == 1 && !shown.ends_with(b"\n") {
        out.push_str(&text::note(&format!(
            "line {line} is longer than {PART_BYTES_MAX} bytes, and only its beginning is shown; use `run`, for example with cut -b"
        )));
    }
    if std::str::from_utf8(shown).is_err() {
        out.push_str(&text::note(
            "the file is not UTF-8; each byte that cannot be shown is U+FFFD, and `edit_file` cannot edit it",
        ));
    }
    if count == 0 {
        out.push_str(&text::note(&format!("the file has no line {line}")));
    } else if (kept as u64) < part.total {
        out.push_str(&text::note(&format!("there are more lines; the next one is line {next}")));
    }
    Ok(out)
}

/// Writes a file.
pub(super) async fn write(call: &Call<'_>, write: WriteFile) -> Reply {
    let size = write.content.len();
    put(call, &write.path, write.content, format!("write_file {}: {size} bytes", write.path)).await?;
    Ok(text::note(&format!("wrote {}", counted(size, "byte"))))
}

/// Replaces a text in a file.
pub(super) async fn edit(call: &Call<'_>, edit: EditFile) -> Reply {
    if edit.old_text.is_empty() {
        return Err(text::note("`old_text` is empty; use `write_file` to create a file"));
    }
    let path = operand(&edit.path)?;
    let command = format!("cat -- {}", word(&path));
    let (open, execution) = completed(call, command, format!("edit_file {}", edit.path), None).await?;
    let part = output::part(&open.client, &execution.execution_id, 0, FILE_BYTES as u64).await;
    let part = match part {
        Ok(part) => part,
        Err(error) => return Err(call.failed(&error).await),
    };
    if part.from > 0 || part.next < part.total {
        return Err(text::note(&format!(
            "the file is larger than {FILE_BYTES} bytes; use `run`, for example with sed"
        )));
    }
    let Ok(before) = String::from_utf8(part.bytes) else {
        return Err(text::note("the file is not UTF-8; use `run`"));
    };
    let found = before.matches(&edit.old_text).count();
    let count = match found {
        0 => {
            return Err(text::note(
                "`old_text` is not in the file; read the file again, and copy the text with its white space",
            ));
        }
        1 => 1,
        _ if edit.all => found,
        _ => {
            return Err(text::note(&format!(
                "`old_text` occurs {found} times; add lines around it, or set `all`"
            )));
        }
    };
    let after = before.replace(&edit.old_text, &edit.new_text);
    let excerpt = |text: &str| text.chars().take(EXCERPT).collect::<String>();
    let about = format!(
        "edit_file {}: {count} times, `{}` becomes `{}`",
        edit.path,
        excerpt(&edit.old_text),
        excerpt(&edit.new_text)
    );
    put(call, &edit.path, after, about).await?;
    Ok(text::note(&format!("replaced {}", counted(count, "occurrence"))))
}

/// Returns a number with its unit.
fn counted(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Lists files.
pub(super) async fn list(call: &Call<'_>, list: ListFiles) -> Reply {
    let path = if list.path.is_empty() { ".".to_owned() } else { operand(&list.path)? };
    // Only a directory has an entry `.`.
    let path = word(&format!("{}/.", path.trim_end_matches('/')));
    let command = if list.recursive {
        format!(
            "find {path} -mindepth 1 -name .git -prune -o -mindepth 1 -type d -printf '%P/\\n' -o -mindepth 1 -printf '%P\\n'"
        )
    } else {
        format!("ls -Ap -- {path}")
    };
    let (open, execution) = completed(call, command, "list_files".to_owned(), None).await?;
    let part = match output::part(&open.client, &execution.execution_id, 0, PART_BYTES_MAX).await {
        Ok(part) => part,
        Err(error) => return Err(call.failed(&error).await),
    };
    let mut names: Vec<_> = part.bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let more = part.next < part.total || names.len() > FILES;
    names.sort_unstable();
    names.truncate(FILES);
    let mut out = text::foreign(&names.concat());
    if more {
        out.push_str(&text::note("there are more files; list a directory below, or use `run` with find"));
    } else if out.is_empty() {
        out = text::note("the directory is empty");
    }
    Ok(out)
}

/// Writes the content of a file, and creates the directories above it.
async fn put(call: &Call<'_>, path: &str, content: String, about: String) -> Result<(), String> {
    if content.len() > FILE_BYTES {
        return Err(text::note(&format!(
            "the content has more than {FILE_BYTES} bytes; write it in parts with `run`"
        )));
    }
    let path = operand(path)?;
    let directory =
        path.rsplit_once('/').map(|(directory, _)| directory).filter(|directory| !directory.is_empty());
    let make = directory.map(|directory| format!("mkdir -p -- {} && ", word(directory))).unwrap_or_default();
    let command = format!("{make}cat > {}", word(&path));
    completed(call, command, about, Some(content)).await.map(drop)
}

/// Runs a command that must succeed, with `input` as its input.
async fn completed(
    call: &Call<'_>,
    command: String,
    description: String,
    input: Option<String>,
) -> Result<(Open, Execution), String> {
    // A future of this size is not part of another one.
    Box::pin(complete(call, command, description, input)).await
}

async fn complete(
    call: &Call<'_>,
    command: String,
    description: String,
    input: Option<String>,
) -> Result<(Open, Execution), String> {
    let open = call.open().await?;
    let spec = ExecutionSpec {
        command,
        description: commands::shortened(description),
        stdin: input.is_some(),
        ..Default::default()
    };
    let execution = call.start(&open, spec).await?;
    let id = execution.execution_id.clone();
    let wait = call.workspace.options().wait;
    let follow = call.follow(&open, execution, wait, OnCancel::End);
    let left = match &input {
        Some(input) => {
            let mut source = input.as_bytes();
            let write = open.client.write_stdin(&id, 0, &mut source);
            let mut follow = std::pin::pin!(follow);
            tokio::select! {
                left = &mut follow => left,
                // The result of the command shows whether it has read its input.
                _ = write => follow.await,
            }
        }
        None => follow.await,
    };
    match left {
        Ok(Left::Finished(execution)) if has_succeeded(execution.result.as_ref()) => Ok((open, *execution)),
        Ok(Left::Finished(execution)) => Err(text::finished(&execution).unwrap_or_else(|text| text)),
        // Without this call, nobody would write the input or use the result.
        Ok(Left::Pending(_) | Left::Running(_)) => {
            let _ = open.client.cancel(&id).await;
            call.workspace.ended(&id);
            Err(text::note(
                "nothing was done: the command did not end in time, or no approver answered; call the tool again",
            ))
        }
        left => commands::reply(call, &id, left).await.and_then(Err),
    }
}

fn has_succeeded(outcome: Option<&Outcome>) -> bool {
    outcome
        .is_some_and(|outcome| outcome.started() == Started::Yes && airlock_client::cause::succeeded(outcome))
}

/// Returns a path that no program takes for an option.
fn operand(path: &str) -> Result<String, String> {
    match path {
        "" => Err(text::note("the path is empty")),
        path if path.contains('\0') => Err(text::note("the path has a NUL character")),
        path if path.starts_with('/') => Ok(path.to_owned()),
        path => Ok(format!("./{path}")),
    }
}
