//! The policy step at which a command stops, observed from outside.

/// The step that stops a command, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stop {
    /// The step of the pipeline.
    pub step: u8,
    /// The code of the deciding reason.
    pub code: &'static str,
}

/// Derives the step from the variants that are still allowed. Mode `bypass` skips all steps after
/// 5, and a command that is allowed because it is sandboxed has passed all steps before 12.
#[must_use]
pub fn stop(code: &'static str, bypassed: bool, sandboxed: bool) -> Stop {
    let step = match code {
        _ if !bypassed => 4,
        _ if sandboxed => 13,
        "path_outside" | "protected_path" => 8,
        _ => 7,
    };
    Stop { step, code }
}
