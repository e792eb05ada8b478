//! The validators, one line each: the code of their reasons, their effect and their message. The
//! list is data; the validators themselves are in `parse`, `analysis` and `readonly`.

/// The effect of a validator's finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The text is understood although it resembles a dangerous one.
    LetsPass,
    /// The text may be misread: the policy asks, even if a rule allows it.
    Misparsing,
    /// The command is not proven read-only. An operator's rule can still allow it.
    KeepsFromProof,
}

/// A validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validator {
    /// The code of its reasons.
    pub code: &'static str,
    /// The effect of its findings.
    pub effect: Effect,
    /// The message for a person.
    pub message: &'static str,
}

const fn lets_pass(code: &'static str, message: &'static str) -> Validator {
    Validator { code, effect: Effect::LetsPass, message }
}

const fn misparsing(code: &'static str, message: &'static str) -> Validator {
    Validator { code, effect: Effect::Misparsing, message }
}

const fn keeps(code: &'static str, message: &'static str) -> Validator {
    Validator { code, effect: Effect::KeepsFromProof, message }
}

/// All validators.
pub const VALIDATORS: &[Validator] = &[
    lets_pass("empty_command", "there is nothing to run"),
    lets_pass("safe_heredoc_substitution", "the substitution only prints the text of its heredoc"),
    lets_pass("git_commit_message", "the text is a commit message and runs no command"),
    misparsing("incomplete_command", "a quote, a heredoc or the command is incomplete"),
    keeps("jq_system_function", "the jq program reads more than its input"),
    keeps("jq_file_arguments", "jq reads its program or data from a file"),
    misparsing("obfuscated_flags", "quotes or escapes hide the name of a flag"),
    keeps("shell_metacharacters", "this program passes its argument to a shell"),
    keeps("dangerous_variables", "this variable affects which programs run or how the shell reads the text"),
    misparsing("ifs_injection", "an unquoted `IFS` splits words in unexpected places"),
    keeps("command_substitution", "a command that produces this word is not proven read-only"),
    keeps("input_redirection", "the input is not a known file"),
    keeps("output_redirection", "the command writes to a file"),
    keeps("newlines", "the text is not understood, and each of its lines may be a separate command"),
    misparsing("quoted_newline", "a line inside quotes looks like a comment"),
    misparsing("carriage_return", "a carriage return looks like the end of a line, but is not"),
    misparsing("control_characters", "a control character hides part of the text"),
    misparsing(
        "unicode_whitespace",
        "a character that looks like a space, or is invisible, is part of a word",
    ),
    misparsing("backslash_escaped_whitespace", "an escaped space hides the end of the program's name"),
    misparsing("backslash_escaped_operators", "an escaped operator looks like the end of a command"),
    misparsing("brace_expansion", "a brace expansion determines which command runs"),
    misparsing("mid_word_hash", "a `#` after a quote looks like a comment, but is not"),
    misparsing("comment_quote_desync", "a quote inside a comment can mislead a reader"),
    misparsing("malformed_token_injection", "a bracket or quote next to a separator has no counterpart"),
    misparsing("zsh_dangerous_commands", "zsh reads this part of the text differently from bash"),
    misparsing(
        "proc_environ_access",
        "the command names the environment, the memory or the root of a process",
    ),
    misparsing("arithmetic_evaluation", "an arithmetic expression evaluates text that may not be a number"),
    misparsing("prompt_expansion", "the value is expanded as a prompt, and may run commands"),
    misparsing("parse_incomplete", "this part of the text is not understood"),
];

/// The messages for parts of a PowerShell text.
const POWERSHELL: &[(&str, &str)] = &[
    ("powershell_not_understood", "PowerShell refuses this text, or a part of it is not understood"),
    ("powershell_assignment", "the assignment may change what later commands do"),
    ("powershell_construct", "this statement is not proven read-only"),
    ("powershell_member", "this member of an object or type may do more than read"),
    ("powershell_type", "this type is not in the list of harmless types"),
    ("powershell_variable", "a variable of the text is an item on a drive"),
];

/// The messages for exceeded bounds, which are not validators.
const BOUNDS: &[(&str, &str)] = &[
    ("too_long_to_parse", "the command is too long to be parsed"),
    ("too_deep", "the command is nested too deeply"),
    ("too_many_heredocs", "the command has too many heredocs to be parsed"),
    ("too_much_arithmetic", "the command has too many `$[` to be parsed"),
    ("delimiter_too_long", "the delimiter of a heredoc is too long to be parsed"),
    ("too_costly_to_parse", "the command has too many characters that are slow to parse"),
    ("too_many_commands", "the text contains too many commands"),
    ("aliases_not_expanded", "the expansion of aliases in this text is not complete"),
    ("parser_failed", "the parser failed on this text"),
    ("launched_text_unknown", "the text that a shell receives is not known"),
    ("launcher_not_understood", "the command that this program launches is not known"),
];

/// Returns the message of a problem's code.
pub(crate) fn message(code: &str) -> Option<&'static str> {
    let validator = VALIDATORS.iter().find(|validator| validator.code == code);
    let bound =
        || BOUNDS.iter().chain(POWERSHELL).find(|(known, _)| *known == code).map(|(_, message)| *message);
    validator.map(|validator| validator.message).or_else(bound)
}
