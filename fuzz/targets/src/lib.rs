//! The invariants of every answer of the policy. `decision` contains the checks, `asked` derives
//! the other inputs from the text, and `bounds` contains the limits on time and memory. `front` runs
//! the proxy of a runner, `powershell` contains the checks of PowerShell texts, and `numeric` asks the C library about
//! addresses. A failed check panics,
//! and libFuzzer keeps the input.

pub mod asked;
pub mod bounds;
pub mod decision;
pub mod front;
pub mod numeric;
pub mod powershell;
