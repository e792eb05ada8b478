//! The parameters that take an argument by its position.

use airlock_powershell::{Argument, Value};

use crate::tables::ValueType;
use crate::tables::cmdlets::Parameter;

/// Returns the positions that the parameters have in the possible sets.
pub(super) fn possible_positions(
    free: &[&'static Parameter],
    possible: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = u8> {
    let in_set = |(set, at): &(&'static str, Option<u8>)| at.filter(|_| *set == "*" || possible(set));
    free.iter().flat_map(|parameter| parameter.sets.iter()).filter_map(in_set).collect::<Vec<_>>().into_iter()
}

/// Returns the parameters that take the argument at this position, as PowerShell selects them: of the default set, then
/// of every possible set, each if the type of the argument fits; then all of them.
pub(super) fn best(
    default: Option<&str>,
    free: &[&'static Parameter],
    at: u8,
    argument: &Argument,
    possible: &dyn Fn(&str) -> bool,
) -> Vec<&'static Parameter> {
    let with = |wanted: &dyn Fn(&str) -> bool, exact: bool| -> Vec<&'static Parameter> {
        let is_there =
            |(set, own): &(&'static str, Option<u8>)| *own == Some(at) && (*set == "*" || wanted(set));
        let here = free.iter().copied().filter(|parameter| parameter.sets.iter().any(is_there));
        here.filter(|parameter| !exact || fits(&argument.value, parameter)).collect()
    };
    let in_default = with(&|set| default == Some(set) && possible(set), true);
    if default.is_some_and(possible) && !in_default.is_empty() {
        return in_default;
    }
    let exact = with(possible, true);
    if exact.is_empty() { with(possible, false) } else { exact }
}

/// Reports whether a parameter takes the argument without a conversion, or the type of the argument is not known.
fn fits(value: &Value, parameter: &Parameter) -> bool {
    let (takes, is_list) = parameter.takes;
    let one = |of: ValueType| takes == of || (takes == ValueType::Any && !is_list);
    match value {
        Value::String(..) | Value::Expandable(_) => one(ValueType::String),
        Value::Number { is_whole: true } => one(ValueType::Int),
        Value::Number { is_whole: false } => one(ValueType::Double),
        Value::ScriptBlock => one(ValueType::Block),
        Value::Hashtable(_) => one(ValueType::Table),
        Value::Array(_) | Value::ArrayExpression => is_list || takes == ValueType::Any,
        Value::Type => one(ValueType::Other),
        _ => true,
    }
}
