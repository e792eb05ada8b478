//! Both views of a text's commands in one form.

use airlock_powershell::{
    Argument, Call, Command, Element, Redirection, RedirectionTarget, Script, Span, Value,
};
use serde_json::{Value as Json, json};

/// Returns the commands as the facts describe them, in the order of the facts.
pub(crate) fn commands(script: &Script, text: &str) -> Vec<Json> {
    let mut commands: Vec<&Command> = script.commands.iter().collect();
    commands.sort_by_key(|command| (command.span.start, std::cmp::Reverse(command.span.end)));
    let units = Units::new(text);
    commands.iter().map(|command| self::command(command, text, &units)).collect()
}

/// Returns the commands of the facts, sorted by place.
pub(crate) fn of_facts(facts: &Json) -> Vec<Json> {
    let mut commands = facts["commands"].as_array().cloned().unwrap_or_default();
    let place = |command: &Json| (command["start"].as_u64(), std::cmp::Reverse(command["end"].as_u64()));
    commands.sort_by_key(place);
    commands.into_iter().map(known).collect()
}

/// Removes the sources of values that are not strings: their spans are compared instead.
fn known(mut command: Json) -> Json {
    for element in command["elements"].as_array_mut().into_iter().flatten() {
        let keeps = matches!(element["kind"].as_str(), Some("string" | "parameter" | "variable" | "splat"));
        if !keeps {
            element["value"] = Json::Null;
        }
        if let Some(element) = element.as_object_mut() {
            element.remove("argument");
        }
    }
    command
}

fn command(command: &Command, text: &str, units: &Units) -> Json {
    let (start, end) = units.of(command.span);
    let call = match command.call {
        Call::Plain => "Unknown",
        Call::Ampersand => "Ampersand",
        Call::Dot => "Dot",
    };
    let elements: Vec<Json> = command.elements.iter().map(element).collect();
    let mut redirections: Vec<&Redirection> = command.redirections.iter().collect();
    redirections.sort_by_key(|found| found.from as u8);
    let redirects: Vec<Json> = redirections.into_iter().map(|found| redirect(found, text)).collect();
    json!({"name": command.name(), "call": call, "start": start, "end": end, "elements": elements,
        "redirects": redirects})
}

fn element(element: &Element) -> Json {
    match element {
        Element::Parameter { name, .. } => json!({"kind": "parameter", "value": name}),
        Element::Argument(Argument { value: Value::String(value, quote), .. }) => {
            let quote = match quote {
                airlock_powershell::Quote::None => "BareWord",
                airlock_powershell::Quote::Single => "SingleQuoted",
                airlock_powershell::Quote::Double => "DoubleQuoted",
                airlock_powershell::Quote::SingleHere => "SingleQuotedHereString",
                airlock_powershell::Quote::DoubleHere => "DoubleQuotedHereString",
            };
            json!({"kind": "string", "value": value, "bare": quote})
        }
        Element::Argument(argument) => json!({"kind": kind(&argument.value), "value": name(&argument.value)}),
    }
}

fn name(value: &Value) -> Option<&str> {
    match value {
        Value::Variable(name) | Value::Splat(name) => Some(name),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(..) => "string",
        Value::Expandable(_) => "expandable",
        Value::Number { .. } => "constant",
        Value::Variable(_) => "variable",
        Value::Splat(_) => "splat",
        Value::Using => "UsingExpressionAst",
        Value::ScriptBlock => "scriptblock",
        Value::Array(_) => "ArrayLiteralAst",
        Value::Hashtable(_) => "HashtableAst",
        Value::Parentheses => "ParenExpressionAst",
        Value::SubExpression => "SubExpressionAst",
        Value::ArrayExpression => "ArrayExpressionAst",
        Value::Member => "MemberExpressionAst",
        Value::Invocation => "InvokeMemberExpressionAst",
        Value::Index => "IndexExpressionAst",
        Value::Type => "TypeExpressionAst",
        Value::Converted(_) => "ConvertExpressionAst",
        Value::Operation => "BinaryExpressionAst",
    }
}

fn redirect(redirection: &Redirection, text: &str) -> Json {
    let from = format!("{:?}", redirection.from);
    match &redirection.to {
        RedirectionTarget::Output => json!({"from": from, "to": "Output"}),
        RedirectionTarget::File { name, appends } => {
            let written = text.get(name.span.start..name.span.end);
            json!({"from": from, "append": appends, "target": written})
        }
    }
}

/// The relation of bytes to the units of UTF-16 in which the facts count.
struct Units(Vec<usize>);

impl Units {
    fn new(text: &str) -> Self {
        let mut units = vec![0; text.len() + 1];
        let mut count = 0;
        for (at, char) in text.char_indices() {
            units[at] = count;
            count += char.len_utf16();
        }
        units[text.len()] = count;
        Self(units)
    }

    fn of(&self, span: Span) -> (usize, usize) {
        (self.0[span.start], self.0[span.end])
    }
}
