//! What lies at the edges of programs: signals, constructors and destructors, the environment, threads of
//! libraries.

use crate::Program;

/// Signals reach the program's own thread, and their handlers may touch what other hosts have.
#[test]
fn handlers_of_signals_may_use_what_is_shared() {
    let program = Program::build("signals.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(3, 1), (2, 2)], 64);
}
