//! What the tests read.

use super::variable::{Reader, Values, Variable};

const fn test(name: &'static str, default: &'static str, values: Values, meaning: &'static str) -> Variable {
    Variable { name, default, values, meaning, readers: &[Reader::Tests] }
}

const ON: Values = Values::Choice(&["1"]);
const SEED: Values = Values::Number("a number");
const COUNT: Values = Values::Number("a number");
const INTERNAL: Values = Values::Text("what the test sets");

/// All of them, in the order of the documentation.
pub(super) const ALL: &[Variable] = &[
    test("TASUKI_NO_SKIP", "", ON, "A test whose needs are missing fails instead of being skipped."),
    test("TASUKI_CABLING", "", SEED, "Replay one random cabling of the tests of `tasuki discover`."),
    test("TASUKI_LLDP", "", SEED, "Replay one random LLDP frame of the tests of `tasuki discover`."),
    test("TASUKI_SEED", "", SEED, "Replay one randomised trial; a failing test prints the whole command."),
    test("TASUKI_TRIAL", "", SEED, "Replay one trial of tasuki check, together with TASUKI_PLANT."),
    test("TASUKI_PLANT", "", Values::Text("the name of a fault"), "The fault of that trial."),
    test("TASUKI_TRIALS", "200", COUNT, "How many faults the whole trial of tasuki check plants."),
    test("TASUKI_HOSTS", "16", COUNT, "Most hosts of the cluster in a trial of tasuki check."),
    test("TASUKI_MSG_SEEDS", "", COUNT, "How many seeds the random suites of tasuki-msg run."),
    test("TASUKI_MSG_SEED", "", SEED, "One seed of them to replay."),
    test("TASUKI_PROTO_SEEDS", "", COUNT, "How many seeds the random suites of tasuki-proto run."),
    test("TASUKI_PROTO_SEED", "", SEED, "One seed of them to replay."),
    test("TASUKI_BULK_SEEDS", "", COUNT, "How many seeds the random suites of tasuki-bulk run."),
    test("TASUKI_BULK_SEED", "", SEED, "One seed of them to replay."),
    test("TASUKI_WIRE_SEEDS", "", COUNT, "How many seeds the random suites of tasuki-wire run."),
    test("TASUKI_WIRE_SEED", "", SEED, "One seed of them to replay."),
    test("TASUKI_MSG_TRACE", "", ON, "Print every call and frame of a run of tasuki-msg's suites."),
    test("TASUKI_SIM_TRACE", "", ON, "Print every call and frame of a run of the fault simulation."),
    test(
        "TASUKI_FRAMING",
        "",
        Values::Choice(&["frames", "length"]),
        "One framing alone in the comparison of framings.",
    ),
    test(
        "TASUKI_TEST_MPI",
        "",
        Values::Text("names of MPIs, as mpich-5.0,openmpi-4.1"),
        "Run the tests of MPIs with these alone.",
    ),
    test(
        "TASUKI_TEST_TRANSPORT",
        "tasuki",
        Values::Text("tcp, tasuki, or both with a comma"),
        "What carries the messages in the tests of MPIs.",
    ),
    test("TASUKI_TEST_GDB", "", ON, "A test that hangs prints the stacks of its programs, taken with gdb."),
    test(
        "TASUKI_DEB",
        "set by make test-guests",
        Values::Text("the path of a file"),
        "The package to install.",
    ),
    test(
        "TASUKI_GUESTS",
        "set by make test-guests",
        Values::Text("the path of a folder"),
        "The images of the virtual machines.",
    ),
    test(
        "TASUKI_TIDY",
        "",
        Values::Choice(&["lower"]),
        "The tests of tasuki-tidy lower what ratchets.toml lets pass.",
    ),
    test("TASUKI_TASK", "", INTERNAL, "Set by tests for processes that they start; not for users."),
    test("TASUKI_TEST_BREAKS", "", INTERNAL, "Set by tests for processes that they start; not for users."),
    test("TASUKI_TEST_MARK", "", INTERNAL, "Set by tests for processes that they start; not for users."),
    test("TASUKI_TEST_RUN", "", INTERNAL, "Set by tests for processes that they start; not for users."),
];
