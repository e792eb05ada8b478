//! What must hold of every answer of the policy, whatever it was asked. `decision`
//! holds the checks, `asked` what is asked beside the text, `bounds` the limits on
//! time and memory. A check that fails panics, and libFuzzer keeps the input.

pub mod asked;
pub mod bounds;
pub mod decision;
