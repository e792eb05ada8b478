//! The `airlock` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    airlock_cli::command::main()
}
