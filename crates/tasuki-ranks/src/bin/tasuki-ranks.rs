//! What `tasuki` is on each host of a job, for the tests of this crate: the agent, and the shepherd that it
//! starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(tasuki_ranks::AGENT_COMMAND) => tasuki_ranks::agent_main(),
        Some("shepherd") => tasuki_shepherd::process_main(),
        _ => ExitCode::FAILURE,
    }
}
